package token

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
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
func (s Store) write(path string, content []byte) error {
	file, err := atomicfile.New(path, atomicfile.Options{Mode: 0o600, Pattern: filepath.Base(path) + ".*.tmp"})
	if err != nil {
		return err
	}
	if s.Private != nil {
		if err := s.Private(file.Name()); err != nil {
			return errors.Join(fmt.Errorf("%s cannot be made private: %w", file.Name(), err), file.Discard())
		}
	}
	if _, err := file.Write(content); err != nil {
		return errors.Join(err, file.Discard())
	}
	return file.Replace()
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
