// Package store keeps a knowledge graph in a file. Locate finds the file, Store.Load reads it, and Store.Change replaces
// it atomically, under a lock that excludes the calls of all other servers.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/memory/graph"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// MaxSize is the maximum size of the file in bytes. An answer with the whole graph takes about three times as much.
const MaxSize = 8 << 20

// Store is a graph in the file at the absolute path Path.
type Store struct {
	Path string
	FS   filesystem.FS
	// Lock waits while another call changes a file in the directory dir, and excludes such calls until this call ends.
	Lock func(dir string) error
}

// Locate returns the path of the file: the variable MEMORY_FILE_PATH, which is relative to the plugin's state directory
// unless it is absolute, or memory.jsonl in that directory. The directory of an absolute path must exist, since a file in
// a directory that is not granted looks like an absent one, which would be read as an empty graph.
func Locate(getenv func(string) string, fsys filesystem.FS) (string, error) {
	path := getenv("MEMORY_FILE_PATH")
	if filepath.IsAbs(path) {
		if _, err := fsys.Stat(filepath.Dir(path)); err != nil {
			return "", fmt.Errorf("MEMORY_FILE_PATH: %w: create the directory, and grant it with fs = [{ path = %q, access = \"rw\" }]", err, filepath.Dir(path))
		}
		return filepath.Clean(path), nil
	}
	state := getenv("BULKHEAD_STATE")
	if state == "" {
		return "", errors.New("this plugin has no state directory: set HOME or XDG_STATE_HOME in the environment of the host, or MEMORY_FILE_PATH to an absolute path")
	}
	if path == "" {
		path = "memory.jsonl"
	}
	return filepath.Join(state, path), nil
}

// Load reads the graph. An absent file is an empty graph.
func (s Store) Load() (*graph.Graph, error) {
	lines, err := filesystem.ReadFile(s.FS, s.Path, MaxSize)
	if filesystem.IsAbsent(err) {
		return &graph.Graph{}, nil
	}
	if err != nil {
		return nil, err
	}
	g, err := graph.Parse(lines)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: repair the line, or remove it", s.Path, err)
	}
	return g, nil
}

// Change loads the graph, changes it with the function change, and replaces the file. After an error of that function,
// the file is as before.
func (s Store) Change(change func(*graph.Graph) error) error {
	dir, options := filepath.Dir(s.Path), atomicfile.Options{FS: s.FS, Mode: 0o600, Pattern: ".memory-*.tmp"}
	if err := atomicfile.MkdirAll(dir, options); err != nil {
		return err
	}
	if err := s.Lock(dir); err != nil {
		return fmt.Errorf("cannot lock %s: %w", dir, err)
	}
	if info, err := s.FS.Lstat(s.Path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a symbolic link, which a change would replace: set MEMORY_FILE_PATH to the file itself, and grant its directory", s.Path)
	}
	g, err := s.Load()
	if err != nil {
		return err
	}
	if err := change(g); err != nil {
		return err
	}
	lines := g.Lines()
	switch {
	case len(lines) > MaxSize:
		err = fmt.Errorf("more than %d bytes", MaxSize)
	case g.Values() > graph.MaxValues:
		err = graph.ErrTooManyValues
	}
	if err != nil {
		return fmt.Errorf("%s would have %w: delete observations or entities, or set MEMORY_FILE_PATH to another file", s.Path, err)
	}
	if err := atomicfile.Sweep(dir, 0, options); err != nil { // temporary files of killed calls; no other call writes now
		return err
	}
	return atomicfile.Replace(s.Path, lines, options)
}
