package disk

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/plugins/filesystem/pattern"
	"github.com/bulkhead-mcp/bulkhead/plugins/filesystem/text"
	"github.com/bulkhead-mcp/bulkhead/sdk/scan"
)

func isDirectory(e scan.Entry) bool { return e.Type.IsDir() && !e.Linked }

func label(e scan.Entry) string {
	if isDirectory(e) {
		return "[DIR]"
	}
	return "[FILE]"
}

// list returns the entries of a directory.
func list(at string, o scan.Options) ([]scan.Entry, error) {
	var all []scan.Entry
	for e, err := range scan.Dir(at, o) {
		if err != nil {
			return nil, failure(err, "scandir", at)
		}
		all = append(all, e)
	}
	return all, nil
}

// List returns the entries of a directory, one in a line.
func (d Disk) List(requested string) (string, error) {
	at, err := d.resolve(requested)
	if err != nil {
		return "", err
	}
	entries, err := list(at, scan.Options{})
	var lines []string
	for _, e := range entries {
		lines = append(lines, label(e)+" "+e.Path)
	}
	return strings.Join(lines, "\n"), err
}

// ListSizes is List with the sizes of files, and their sum.
func (d Disk) ListSizes(requested string, bySize bool) (string, error) {
	at, err := d.resolve(requested)
	if err != nil {
		return "", err
	}
	entries, err := list(at, scan.Options{Follow: true})
	if err != nil {
		return "", err
	}
	files, directories, total := 0, 0, int64(0)
	for i := range entries {
		e := &entries[i]
		if e.State == scan.Dangling {
			e.Size = 0
		}
		if isDirectory(*e) {
			directories++
		} else {
			files++
			total += e.Size
		}
	}
	compare := text.NewCollation()
	slices.SortStableFunc(entries, func(a, b scan.Entry) int {
		if bySize {
			return cmp.Compare(b.Size, a.Size)
		}
		return compare(a.Path, b.Path)
	})
	var lines []string
	for _, e := range entries {
		size := ""
		if !isDirectory(e) {
			size = fmt.Sprintf("%10s", text.Size(e.Size))
		}
		lines = append(lines, label(e)+" "+text.PadEnd(e.Path, 30)+" "+size)
	}
	lines = append(lines, "", fmt.Sprintf("Total: %d files, %d directories", files, directories), "Combined size: "+text.Size(total))
	return strings.Join(lines, "\n"), nil
}

// walk visits the entries below a directory, each directory before its entries. An entry whose visit returns false is not entered. unreadable
// gets the directories that cannot be listed.
func walk(root string, o scan.Options, visit func(rel string, e scan.Entry) bool, unreadable func(dir string) error) error {
	o.Depth = scan.MaxDepth
	deeper, skipped := []string{""}, ""
	for len(deeper) > 0 {
		top := deeper[0]
		deeper = deeper[1:]
		for e, err := range scan.Dir(path.Join(root, top), o) {
			if err != nil {
				if top == "" {
					return failure(err, "scandir", root)
				}
				if err := unreadable(path.Join(root, top)); err != nil {
					return err
				}
				break
			}
			rel := path.Join(top, e.Path)
			if skipped != "" && strings.HasPrefix(rel, skipped) {
				continue
			}
			skipped = ""
			if !visit(rel, e) {
				skipped = rel + "/"
				continue
			}
			if !isDirectory(e) {
				continue
			}
			if e.State == scan.Unreadable {
				if err := unreadable(path.Join(root, rel)); err != nil {
					return err
				}
			}
			if strings.Count(e.Path, "/") == scan.MaxDepth-1 {
				deeper = append(deeper, rel)
			}
		}
	}
	return nil
}

// errCostly is the error of a pattern that exceeds a bound.
var errCostly = errors.New("a pattern takes too many steps: use fewer groups, braces and wildcards")

func parse(texts ...string) []*pattern.Pattern {
	var all []*pattern.Pattern
	for _, one := range texts {
		all = append(all, pattern.Parse(one))
	}
	return all
}

func anyMatches(patterns []*pattern.Pattern, rel string) bool {
	return slices.ContainsFunc(patterns, func(p *pattern.Pattern) bool { return p.Match(rel) })
}

func check(patterns []*pattern.Pattern) error {
	if slices.ContainsFunc(patterns, (*pattern.Pattern).TooCostly) {
		return errCostly
	}
	return nil
}

// Search returns the paths below a directory that match a pattern and none of the excluded ones, one in a line.
func (d Disk) Search(requested, wanted string, excluded []string) (string, error) {
	at, err := d.resolve(requested)
	if err != nil {
		return "", err
	}
	match, exclude := pattern.Parse(wanted), parse(excluded...)
	var found []string
	err = walk(at, scan.Options{Follow: true}, func(rel string, e scan.Entry) bool {
		if e.State == scan.Dangling || anyMatches(exclude, rel) {
			return false
		}
		if match.Match(rel) {
			found = append(found, path.Join(at, rel))
		}
		return true
	}, func(string) error { return nil })
	if err == nil {
		err = check(append(exclude, match))
	}
	if len(found) == 0 {
		return "No matches found", err
	}
	return strings.Join(found, "\n"), err
}

// Tree returns the entries below a directory as JSON.
func (d Disk) Tree(requested string, excluded []string) (string, error) {
	at, err := d.resolve(requested)
	if err != nil {
		return "", err
	}
	var exclude []*pattern.Pattern
	for _, one := range excluded {
		exclude = append(exclude, pattern.Parse(one))
		if !strings.Contains(one, "*") {
			exclude = append(exclude, parse("**/"+one, "**/"+one+"/**")...)
		}
	}
	var t tree
	err = walk(at, scan.Options{}, func(rel string, e scan.Entry) bool {
		if anyMatches(exclude, rel) {
			return false
		}
		t.add(rel, isDirectory(e))
		return true
	}, func(dir string) error { return failure(syscall.EACCES, "scandir", dir) })
	if err == nil {
		err = check(exclude)
	}
	return t.String(), err
}
