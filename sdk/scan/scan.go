// Package scan lists a directory tree with the stat data of its entries and the content or digests of its files. Start
// with Dir.
//
// The host performs this in one operation (fs/scan). A module that lists, opens and reads each file itself takes several times as long, since
// each of these calls costs more than reading a small file.
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
// Outside of a host, and if the host does not support the operation or the operation fails, Dir uses package os. Errors about the directory
// are therefore those of package os.
//
// Stability: exported names stay within a major version.
package scan

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// MaxDepth is the maximum of Options.Depth. SHA256 is the value of Options.Data that selects digests.
const (
	MaxDepth = abi.MaxScanDepth
	SHA256   = abi.ScanDataSHA256
)

// Options select what Dir lists and reads. The zero value lists the entries of one directory.
type Options struct {
	Depth  int      // number of levels of directories to list, at most abi.MaxScanDepth; 0: 1
	Match  []string // patterns of path.Match for the names of files whose data is wanted; if empty, no data is returned
	Skip   []string // patterns for the names of directories that are not listed
	Follow bool     // whether to describe the targets of symbolic links; a linked directory is not listed
	// Data selects the data of files: abi.ScanDataContent (the default), abi.ScanDataSHA256, or abi.ScanDataDerived. The derive function with
	// the index Function computes derived data.
	Data     string
	Function uint32
	Strict   bool  // whether a name that is not UTF-8 is the error ErrName; otherwise its entry is left out
	MaxFile  int64 // size in bytes of the largest file whose data is wanted; 0: 16 MiB, or 4 MiB for derived data
	Max      int64 // most bytes of data in memory at a time, unless a single file is larger; 0: 4 MiB
}

// Entry is a file, a directory or a symbolic link.
type Entry struct {
	Path string      // slash-separated path relative to the directory that is listed
	Type fs.FileMode // type of the entry: 0 (a regular file), fs.ModeDir, fs.ModeSymlink, or fs.ModeIrregular for anything else
	// Linked is set if the entry is a symbolic link. The other fields then describe the target of the link.
	Linked  bool
	Size    int64
	ModTime time.Time
	Data    []byte // data of the file; nil if none is wanted, or if State is a reason for its absence; retaining it retains up to Options.Max bytes
	State   State
}

// IsRegular reports whether the entry is a regular file.
func (e Entry) IsRegular() bool { return e.Type == 0 }

// Name returns the last component of the path.
func (e Entry) Name() string { return path.Base(e.Path) }

// State is the reason why an entry lacks data, or OK.
type State uint8

// States of an entry.
const (
	OK         State = abi.ScanOK         // Data is set, or no data was wanted
	TooLarge   State = abi.ScanTooLarge   // the file has more than Options.MaxFile bytes
	Unreadable State = abi.ScanUnreadable // the file or directory cannot be read, or was changed while it was read
	Failed     State = abi.ScanFailed     // the derive function failed
	Dangling   State = abi.ScanDangling   // with Options.Follow: the target of a symbolic link cannot be reached
	// Unavailable means that the host has no derived data.
	Unavailable State = 0xff
)

// Dir returns the entries of a directory and of the directories below it. A directory precedes its entries, and entries are in the byte order
// of their names. The sequence ends at the first error.
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

// ErrName is the error if Options.Strict is set and a name is not UTF-8.
var ErrName = errors.New("scan: the name of an entry is not UTF-8")

// errStopped means that the caller has ended its loop over the entries.
var errStopped = errors.New("stopped")

// check checks the options and sets defaults for those that are not set.
func (o *Options) check() error {
	largest := int64(abi.MaxScanContent)
	if o.Data == abi.ScanDataDerived {
		largest = abi.MaxScanInput
	}
	o.Depth = cmp.Or(o.Depth, 1)
	o.MaxFile = cmp.Or(o.MaxFile, largest)
	o.Data = cmp.Or(o.Data, abi.ScanDataContent)
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

// dirOf yields the entries that the host returns. If the host fails, package os provides the remaining entries.
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
		// The host may support the operation, but have no derived data. Then only the entries are from the host, without data.
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
		if ok, _ := path.Match(p, name); ok { // the method check has validated the pattern
			return true
		}
	}
	return false
}
