package scan

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// fromOS calls visit with the entries that package os returns, in the order of Dir. The entries follow the path after.
func fromOS(dir string, o Options, after string, visit func(Entry) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var components []string
	if after != "" {
		components = strings.Split(after, "/")
	}
	w := walk{Options: o, dir: dir, visit: visit}
	return w.list("", entries, 1, components)
}

type walk struct {
	Options
	dir   string
	visit func(Entry) error
}

// list visits the entries of a directory that follow the path after.
func (w *walk) list(rel string, entries []fs.DirEntry, level int, after []string) error {
	for _, listed := range entries {
		name := listed.Name()
		visited, below := false, []string(nil)
		if len(after) > 0 {
			if name < after[0] {
				continue
			}
			if visited = name == after[0]; visited {
				below = after[1:]
			}
		}
		if !utf8.ValidString(name) {
			if w.Strict {
				return ErrName
			}
			continue
		}
		if err := w.entry(rel+name, listed, level, visited, below); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(rel string, listed fs.DirEntry, level int, visited bool, after []string) error {
	e := Entry{Path: rel}
	at := filepath.Join(w.dir, filepath.FromSlash(rel))
	if err := w.describe(&e, at); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the directory was removed after it had been listed
		}
		e.Type, e.State = kindOf(listed.Type()), Unreadable
	}
	var below []fs.DirEntry
	enter := e.Type.IsDir() && !e.Linked && e.State == OK && level < w.Depth && !matches(w.Skip, e.Name())
	if enter {
		var err error
		if below, err = os.ReadDir(at); err != nil {
			e.State, enter = Unreadable, false
		}
	}
	if !visited {
		if e.IsRegular() && e.State == OK && matches(w.Match, e.Name()) {
			w.read(&e, at)
		}
		if err := w.visit(e); err != nil {
			return err
		}
	}
	if !enter {
		return nil
	}
	return w.list(rel+"/", below, level+1, after)
}

func kindOf(mode fs.FileMode) fs.FileMode {
	switch mode = mode.Type(); mode {
	case 0, fs.ModeDir, fs.ModeSymlink:
		return mode
	}
	return fs.ModeIrregular
}

// describe sets the stat data of the entry e, whose path is at.
func (w *walk) describe(e *Entry, at string) error {
	info, err := os.Lstat(at)
	if err != nil {
		return err
	}
	e.State, e.Linked = OK, false
	if w.Follow && info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Stat(at)
		if e.Linked = err == nil && (target.IsDir() || target.Mode().IsRegular()); e.Linked {
			info = target
		} else {
			e.State = Dangling
		}
	}
	e.Type, e.Size, e.ModTime = kindOf(info.Mode()), info.Size(), info.ModTime()
	return nil
}

// read sets the data of a file. If the file changes while it is read, read tries once more, so that the data and the stat data belong to the
// same version of the file.
func (w *walk) read(e *Entry, at string) {
	if w.Data == abi.ScanDataDerived {
		e.State = Unavailable
		return
	}
	for range 2 {
		if e.Size > w.MaxFile {
			e.State = TooLarge
			return
		}
		content, err := filesystem.ReadFile(filesystem.OS{}, at, w.MaxFile)
		if err != nil && !errors.Is(err, filesystem.ErrTooLarge) && !errors.Is(err, fs.ErrNotExist) {
			break
		}
		before := *e
		if w.describe(e, at) != nil || !e.IsRegular() {
			*e = before
			break
		}
		if err == nil && e.Size == before.Size && e.ModTime.Equal(before.ModTime) && int64(len(content)) == e.Size {
			if e.Data = content; w.Data == abi.ScanDataSHA256 {
				sum := sha256.Sum256(content)
				e.Data = sum[:]
			}
			return
		}
	}
	e.State = Unreadable
}
