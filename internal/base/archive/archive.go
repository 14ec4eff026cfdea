// Package archive writes and reads a plain tar whose bytes depend only on the names and contents of its files, so that two archives of
// the same files are the same bytes on every system. Start with Encode and Parse.
//
// The format is ustar with regular files only, sorted by name, mode 0644, without owners and times, and two zero blocks at the end. Parse
// accepts exactly what Encode writes: links, devices, sparse files, extension headers, padding and compression are all refused.
package archive

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
)

// Bounds of an archive. MaxSize includes the headers.
const (
	MaxFiles = 128
	MaxFile  = 64 << 20 // bytes
	MaxSize  = 96 << 20 // bytes
	maxName  = 100      // bytes; ustar has no room for more without a prefix
)

// File is a file of an archive. Name is relative and separated by slashes.
type File struct {
	Name string
	Data []byte
}

// Encode returns the archive of files, in whatever order they are.
func Encode(files []File) ([]byte, error) {
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	var names names
	size := end
	for _, f := range files {
		if err := names.add(f.Name); err != nil {
			return nil, err
		}
		if len(f.Data) > MaxFile {
			return nil, fmt.Errorf("%s has %d bytes; a file of an archive has at most %d", f.Name, len(f.Data), MaxFile)
		}
		size += block + padded(len(f.Data))
	}
	if size > MaxSize {
		return nil, fmt.Errorf("the archive would have %d bytes; at most %d are possible", size, MaxSize)
	}
	out := make([]byte, 0, size)
	for _, f := range files {
		h := header(f.Name, len(f.Data))
		out = append(append(out, h[:]...), f.Data...)
		out = append(out, make([]byte, padded(len(f.Data))-len(f.Data))...)
	}
	return append(out, make([]byte, end)...), nil
}

// Read reads an archive from r, of which it reads at most one byte more than MaxSize.
func Read(r io.Reader) ([]File, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, err
	}
	return Parse(data)
}

// Parse returns the files of an archive, sorted by name. Their contents are parts of data.
func Parse(data []byte) ([]File, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("it has more than the %d bytes that an archive may have", MaxSize)
	}
	var files []File
	var names names
	for rest := data; ; {
		if len(rest) < end {
			return nil, fmt.Errorf("it is truncated: it ends after %d bytes, without the two zero blocks of a tar", len(data))
		}
		h := [block]byte(rest)
		if h == [block]byte{} {
			if len(rest) != end || !isZero(rest) {
				return nil, fmt.Errorf("%d bytes follow its end", len(rest)-block)
			}
			return files, nil
		}
		name, size, err := parseHeader(h)
		if err != nil {
			return nil, fmt.Errorf("the header at byte %d: %w", len(data)-len(rest), err)
		}
		if err := names.add(name); err != nil {
			return nil, err
		}
		if rest = rest[block:]; len(rest) < padded(size) {
			return nil, fmt.Errorf("it is truncated: %s has %d bytes, of which %d are there", name, size, min(size, len(rest)))
		}
		if !isZero(rest[size:padded(size)]) {
			return nil, fmt.Errorf("the padding of %s is not zero", name)
		}
		files = append(files, File{name, rest[:size:size]})
		rest = rest[padded(size):]
	}
}

func isZero(data []byte) bool { return len(bytes.TrimLeft(data, "\x00")) == 0 }
