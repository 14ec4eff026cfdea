// Package userfile reads configuration files that people edit, and replaces them atomically if they have not changed since. A
// symbolic link is followed and not replaced, since people store such files in repositories of their own. Start with Read.
package userfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// File is a file to edit.
type File struct {
	Path   string // path as given by the caller
	Target string // path with symbolic links resolved
	Data   []byte
	Exists bool

	read       func(path string) ([]byte, error)
	afterCheck func() // called at the end of CheckUnchanged; set by tests only
}

// Read reads the file at path, which need not exist, by the function read. An error that the user can correct is a
// *usage.Error.
func Read(path string, read func(path string) ([]byte, error)) (*File, error) {
	f := &File{Path: path, Target: path, read: read}
	target, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, lerr := os.Lstat(path); lerr == nil {
			return nil, usage.Errorf("%s is a dangling symbolic link: remove it", path)
		}
		return f, nil
	case err != nil:
		return nil, usage.Errorf("%s: %w", path, err)
	}
	f.Target, f.Exists = target, true
	if f.Data, err = read(target); err != nil {
		return nil, usage.Errorf("%s: %w", path, usage.Cause(err))
	}
	return f, nil
}

// Replace replaces the content of the file and preserves its permission bits, or creates the file with mode. It returns an error if
// the file has changed since it was read.
func (f *File) Replace(content []byte, mode fs.FileMode) error {
	if err := f.CheckUnchanged(); err != nil {
		return err
	}
	fresh, err := atomicfile.New(f.Target, atomicfile.Options{Mode: mode, Pattern: ".bulkhead-*.tmp", SweepAge: atomicfile.LongestWrite})
	if err != nil {
		return usage.Errorf("%s cannot be written: %w", f.Path, usage.Cause(err))
	}
	_, _ = fresh.Write(content) // Sync returns the error
	if err := fresh.Sync(); err != nil {
		return errors.Join(fmt.Errorf("%s cannot be written: %w", f.Path, err), fresh.Discard())
	}
	// Writing and syncing may take long: check again right before the commit.
	if err := f.CheckUnchanged(); err != nil {
		return errors.Join(err, fresh.Discard())
	}
	if err := f.commit(fresh); err != nil {
		return err
	}
	f.Data, f.Exists = content, true
	return nil
}

func (f *File) commit(fresh *atomicfile.File) error {
	err := error(nil)
	if f.Exists {
		err = fresh.Replace()
	} else if err = fresh.Create(); errors.Is(err, fs.ErrExist) {
		return f.changed()
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", f.Path, err)
	}
	return nil
}

// CheckUnchanged returns an error if the file has changed since it was read.
func (f *File) CheckUnchanged() error {
	current, err := Read(f.Path, f.read)
	if err != nil {
		return err
	}
	if current.Exists != f.Exists || current.Target != f.Target || !bytes.Equal(current.Data, f.Data) {
		return f.changed()
	}
	if f.afterCheck != nil {
		f.afterCheck()
	}
	return nil
}

func (f *File) changed() error {
	return usage.Errorf("%s has changed since it was read: review it, and try again", f.Path)
}

// Digest returns the SHA-256 of a file's content in lower-case hex, by which pins, consent and caches recognize the content.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// DigestOfFiles returns the Digest of a list of files in the format of sha256sum. sums yields the path and the Digest of each file.
func DigestOfFiles(sums iter.Seq2[string, string]) string {
	hash := sha256.New()
	for path, sum := range sums {
		fmt.Fprintf(hash, "%s  %s\n", sum, path)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// IsDigest reports whether s has the form of a Digest.
func IsDigest(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}
