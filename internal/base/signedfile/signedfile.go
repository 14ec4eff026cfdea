// Package signedfile keeps signed files that were fetched, such as catalogues, and refuses to replace one by an older one: each has a serial
// number that only grows. What is kept is verified again when it is read. Start with Dir.Put and Dir.Read.
package signedfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Dir is a directory with signed files. It is safe for concurrent use, also by several processes.
type Dir struct {
	Path string // absolute; empty: there is no place for files that are kept

	fsys filesystem.FS // of what Put writes; nil: the real one
}

// File is a signed file.
type File struct {
	Content   []byte
	Signature []byte    // that of minisign
	Kept      time.Time // when it was fetched last
}

const (
	lockName    = ".lock"
	tempPattern = ".bulkhead-*.tmp"
	extension   = ".signed"
	// signatureLines is the number of lines of a signature, which precedes the content.
	signatureLines = 4
)

var errNoPlace = errors.New("there is no place for files that are fetched: set HOME or XDG_DATA_HOME to a directory of the user")

// path returns the file for what is fetched from an address.
func (d Dir) path(from string) string {
	return filepath.Join(d.Path, userfile.Digest([]byte(from))+extension)
}

// Verify returns an error unless the file is signed with the key.
func (f *File) Verify(key signature.Key) error {
	s, err := signature.Parse(f.Signature)
	if err == nil {
		_, err = s.Verify(bytes.NewReader(f.Content), key)
	}
	return err
}

// Read returns the file that was fetched from an address last, if it is signed with the key. The error matches fs.ErrNotExist if none is
// kept.
func (d Dir) Read(from string, key signature.Key) (*File, error) {
	if d.Path == "" {
		return nil, errNoPlace
	}
	if err := ownedpath.Check(d.Path); err != nil {
		return nil, errors.New(ownedpath.Explain(err))
	}
	path := d.path(from)
	data, err := filesystem.ReadFile(filesystem.OS{}, path, signature.MaxSize+tomlfile.MaxSize)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	f := &File{Kept: info.ModTime()}
	at := 0
	for range signatureLines {
		at += bytes.IndexByte(data[at:], '\n') + 1
	}
	f.Signature, f.Content = data[:at], data[at:]
	if err := f.Verify(key); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// OlderError says that a file is older than the one that is kept.
type OlderError struct{ Serial, Kept int64 }

func (e *OlderError) Error() string {
	if e.Serial == e.Kept {
		return fmt.Sprintf("it has the serial number %d and other content than the one with that number that was fetched before: its publisher must increase serial", e.Serial)
	}
	return fmt.Sprintf("it has the serial number %d, and number %d was fetched before: an older one is not accepted", e.Serial, e.Kept)
}

// Put keeps a file that was fetched from an address, which must be signed with the key. The error is an *OlderError if a file with a higher
// number is kept, or another one with the same. serial returns the number in the content of a file.
func (d Dir) Put(ctx context.Context, from string, key signature.Key, f *File, serial func(content []byte) (int64, error)) error {
	if d.Path == "" {
		return errNoPlace
	}
	if err := f.Verify(key); err != nil {
		return err
	}
	number, err := serial(f.Content)
	if err != nil {
		return err
	}
	if err := ownedpath.Make(d.Path); err != nil {
		return errors.New(ownedpath.Explain(err))
	}
	lock, err := filelock.Lock(ctx, filepath.Join(d.Path, lockName), filelock.Exclusive)
	if err != nil {
		return fmt.Errorf("%s cannot be locked: %w", d.Path, err)
	}
	defer lock.Close()
	// A kept file that is damaged, or signed with a key that the config no longer names, is replaced.
	if have, err := d.Read(from, key); err == nil {
		kept, err := serial(have.Content)
		if err == nil && (number < kept || number == kept && !bytes.Equal(have.Content, f.Content)) {
			return &OlderError{number, kept}
		}
	}
	options := atomicfile.Options{FS: d.fsys, Mode: 0o600, Pattern: tempPattern}
	if d.fsys == nil {
		options.FS = filesystem.OS{}
	}
	if err := atomicfile.Sweep(d.Path, 0, options); err != nil {
		return err
	}
	return atomicfile.Replace(d.path(from), append(bytes.Clone(f.Signature), f.Content...), options)
}
