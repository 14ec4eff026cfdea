// Package atomicfile writes one file atomically and durably. Start with Replace, which replaces the content of a file, and Create, which
// creates a file that must not exist. If the process is killed at any point, the file has either its complete old content or the complete
// new content. After a call has returned without an error, the new content survives a loss of power.
//
// The content is written to a temporary file in the same directory. That file is synced and then renamed or linked to its final name; then
// the directory is synced. A killed process can leave its temporary file behind: Sweep and Options.SweepAge remove such files. New gives access to the single
// steps, for content that is streamed, or for checks right before the commit. CreateDir creates a directory with files in the same way,
// and MkdirAll creates directories that survive a loss of power.
//
// For changes of several files see package transaction.
//
// Stability: additions only within a major version.
package atomicfile

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// DefaultPattern is the pattern for the names of temporary files if Options.Pattern is empty.
const DefaultPattern = ".atomicfile-*.tmp"

// LongestWrite is longer than any write of a file of moderate size takes.
const LongestWrite = time.Hour

const defaultMode fs.FileMode = 0o644

// Options configures how a file is written. The zero value is ready to use.
type Options struct {
	FS filesystem.FS // file system of the file; nil: filesystem.OS{}
	// Mode contains the permission bits of a new file, before the umask; 0 means 0644. A file that is replaced keeps its
	// permission bits.
	Mode fs.FileMode
	// Pattern is the pattern for the names of temporary files. Its one asterisk stands for random digits. Empty: DefaultPattern.
	Pattern string
	// TempDir is the directory of temporary files. It must be on the file system of the file. Empty: the directory of the file.
	TempDir string
	// SweepAge makes New remove the temporary files that are older, which killed processes have left, from the directory of temporary files,
	// where it can. It must exceed the duration of any write, such as LongestWrite. 0: none are removed.
	SweepAge time.Duration
}

func (o Options) fsys() filesystem.FS {
	if o.FS == nil {
		return filesystem.OS{}
	}
	return o.FS
}

func (o Options) pattern() (prefix, suffix string) {
	pattern := cmp.Or(o.Pattern, DefaultPattern)
	prefix, suffix, found := strings.Cut(pattern, "*")
	if !found || prefix == "" || strings.ContainsAny(pattern, `/\`) {
		panic(fmt.Sprintf("atomicfile: the pattern %q is not a file name with a prefix and an asterisk", pattern))
	}
	return prefix, suffix
}

func (o Options) mode() fs.FileMode { return cmp.Or(o.Mode, defaultMode) }

// temp returns the path of a new temporary file for path. The digits in its name come from the system: in a module whose memory is restored
// after each call, math/rand repeats its numbers.
func (o Options) temp(path string) string {
	var digits [8]byte
	_, _ = rand.Read(digits[:]) // crypto/rand does not fail
	prefix, suffix := o.pattern()
	return filepath.Join(cmp.Or(o.TempDir, filepath.Dir(path)), prefix+hex.EncodeToString(digits[:])+suffix)
}

// Replace makes data the content of the file at path. The file need not exist. A symbolic link at path is replaced, not followed.
func Replace(path string, data []byte, o Options) error {
	return write(path, data, o, (*File).Replace)
}

// Create creates a file at path with the content data. If the path exists, it stays unchanged, and the error matches fs.ErrExist.
func Create(path string, data []byte, o Options) error {
	return write(path, data, o, (*File).Create)
}

func write(path string, data []byte, o Options, commit func(*File) error) error {
	file, err := New(path, o)
	if err != nil {
		return err
	}
	_, _ = file.Write(data) // commit returns the error
	return commit(file)
}

// File is a temporary file that is to get its final name. The caller must end it with Replace, Create or Discard.
type File struct {
	fsys filesystem.FS
	file filesystem.File // handle of the temporary file; nil after it is closed
	temp string          // path of the temporary file; empty after it was committed or discarded
	path string
	err  error // error of the first write that failed
}

// New creates a temporary file for path. If a file exists at path, the temporary file has its permission bits from the beginning, so that
// secret content is never readable for more users than before.
func New(path string, o Options) (*File, error) {
	f := &File{fsys: o.fsys(), path: path}
	temp := o.temp(path)
	if o.SweepAge > 0 {
		_ = Sweep(filepath.Dir(temp), o.SweepAge, o) // files that cannot be removed do no harm
	}
	file, err := f.fsys.Create(temp, o.mode())
	if err != nil {
		return nil, err
	}
	f.file, f.temp = file, temp
	if err := f.fsys.CopyMode(path, temp); !filesystem.IsAbsent(err) && err != nil {
		return nil, errors.Join(err, f.Discard())
	}
	return f, nil
}

// Name returns the path of the temporary file.
func (f *File) Name() string { return f.temp }

// Write appends data to the temporary file.
func (f *File) Write(data []byte) (int, error) {
	n, err := f.file.Write(data)
	f.err = errors.Join(f.err, err)
	return n, err
}

// Sync makes the content durable and closes the temporary file. The file can then be read at the path that Name returns. Replace and Create
// call Sync.
func (f *File) Sync() error {
	if f.file == nil {
		return f.err
	}
	if f.err == nil {
		f.err = f.file.Sync()
	}
	f.err = errors.Join(f.err, f.file.Close())
	f.file = nil
	return f.err
}

// Replace commits the file: it replaces whatever exists at the final path. After an error the temporary file is removed. If only the sync of
// the directory failed, the new content is in place, but may not survive a loss of power.
func (f *File) Replace() error {
	err := f.Sync()
	if err == nil {
		err = f.fsys.Rename(f.temp, f.path)
	}
	if err != nil {
		return errors.Join(err, f.Discard())
	}
	f.temp = ""
	return f.fsys.SyncDir(filepath.Dir(f.path))
}

// Create commits the file if nothing exists at the final path; otherwise the error matches fs.ErrExist. After an error no file has been
// created, and the temporary file is removed.
func (f *File) Create() error {
	err := f.Sync()
	if err == nil {
		err = f.fsys.Link(f.temp, f.path)
		if err != nil && !filesystem.IsAbsent(err) {
			err = f.createWithoutLinks()
		}
	}
	if err != nil {
		return errors.Join(err, f.Discard())
	}
	temp := f.temp
	if err = f.Discard(); err == nil {
		err = f.fsys.SyncDir(filepath.Dir(f.path))
	}
	if err != nil {
		return errors.Join(err, f.fsys.Remove(f.path), filesystem.RemoveIfExists(f.fsys, temp))
	}
	return nil
}

// createWithoutLinks implements Create for file systems without hard links. It creates an empty file exclusively, which reserves the name
// until the rename. If the process is killed before the rename, the empty file remains.
func (f *File) createWithoutLinks() error {
	reserved, err := f.fsys.Create(f.path, defaultMode)
	if err != nil {
		return err
	}
	if err = reserved.Close(); err == nil {
		err = f.fsys.Rename(f.temp, f.path)
	}
	if err != nil {
		return errors.Join(err, f.fsys.Remove(f.path))
	}
	return nil
}

// Discard removes the temporary file. After Replace or Create it does nothing.
func (f *File) Discard() error {
	if f.temp == "" {
		return nil
	}
	if f.file != nil {
		_ = f.file.Close() // the content is discarded, so a failed close does not matter
		f.file = nil
	}
	temp := f.temp
	f.temp = ""
	return filesystem.RemoveIfExists(f.fsys, temp)
}
