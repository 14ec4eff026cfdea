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

var errNoKey = errors.New("the key does not exist")

func (s Store) keyFile() string { return filepath.Join(s.Dir, keyName) }

// readKey returns the key that signs tokens. The error is errNoKey if the key does not exist.
func (s Store) readKey() ([]byte, error) {
	key, err := readBounded(s.keyFile(), keySize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errNoKey
	case err != nil:
		return nil, err
	case len(key) != keySize:
		return nil, fmt.Errorf("%s is damaged: remove the file, and call deploy again to replace tokens that were not used", s.keyFile())
	}
	return key, nil
}

// makeKey returns the key, and creates the key if the key does not exist. It reads a new key back from the file. So two
// processes that both create a key, in spite of the lock, sign with the same key.
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

// write atomically replaces the file at path. It makes the new file private before it writes the content.
func (s Store) write(path string, content []byte) error {
	file, err := atomicfile.New(path, atomicfile.Options{Mode: 0o600, Pattern: filepath.Base(path) + ".*.tmp", SweepAge: atomicfile.LongestWrite})
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

// readBounded returns at most max+1 bytes of the file at path. If the result has max+1 bytes, the file is too large.
func readBounded(path string, max int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, max+1))
}
