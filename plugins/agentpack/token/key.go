package token

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	keyName = "confirm-key"
	keySize = 32
)

var errNoKey = errors.New("there is no key yet")

func (s Store) keyFile() string { return filepath.Join(s.Dir, keyName) }

// readKey returns the key; errNoKey if there is none.
func (s Store) readKey() ([]byte, error) {
	key, err := readBounded(s.keyFile(), keySize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errNoKey
	case err != nil:
		return nil, err
	case len(key) != keySize:
		return nil, fmt.Errorf("%s is damaged: remove it, and call deploy again for each unused token", s.keyFile())
	}
	return key, nil
}

// makeKey returns the key, and creates it if there is none. It reads the file back: if two processes create
// one in spite of the lock, both sign with the key that remains.
func (s Store) makeKey() ([]byte, error) {
	if key, err := s.readKey(); !errors.Is(err, errNoKey) {
		return key, err
	}
	key := make([]byte, keySize)
	rand.Read(key)
	if err := s.write(s.keyFile(), key); err != nil {
		return nil, err
	}
	return s.readKey()
}

// write replaces a file atomically. The file is made private before its content is written.
func (s Store) write(path string, content []byte) (err error) {
	random := make([]byte, 8)
	rand.Read(random)
	temp := path + "." + hex.EncodeToString(random) + ".tmp"
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp))
		}
	}()
	if s.Private != nil {
		if err := s.Private(temp); err != nil {
			return errors.Join(fmt.Errorf("%s cannot be made private: %w", temp, err), file.Close())
		}
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// readBounded returns at most max+1 bytes of a file: more than max means that the file is too large.
func readBounded(path string, max int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, max+1))
}
