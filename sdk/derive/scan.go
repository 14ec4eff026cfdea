package derive

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/scan"
)

// Entry is an entry of a directory.
type Entry[T any] struct {
	scan.Entry      // the entry as package scan returns it, but with a nil Data
	Value      T    // result of the function for the content of the file
	Derived    bool // whether Value is set: the file matches Options.Match, and its State is scan.OK
}

// Scan returns the entries of a directory as scan.Dir does. The entries of files that match o.Match have the result of the function. o.Data
// and o.Function have no effect. o.MaxFile is at most 16 MiB, which is the default. The host computes the results for files of up to 4 MiB,
// and Scan itself for larger files. If a file is larger than o.MaxFile or cannot be read, Value is not set, and State is the reason.
func (f *Func[T]) Scan(dir string, o scan.Options) iter.Seq2[Entry[T], error] {
	return func(yield func(Entry[T], error) bool) {
		o.MaxFile = cmp.Or(o.MaxFile, abi.MaxScanContent)
		dir, err := filepath.Abs(dir)
		if o.MaxFile > abi.MaxScanContent {
			err = fmt.Errorf("derive: MaxFile is %d; the maximum is %d", o.MaxFile, abi.MaxScanContent)
		}
		if err != nil {
			yield(Entry[T]{}, err)
			return
		}
		s := scanner[T]{Func: f, dir: dir, options: o, yielded: map[string]bool{}}
		if !s.scan(abi.ScanDataDerived, yield) {
			s.scan(abi.ScanDataContent, yield)
		}
	}
}

type scanner[T any] struct {
	*Func[T]
	dir     string
	options scan.Options
	yielded map[string]bool // paths of the entries that were yielded before the first file with data
	decided bool            // whether the scan knows if the host has derived data
}

// scan yields the entries that were not yielded before. It returns false if the first matching file shows that the host has no derived data:
// getting the contents of all files in one operation is then faster than opening each file.
func (s *scanner[T]) scan(data string, yield func(Entry[T], error) bool) bool {
	o := s.options
	o.Data, o.Function = data, s.number
	if data == abi.ScanDataDerived {
		o.MaxFile = min(o.MaxFile, abi.MaxScanInput)
	}
	for found, err := range scan.Dir(s.dir, o) {
		if err != nil {
			yield(Entry[T]{}, err)
			return true
		}
		if s.yielded[found.Path] {
			continue
		}
		if !s.decided {
			if found.State == scan.Unavailable {
				s.decided = true
				return false
			}
			s.decided = found.Data != nil
			s.yielded[found.Path] = true
		}
		if !yield(s.entry(found, data), nil) {
			return true
		}
	}
	return true
}

// entry returns the entry found with a value. If the host derived no value, entry computes it.
func (s *scanner[T]) entry(found scan.Entry, data string) Entry[T] {
	content := found.Data
	found.Data = nil
	e := Entry[T]{Entry: found}
	switch {
	case content != nil && data == abi.ScanDataDerived:
		v, err := s.decode(content)
		if e.Value, e.Derived = v, err == nil; err != nil {
			s.read(&e)
		}
	case content != nil:
		e.Value, e.Derived = s.Compute(content), true
	case data == abi.ScanDataContent || !e.IsRegular() || e.State == scan.OK || e.State == scan.Dangling:
		// State is the reason why there is no value. For a file that does not match, no value is wanted.
	case e.Size > s.options.MaxFile:
		e.State = scan.TooLarge
	default:
		s.read(&e)
	}
	return e
}

// read sets the value, the size, the time and the state of an entry from its file. If the file changes while it is read, read tries once
// more, so that the value, the size and the time belong to the same version of the file.
func (s *scanner[T]) read(e *Entry[T]) {
	e.State = scan.Unreadable
	at := filepath.Join(s.dir, filepath.FromSlash(e.Path))
	for range 2 {
		before, err := os.Stat(at)
		if err != nil || !before.Mode().IsRegular() {
			return
		}
		content, err := filesystem.ReadFile(filesystem.OS{}, at, s.options.MaxFile)
		if errors.Is(err, filesystem.ErrTooLarge) {
			e.State = scan.TooLarge
			return
		}
		if err != nil {
			return
		}
		after, err := os.Stat(at)
		if err == nil && after.Size() == int64(len(content)) && after.Size() == before.Size() && after.ModTime().Equal(before.ModTime()) {
			e.State, e.Size, e.ModTime = scan.OK, after.Size(), after.ModTime()
			e.Value, e.Derived = s.Compute(content), true
			return
		}
	}
}
