package code

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
)

// MaxModule limits a module's file, in bytes, because the memory and time for compiling grow in proportion to it.
const MaxModule = 64 << 20

// OpenModule opens a module's file. It refuses files that are not regular, and does not block on a FIFO.
func OpenModule(path string) (*os.File, error) {
	// Opening a device can have side effects, so the type is checked before as well as after.
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if err := checkRegular(path, info); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|platform.NonBlock|platform.NoTTY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = checkRegular(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func checkRegular(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	return nil
}

// DigestOf returns the SHA-256 of a module's file in lower-case hex.
func DigestOf(path string) (string, error) { return readModule(Module{File: path}, io.Discard) }

// CheckDigest returns an error unless the module's file has the SHA-256 sum.
func CheckDigest(path, sum string) error {
	_, err := readModule(Module{File: path, SHA256: sum}, io.Discard)
	return err
}

// bytesOf reads a module whose digest must be sum.
func bytesOf(m Module, sum string) ([]byte, error) {
	var data bytes.Buffer
	m.SHA256 = sum
	_, err := readModule(m, &data)
	return data.Bytes(), err
}

func readModule(m Module, to io.Writer) (string, error) {
	file, err := OpenModule(m.File)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &Error{Missing, fmt.Sprintf("there is no module at %s: build the plugin with `bulkhead plugin build`", m.File), err}
	}
	if err != nil {
		return "", unreadableError(err)
	}
	defer file.Close()
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(hash, to), io.LimitReader(file, MaxModule+1))
	if err != nil {
		return "", unreadableError(err)
	}
	if size > MaxModule {
		return "", &Error{Reason: Invalid, Text: fmt.Sprintf("the module is larger than the maximum of %d MiB", MaxModule>>20)}
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	if m.SHA256 != "" && sum != m.SHA256 {
		return "", &Error{Reason: Digest, Text: fmt.Sprintf("%s has the SHA-256 %s, but its manifest contains %s: build the plugin again, or find out who changed the file", m.File, sum, m.SHA256)}
	}
	return sum, nil
}

func unreadableError(err error) error {
	return &Error{Missing, fmt.Sprintf("its module cannot be read: %v", err), err}
}
