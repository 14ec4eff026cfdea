package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrChanged says that somebody else changed a file between its reading and its writing.
var ErrChanged = errors.New("was changed by another program meanwhile; nothing was written, try again")

// writeFunc puts content into a file that is open for writing.
type writeFunc func(file *os.File, content string) error

func writeSynced(file *os.File, content string) error {
	if _, err := file.WriteString(content); err != nil {
		return err
	}
	return file.Sync()
}

// Replace puts content in the place of a file's, which had the sum before when it was read; if it has
// another by now, the error is ErrChanged. The file is whole at every moment, whatever fails.
func Replace(path string, before Sum, content string) error {
	return replace(path, before, content, writeSynced)
}

func replace(path string, before Sum, content string, write writeFunc) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	temp, err := writeTemp(filepath.Dir(path), content, info.Mode().Perm(), write)
	if err != nil {
		return err
	}
	err = unchanged(path, before)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
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
	hash := sha256.New()
	// The bound is for a file that somebody goes on writing to.
	if _, err := io.Copy(hash, io.LimitReader(file, info.Size()+1)); err != nil {
		return err
	}
	if Sum(hash.Sum(nil)) != before {
		return fmt.Errorf("%s %w", path, ErrChanged)
	}
	return nil
}

// Create makes a file that must not exist yet (fs.ErrExist), with all of content or not at all.
func Create(path, content string) error {
	return create(path, content, writeSynced, os.Link)
}

func create(path, content string, write writeFunc, link func(from, to string) error) error {
	temp, err := writeTemp(filepath.Dir(path), content, 0o644, write)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	// A link is the one step that refuses an existing name and shows only whole files.
	err = link(temp, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return createInPlace(path, content, write) // a file system without hard links
}

func createInPlace(path, content string, write writeFunc) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err := errors.Join(write(file, content), file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// Move renames a file, which must still have the sum before (else ErrChanged), to a path at which nothing
// may be (fs.ErrExist). Missing folders are made. Whenever it is stopped, the file is whole in one of the
// places or in both, and moving it again finishes that: an empty file at the new path, and one of the same
// content, count as left by a move.
func Move(from, to string, before Sum) error { return move(from, to, before, os.Link) }

func move(from, to string, before Sum, link func(from, to string) error) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := unchanged(from, before); err != nil {
		return err
	}
	if empty(to) {
		return os.Rename(from, to)
	}
	// A second name is the one step that never replaces what is there.
	err := link(from, to)
	switch {
	case err == nil:
		return leave(from, to, before)
	case errors.Is(err, fs.ErrExist) && unchanged(to, before) == nil:
		return leave(from, to, before)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	return moveOver(from, to) // a file system without hard links
}

// leave ends a move of a file that is at both places.
func leave(from, to string, before Sum) error {
	err := unchanged(from, before)
	if err == nil {
		err = os.Remove(from)
	}
	if err == nil {
		return nil
	}
	if _, gone := os.Lstat(from); errors.Is(gone, fs.ErrNotExist) {
		return nil // another program has ended the same move
	}
	return errors.Join(err, os.Remove(to))
}

// moveOver renames a file to a path that an empty file of our own holds until then.
func moveOver(from, to string) error {
	place, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err = place.Close(); err == nil {
		err = os.Rename(from, to)
	}
	if err != nil && empty(to) { // and not what another program has moved there
		err = errors.Join(err, os.Remove(to))
	}
	return err
}

// writeTemp writes a file in folder under a name that no reader takes for a spec.
func writeTemp(folder, content string, mode fs.FileMode, write writeFunc) (string, error) {
	var salt [8]byte
	if _, err := rand.Read(salt[:]); err != nil {
		return "", err
	}
	path := filepath.Join(folder, ".chant-"+hex.EncodeToString(salt[:])+".tmp")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	if err := errors.Join(write(file, content), file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	return path, nil
}
