package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/scan"
)

func read(a action) (string, error) {
	data, err := os.ReadFile(a.Path)
	return string(data), err
}

// readOften returns the distinct contents and errors of all reads.
func readOften(a action) (string, error) {
	found := map[string]bool{}
	for range a.Count {
		data, err := os.ReadFile(a.Path)
		if err != nil {
			found[reason(err)] = true
			continue
		}
		found[strings.TrimSpace(string(data))] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), "; "), nil
}

func write(a action) (string, error) {
	return "written", os.WriteFile(a.Path, []byte("by the intruder"), 0o644)
}

// writeOften returns how many writes succeeded.
func writeOften(a action) (string, error) {
	done := 0
	for i := range a.Count {
		if os.WriteFile(fmt.Sprintf("%s.%d", a.Path, i), []byte("by the intruder"), 0o644) == nil {
			done++
		}
	}
	return fmt.Sprintf("%d of %d", done, a.Count), nil
}

func list(a action) (string, error) {
	entries, err := os.ReadDir(a.Path)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " "), err
}

// scanTree returns the paths in a tree. A file's content follows its path. "!" marks a link that cannot be followed.
func scanTree(a action) (string, error) {
	var found []string
	for e, err := range scan.Dir(a.Path, scan.Options{Depth: 9, Match: []string{"*"}, Follow: true, Max: 300}) {
		switch {
		case err != nil:
			return "", err
		case e.Data != nil:
			found = append(found, e.Path+"="+strings.TrimSpace(string(e.Data)))
		case e.State != scan.OK:
			found = append(found, e.Path+"!")
		default:
			found = append(found, e.Path)
		}
	}
	return strings.Join(found, " "), nil
}

// scanOften returns the distinct results of all scans.
func scanOften(a action) (string, error) {
	found := map[string]bool{}
	for range a.Count {
		text, err := scanTree(a)
		if err != nil {
			text = reason(err)
		}
		found[text] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), "; "), nil
}

func mkdir(a action) (string, error)   { return "made", os.Mkdir(a.Path, 0o755) }
func symlink(a action) (string, error) { return "made", os.Symlink(a.To, a.Path) }
func link(a action) (string, error)    { return "made", os.Link(a.Path, a.To) }
func rename(a action) (string, error)  { return "renamed", os.Rename(a.Path, a.To) }
func remove(a action) (string, error)  { return "removed", os.Remove(a.Path) }

var held []*os.File

// openMany opens one file Count times, or until an error.
func openMany(a action) (string, error) {
	for range a.Count {
		f, err := os.Open(a.Path)
		if err != nil {
			return fmt.Sprintf("%d were opened: %s", len(held), reason(err)), nil
		}
		held = append(held, f)
	}
	return fmt.Sprintf("all %d were opened", len(held)), nil
}

// leaveOpen opens a file, keeps it open, and returns its descriptor.
func leaveOpen(a action) (string, error) {
	f, err := os.Open(a.Path)
	if err != nil {
		return "", err
	}
	held = append(held, f)
	return fmt.Sprintf("descriptor %d", f.Fd()), nil
}

func environment(action) (string, error) { return strings.Join(os.Environ(), "\n"), nil }
