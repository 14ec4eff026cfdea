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

// ErrChanged reports that another program changed a file after it was read.
var ErrChanged = errors.New("was changed by another program meanwhile; nothing was written, try again")

// writeFunc writes content to an open file. Tests inject failures by it.
type writeFunc func(file *os.File, content string) error

func writeSynced(file *os.File, content string) error {
	if _, err := file.WriteString(content); err != nil {
		return err
	}
	return file.Sync()
}

// Replace atomically replaces a file's content. The error is ErrChanged if its sum is no longer before.
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
	// The bound ends the loop if another program keeps appending.
	if _, err := io.Copy(hash, io.LimitReader(file, info.Size()+1)); err != nil {
		return err
	}
	if Sum(hash.Sum(nil)) != before {
		return fmt.Errorf("%s %w", path, ErrChanged)
	}
	return nil
}

// Create atomically creates a file. The error is fs.ErrExist if it exists.
func Create(path, content string) error {
	return create(path, content, writeSynced, os.Link)
}

func create(path, content string, write writeFunc, link func(from, to string) error) error {
	temp, err := writeTemp(filepath.Dir(path), content, 0o644, write)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	// A hard link is the only operation that both refuses an existing name and never shows a partial file.
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

// Move renames a file and creates missing directories. The error is ErrChanged if the file's sum is no longer before,
// and fs.ErrExist if the target exists. If it is interrupted, the complete file is at one of the paths or at both, and
// another Move finishes it: a target that is empty or has the same content counts as left by an interrupted Move.
func Move(from, to string, before Sum) error { return move(from, to, before, os.Link) }

func move(from, to string, before Sum, link func(from, to string) error) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := unchanged(from, before); err != nil {
		return err
	}
	if isEmpty(to) {
		return os.Rename(from, to)
	}
	// Unlike rename, a hard link never replaces an existing file.
	err := link(from, to)
	switch {
	case err == nil:
		return removeSource(from, to, before)
	case errors.Is(err, fs.ErrExist) && unchanged(to, before) == nil:
		return removeSource(from, to, before)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	return renameOverPlaceholder(from, to) // a file system without hard links
}

// removeSource finishes a Move of a file that is at both paths.
func removeSource(from, to string, before Sum) error {
	err := unchanged(from, before)
	if err == nil {
		err = os.Remove(from)
	}
	if err == nil {
		return nil
	}
	if _, statErr := os.Lstat(from); errors.Is(statErr, fs.ErrNotExist) {
		return nil // another program has finished the same move
	}
	return errors.Join(err, os.Remove(to))
}

// renameOverPlaceholder renames a file to a path that it reserves by an empty file, exclusively created.
func renameOverPlaceholder(from, to string) error {
	placeholder, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err = placeholder.Close(); err == nil {
		err = os.Rename(from, to)
	}
	if err != nil && isEmpty(to) { // still the placeholder, not another program's file
		err = errors.Join(err, os.Remove(to))
	}
	return err
}

// writeTemp writes a file in dir under a name that does not end in .md, so that readers ignore it.
func writeTemp(dir, content string, mode fs.FileMode, write writeFunc) (string, error) {
	var salt [8]byte
	if _, err := rand.Read(salt[:]); err != nil {
		return "", err
	}
	path := filepath.Join(dir, ".chant-"+hex.EncodeToString(salt[:])+".tmp")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	if err := errors.Join(write(file, content), file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	return path, nil
}
