package store

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// ErrChanged is the error for a file that another program changed after this call had read it.
var ErrChanged = errors.New("was changed by another program during this call; nothing was written, try again")

// options make the names of temporary files not end in .md, so that Specs ignores these files.
var options = atomicfile.Options{Pattern: ".chant-*.tmp"}

// Replace atomically replaces the content of the file at path. The error is ErrChanged if the Sum of the current
// content differs from before.
func Replace(path string, before Sum, content string) error {
	return replace(path, before, content, options)
}

func replace(path string, before Sum, content string, o atomicfile.Options) error {
	file, err := atomicfile.New(path, o)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, content)
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = unchanged(path, before)
	}
	if err != nil {
		return errors.Join(err, file.Discard())
	}
	return file.Replace()
}

func unchanged(path string, before Sum) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s %w", path, ErrChanged)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	var hash maphash.Hash
	hash.SetSeed(sumSeed)
	// LimitReader ends the copy if another program keeps appending to the file.
	if _, err := io.Copy(&hash, io.LimitReader(file, info.Size()+1)); err != nil {
		return err
	}
	if Sum(hash.Sum64()) != before {
		return fmt.Errorf("%s %w", path, ErrChanged)
	}
	return nil
}

// Create atomically creates the file at path. The error is fs.ErrExist if a file already exists there.
func Create(path, content string) error { return atomicfile.Create(path, []byte(content), options) }

// Move moves a file to the path "to", and creates missing directories. The error is ErrChanged if the Sum of the file's
// current content differs from "before", and fs.ErrExist if the path "to" already exists. If Move is interrupted, the
// complete file is at one of the paths or at both, and a second Move completes the operation: Move takes an existing
// target that is empty or has the same content for a leftover of an interrupted Move.
func Move(from, to string, before Sum) error { return move(from, to, before, filesystem.OS{}) }

func move(from, to string, before Sum, fsys filesystem.FS) error {
	if err := atomicfile.MkdirAll(filepath.Dir(to), atomicfile.Options{FS: fsys}); err != nil {
		return err
	}
	if err := unchanged(from, before); err != nil {
		return err
	}
	if isEmpty(to) {
		return rename(from, to, fsys)
	}
	// Unlike rename, a hard link never replaces an existing file.
	err := fsys.Link(from, to)
	switch {
	case err == nil:
		return removeSource(from, to, before, fsys)
	case errors.Is(err, fs.ErrExist) && unchanged(to, before) == nil:
		return removeSource(from, to, before, fsys)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	return renameOverPlaceholder(from, to, fsys) // the file system does not support hard links
}

// removeSource completes a Move that has left the file at both paths.
func removeSource(from, to string, before Sum, fsys filesystem.FS) error {
	err := fsys.SyncDir(filepath.Dir(to)) // without the sync, a power failure could leave the file at neither path
	if err == nil {
		err = unchanged(from, before)
	}
	if err == nil {
		err = fsys.Remove(from)
	}
	if err == nil {
		return fsys.SyncDir(filepath.Dir(from))
	}
	if _, statErr := fsys.Lstat(from); errors.Is(statErr, fs.ErrNotExist) {
		return nil // another program has completed the same move
	}
	return errors.Join(err, fsys.Remove(to))
}

// renameOverPlaceholder creates an empty file at the path "to", which must not exist, and then renames the file at "from"
// over the empty file.
func renameOverPlaceholder(from, to string, fsys filesystem.FS) error {
	placeholder, err := fsys.Create(to, 0o644)
	if err != nil {
		return err
	}
	if err = placeholder.Close(); err == nil {
		err = rename(from, to, fsys)
	}
	if err != nil && isEmpty(to) { // an empty file at the path "to" is still the placeholder
		err = errors.Join(err, fsys.Remove(to))
	}
	return err
}

func rename(from, to string, fsys filesystem.FS) error {
	if err := fsys.Rename(from, to); err != nil {
		return err
	}
	return errors.Join(fsys.SyncDir(filepath.Dir(to)), fsys.SyncDir(filepath.Dir(from)))
}
