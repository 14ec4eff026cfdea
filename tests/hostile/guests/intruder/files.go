package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

func read(o order) (string, error) {
	data, err := os.ReadFile(o.Path)
	return string(data), err
}

// readOften says all that it ever read.
func readOften(o order) (string, error) {
	found := map[string]bool{}
	for range o.Count {
		data, err := os.ReadFile(o.Path)
		if err != nil {
			found[reason(err)] = true
			continue
		}
		found[strings.TrimSpace(string(data))] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), "; "), nil
}

func write(o order) (string, error) {
	return "written", os.WriteFile(o.Path, []byte("by the intruder"), 0o644)
}

// writeOften says how often it could.
func writeOften(o order) (string, error) {
	done := 0
	for i := range o.Count {
		if os.WriteFile(fmt.Sprintf("%s.%d", o.Path, i), []byte("by the intruder"), 0o644) == nil {
			done++
		}
	}
	return fmt.Sprintf("%d of %d", done, o.Count), nil
}

func list(o order) (string, error) {
	entries, err := os.ReadDir(o.Path)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " "), err
}

func mkdir(o order) (string, error)   { return "made", os.Mkdir(o.Path, 0o755) }
func symlink(o order) (string, error) { return "made", os.Symlink(o.To, o.Path) }
func link(o order) (string, error)    { return "made", os.Link(o.Path, o.To) }
func rename(o order) (string, error)  { return "renamed", os.Rename(o.Path, o.To) }
func remove(o order) (string, error)  { return "removed", os.Remove(o.Path) }

var held []*os.File

// openMany opens one file as often as it can.
func openMany(o order) (string, error) {
	for range o.Count {
		f, err := os.Open(o.Path)
		if err != nil {
			return fmt.Sprintf("%d were opened: %s", len(held), reason(err)), nil
		}
		held = append(held, f)
	}
	return fmt.Sprintf("all %d were opened", len(held)), nil
}

// leaveOpen says which descriptor it got, and keeps it.
func leaveOpen(o order) (string, error) {
	f, err := os.Open(o.Path)
	if err != nil {
		return "", err
	}
	held = append(held, f)
	return fmt.Sprintf("descriptor %d", f.Fd()), nil
}

func environment(order) (string, error) { return strings.Join(os.Environ(), "\n"), nil }
