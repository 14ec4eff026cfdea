// Package scan lists a directory tree with the stat data of its entries and the content or digests of its files. Start
// with Dir.
//
// The host does this in one operation (fs/scan). A module that lists, opens and reads each file itself takes several times
// as long, since each of these calls costs more than reading a small file.
//
//	for e, err := range scan.Dir(dir, scan.Options{Depth: 3, Match: []string{"*.md"}}) {
//		if err != nil {
//			return err
//		}
//		if e.Data != nil {
//			…
//		}
//	}
//
// Outside of a host, and if the host does not have the operation or the operation fails, Dir uses package os. So errors
// about the directory are those of package os.
//
// Stability: exported names stay within a major version.
package scan

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// MaxDepth is the maximum of Options.Depth. SHA256 is the value of Options.Data for digests.
const (
	MaxDepth = abi.MaxScanDepth
	SHA256   = abi.ScanDataSHA256
)

// Options select what Dir lists and reads. The zero value lists the entries of one directory.
type Options struct {
	Depth  int      // levels of directories to list, at most abi.MaxScanDepth; 0: 1
	Match  []string // patterns of path.Match for the names of files whose data is wanted; if empty, no data is returned
	Skip   []string // patterns for the names of directories that are not listed
	Follow bool     // describe symbolic links by their targets; a linked directory is not listed
	// Data selects the data of files: abi.ScanDataContent (the default), abi.ScanDataSHA256, or abi.ScanDataDerived,
	// which is computed by the derive function with the index Function.
	Data     string
	Function uint32
	Strict   bool  // fail with ErrName if a name is not UTF-8; otherwise such an entry is left out
	MaxFile  int64 // bytes of the largest file whose data is wanted; 0: 16 MiB, 4 MiB for derived data
	Max      int64 // bytes of data in memory at a time, unless a single file is larger; 0: 4 MiB
}

// Entry is a file, a directory or a symbolic link.
type Entry struct {
	Path string      // relative to the directory, with slashes
	Type fs.FileMode // 0 for a regular file, fs.ModeDir, fs.ModeSymlink, or fs.ModeIrregular for anything else
	// Linked is set if the entry is a symbolic link; the other fields then describe its target.
	Linked  bool
	Size    int64
	ModTime time.Time
	Data    []byte // nil if no data is wanted, or there is none (see State); retaining it retains up to Options.Max bytes
	State   State
}

// IsRegular reports whether the entry is a regular file.
func (e Entry) IsRegular() bool { return e.Type == 0 }

// Name returns the last component of the path.
func (e Entry) Name() string { return path.Base(e.Path) }

// State says why an entry lacks data.
type State uint8

// States of an entry.
const (
	OK         State = abi.ScanOK         // Data is set, or was not wanted
	TooLarge   State = abi.ScanTooLarge   // the file has more than Options.MaxFile bytes
	Unreadable State = abi.ScanUnreadable // the file or directory cannot be read, or was changed while it was read
	Failed     State = abi.ScanFailed     // the derive function failed
	Dangling   State = abi.ScanDangling   // a symbolic link whose target cannot be reached (with Options.Follow)
	// Unavailable means that the host has no derived data.
	Unavailable State = 0xff
)

// Dir returns the entries of a directory, and of the directories below it: a directory before its entries, which are in
// byte order of their names. The sequence ends at the first error.
func Dir(dir string, o Options) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := o.check(); err != nil {
			yield(Entry{}, err)
			return
		}
		dir, err := filepath.Abs(dir)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		if err := dirOf(dir, o, yield); err != nil && !errors.Is(err, errStopped) {
			yield(Entry{}, err)
		}
	}
}

// ErrName means that a name is not UTF-8 (with Options.Strict).
var ErrName = errors.New("scan: the name of an entry is not UTF-8")

// errStopped means that the loop over the entries has ended.
var errStopped = errors.New("stopped")

// check checks the options and sets defaults.
func (o *Options) check() error {
	largest := int64(abi.MaxScanContent)
	if o.Data == abi.ScanDataDerived {
		largest = abi.MaxScanInput
	}
	if o.Depth == 0 {
		o.Depth = 1
	}
	if o.MaxFile == 0 {
		o.MaxFile = largest
	}
	if o.Data == "" {
		o.Data = abi.ScanDataContent
	}
	switch {
	case o.Depth < 0 || o.Depth > abi.MaxScanDepth:
		return fmt.Errorf("scan: Depth is %d; it must be from 1 to %d", o.Depth, abi.MaxScanDepth)
	case o.MaxFile < 0 || o.MaxFile > largest:
		return fmt.Errorf("scan: MaxFile is %d; it must be from 1 to %d", o.MaxFile, largest)
	case o.Data != abi.ScanDataContent && o.Data != abi.ScanDataSHA256 && o.Data != abi.ScanDataDerived:
		return fmt.Errorf("scan: unknown data %q", o.Data)
	}
	for _, patterns := range [][]string{o.Match, o.Skip} {
		if len(patterns) > abi.MaxScanPatterns {
			return fmt.Errorf("scan: %d patterns are given; at most %d are allowed", len(patterns), abi.MaxScanPatterns)
		}
		for _, p := range patterns {
			if _, err := path.Match(p, ""); err != nil || len(p) > abi.MaxScanPattern {
				return fmt.Errorf("scan: %q is not a valid pattern of at most %d bytes", p, abi.MaxScanPattern)
			}
		}
	}
	return nil
}

// dirOf yields the entries that the host returns. If the host fails, the rest is from package os.
func dirOf(dir string, o Options, yield func(Entry, error) bool) error {
	last := ""
	counted := func(e Entry) error {
		last = e.Path
		if !yield(e, nil) {
			return errStopped
		}
		return nil
	}
	err := fromHost(dir, o, "", counted)
	failure, refused := errors.AsType[*abi.HostError](err)
	if refused && failure.Code == abi.HostUnavailable && o.Data == abi.ScanDataDerived {
		// The host may have the operation, but no derived data: then only the entries are from the host.
		names := o
		names.Match, names.Data = nil, abi.ScanDataContent
		err = fromHost(dir, names, last, func(e Entry) error {
			if e.IsRegular() && matches(o.Match, e.Name()) {
				e.State = Unavailable
			}
			return counted(e)
		})
		failure, refused = errors.AsType[*abi.HostError](err)
	}
	if !refused || failure.Code == abi.HostInvalid {
		return err
	}
	return fromOS(dir, o, last, counted)
}

func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, name); ok { // check has checked the pattern
			return true
		}
	}
	return false
}
