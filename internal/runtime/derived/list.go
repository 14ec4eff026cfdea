package derived

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Item describes a Set on disk.
type Item struct {
	Plugin string
	Module string // the first 16 hex digits of the module's digest
	Size   int64
	Used   time.Time
	name   string
}

// namePattern matches the name of a set: plugin, module and tag. A plugin's name may contain "-". It is
// compiled when it is first needed, since servers do not list sets.
var namePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z][a-z0-9-]{0,63})-([0-9a-f]{16})-([0-9a-f]{16})$`)
})

func parseName(name string) (Item, bool) {
	parts := namePattern().FindStringSubmatch(name)
	if parts == nil {
		return Item{}, false
	}
	return Item{Plugin: parts[1], Module: parts[2], name: name}, true
}

// List returns the sets in the directory of a Store, sorted by plugin and then by last use, the oldest first. If the
// directory is missing, the list is empty.
func List(dir string) ([]Item, error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []Item
	at := map[string]int{}
	for _, file := range files {
		name, ok := strings.CutSuffix(file.Name(), newerSuffix)
		if !ok {
			name, ok = strings.CutSuffix(file.Name(), olderSuffix)
		}
		item, known := parseName(name)
		info, err := file.Info()
		if !ok || !known || err != nil || !info.Mode().IsRegular() {
			continue
		}
		n, seen := at[name]
		if !seen {
			n = len(all)
			at[name], all = n, append(all, item)
		}
		all[n].Size += info.Size()
		if info.ModTime().After(all[n].Used) {
			all[n].Used = info.ModTime()
		}
	}
	slices.SortFunc(all, func(a, b Item) int { return cmp.Or(cmp.Compare(a.Plugin, b.Plugin), a.Used.Compare(b.Used)) })
	return all, nil
}

// Clear removes the sets of a plugin, or all sets if plugin is empty, and returns the removed sets. Workers that have
// opened the files keep the data that they have read.
func (s *Store) Clear(plugin string) ([]Item, error) {
	if _, err := os.Lstat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	lock, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	all, err := List(s.dir)
	if err != nil {
		return nil, err
	}
	var gone []Item
	for _, item := range all {
		if plugin != "" && item.Plugin != plugin {
			continue
		}
		if err := s.remove(item); err != nil {
			return gone, err
		}
		gone = append(gone, item)
	}
	return gone, nil
}

func (s *Store) remove(item Item) error {
	for _, suffix := range []string{olderSuffix, newerSuffix} {
		if err := os.Remove(filepath.Join(s.dir, item.name+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// evict removes the sets that were not used for unusedAge, and then the least recently used sets until all files fit
// into the bound. It never removes the set with the given name. The caller must hold the lock.
func (s *Store) evict(name string) error {
	all, err := List(s.dir)
	if err != nil {
		return err
	}
	var total int64
	for _, item := range all {
		total += item.Size
	}
	slices.SortFunc(all, func(a, b Item) int { return a.Used.Compare(b.Used) })
	for _, item := range all {
		if item.name == name || total <= s.max && s.now().Sub(item.Used) <= unusedAge {
			continue
		}
		if err := s.remove(item); err != nil {
			return err
		}
		total -= item.Size
	}
	return nil
}
