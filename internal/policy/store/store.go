// Package store keeps the plugins that were fetched, for all configs of a user. Each is a directory that is named by the SHA-256 of its
// plugin.toml, with the files of the plugin's archive and a record of their origin. Start with In; Open checks an archive, Add keeps it.
//
// The digest in a config decides what runs: a host compares plugin.toml with it, and the module with plugin.toml, whatever the store
// contains. The store fetches nothing.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Store is a directory with plugins. It is safe for concurrent use, also by several processes.
type Store struct {
	Dir string // absolute; empty: there is no location for a store

	fsys filesystem.FS // of what Add writes; nil: the real one
}

// In returns the store in a directory, which need not exist.
func In(dir string) Store { return Store{Dir: dir} }

const (
	lockName    = ".lock"
	tempPattern = ".bulkhead-*.tmp"
	// discardedName matches tempPattern. Only the owner of the lock uses it, after it has removed what matches.
	discardedName = ".bulkhead-discarded.tmp"
)

var errNoStore = errors.New("there is no place for plugins that are fetched: set HOME or XDG_DATA_HOME to a directory of the user")

// Path returns the directory of the plugin whose manifest has the digest. It need not exist.
func (s Store) Path(digest string) string { return filepath.Join(s.Dir, digest) }

// Check returns an error if other users can change the store.
func (s Store) Check() error {
	if s.Dir == "" {
		return errNoStore
	}
	if err := ownedpath.Check(s.Dir); err != nil {
		return fmt.Errorf("plugins that were fetched are not used: %s", ownedpath.Explain(err))
	}
	return nil
}

// Add keeps a plugin, and returns its directory. A plugin that is there already, undamaged and from the same archive, keeps its first
// origin, but for the signature, which is replaced by that of o if there is one: the first may have been fetched without, or be by a key that
// is not accepted any more. One that is damaged is replaced.
func (s Store) Add(ctx context.Context, p *Plugin, o Origin) (string, error) {
	o.Archive, o.Size = p.Archive, p.Size
	record, err := o.encode()
	if err != nil {
		return "", err
	}
	path := s.Path(p.Manifest.Digest)
	return path, s.locked(ctx, func(options atomicfile.Options) error {
		have, err := s.read(path)
		switch {
		case err == nil && have.Archive == p.Archive:
			return s.sign(path, have, o, options)
		case err == nil:
			return fmt.Errorf("the store has %s %s from another archive, with the same manifest and module but other texts: remove that one first with `bulkhead cache clear --store --plugin %s`",
				p.Manifest.Name, p.Manifest.Version, p.Manifest.Name)
		case !errors.Is(err, fs.ErrNotExist):
			if err := s.discard(path, options); err != nil {
				return err
			}
		}
		members := []atomicfile.Member{{Name: originName, Parts: [][]byte{record}}}
		for _, f := range p.files {
			members = append(members, atomicfile.Member{Name: f.Name, Parts: [][]byte{f.Data}})
		}
		if err := atomicfile.CreateDir(path, members, options); err != nil {
			return fmt.Errorf("the plugin cannot be written to the store: %w", err)
		}
		return nil
	})
}

// sign replaces the signature in the record of the plugin at path by that of o, if there is one.
func (s Store) sign(path string, have, o Origin, options atomicfile.Options) error {
	if o.Signature == "" || o.Signature == have.Signature {
		return nil
	}
	have.Signer, have.Signature = o.Signer, o.Signature
	record, err := have.encode()
	if err == nil {
		options.TempDir = s.Dir // where what a killed process leaves is removed
		err = atomicfile.Replace(filepath.Join(path, originName), record, options)
	}
	if err != nil {
		return fmt.Errorf("the signature cannot be written to the store: %w", err)
	}
	return nil
}

// Remove removes the plugin with a digest. A server that serves it keeps running until it starts another worker for it.
func (s Store) Remove(ctx context.Context, digest string) error {
	if !userfile.IsDigest(digest) {
		return fmt.Errorf("%q is not a SHA-256 in hex", digest)
	}
	return s.locked(ctx, func(options atomicfile.Options) error { return s.discard(s.Path(digest), options) })
}

// discard removes the directory at path. It renames the directory first, so that no part of it is ever found at path.
func (s Store) discard(path string, options atomicfile.Options) error {
	if err := options.FS.Rename(path, filepath.Join(s.Dir, discardedName)); err != nil {
		return filesystem.IgnoreAbsent(err)
	}
	return atomicfile.Sweep(s.Dir, 0, options)
}

// locked calls change while no other process changes the store. It first removes what killed processes have left.
func (s Store) locked(ctx context.Context, change func(options atomicfile.Options) error) error {
	if s.Dir == "" {
		return errNoStore
	}
	if err := ownedpath.Make(s.Dir); err != nil {
		return errors.New(ownedpath.Explain(err))
	}
	lock, err := filelock.Lock(ctx, filepath.Join(s.Dir, lockName), filelock.Exclusive)
	if err != nil {
		return fmt.Errorf("the store cannot be locked: %w", err)
	}
	defer lock.Close()
	options := atomicfile.Options{FS: s.fsys, Mode: 0o600, Pattern: tempPattern}
	if s.fsys == nil {
		options.FS = filesystem.OS{}
	}
	if err := atomicfile.Sweep(s.Dir, 0, options); err != nil {
		return err
	}
	return change(options)
}

// Item is a plugin of the store.
type Item struct {
	Digest  string // SHA-256 of its manifest
	Name    string // empty if the manifest cannot be read
	Version string
	Module  string // SHA-256 of its module
	Dir     string
	Origin  Origin
	Problem error // what is damaged; nil: nothing
}

// List returns the plugins of the store by digest. It reads all of their files.
func (s Store) List() ([]Item, error) {
	entries, err := os.ReadDir(s.Dir)
	if s.Dir == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var items []Item
	for _, e := range entries {
		if !userfile.IsDigest(e.Name()) {
			continue
		}
		path := s.Path(e.Name())
		item := Item{Digest: e.Name(), Dir: path}
		var p *Plugin
		if p, item.Origin, item.Problem = s.load(path); p != nil {
			item.Name, item.Version, item.Module = p.Manifest.Name, p.Manifest.Version, p.Manifest.Module.SHA256
		}
		items = append(items, item)
	}
	return items, nil
}

// Export returns the archive of the plugin with a digest, byte for byte as it was added, and its origin.
func (s Store) Export(digest string) ([]byte, Origin, error) {
	p, origin, err := s.load(s.Path(digest))
	if err != nil {
		return nil, Origin{}, err
	}
	data, err := archive.Encode(p.files)
	return data, origin, err
}

// Plugin returns the plugin with a digest, if none of its files is damaged.
func (s Store) Plugin(digest string) (*Plugin, error) {
	p, _, err := s.load(s.Path(digest))
	return p, err
}

// read returns the origin of the plugin at path if none of its files is damaged.
func (s Store) read(path string) (Origin, error) {
	_, origin, err := s.load(path)
	return origin, err
}

// load reads the plugin at path. The error matches fs.ErrNotExist if there is no directory.
func (s Store) load(path string) (*Plugin, Origin, error) {
	if _, err := os.Lstat(path); err != nil {
		return nil, Origin{}, err
	}
	damaged := func(err error) (*Plugin, Origin, error) {
		return nil, Origin{}, fmt.Errorf("%s is damaged: %s", path, err) // not wrapped: the directory exists, whatever is absent in it
	}
	origin, err := readOrigin(path)
	if err != nil {
		return damaged(err)
	}
	files, err := readFiles(path)
	if err != nil {
		return damaged(err)
	}
	data, err := archive.Encode(files)
	if err != nil {
		return damaged(err)
	}
	p, err := Open(data)
	switch {
	case err != nil:
		return damaged(err)
	case p.Manifest.Digest != filepath.Base(path):
		return damaged(fmt.Errorf("its %s has the SHA-256 %s", manifest.FileName, p.Manifest.Digest))
	case p.Archive != origin.Archive:
		return damaged(fmt.Errorf("its archive has the SHA-256 %s, and %s was added", p.Archive, origin.Archive))
	}
	return p, origin, nil
}

// readFiles reads the files of a plugin, within the bounds of an archive.
func readFiles(dir string) ([]archive.File, error) {
	var files []archive.File
	size := int64(0)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == originName {
			return err
		}
		if len(files) == archive.MaxFiles || size > archive.MaxSize {
			return errors.New("it has more files than an archive")
		}
		if !e.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file", name)
		}
		data, err := filesystem.ReadFile(filesystem.OS{}, path, archive.MaxFile)
		files, size = append(files, archive.File{Name: filepath.ToSlash(name), Data: data}), size+int64(len(data))
		return err
	})
	return files, err
}
