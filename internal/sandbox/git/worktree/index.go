package worktree

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
)

const (
	maxIndex    = 128 << 20 // most bytes of the index, enough for over a million files
	indexHeader = 12        // number of bytes of the index's header
)

// Flags of an entry of the index.
const (
	flagValid    = 0x8000 // set by git update-index --assume-unchanged
	flagExtended = 0x4000
	flagStage    = 0x3000
	flagName     = 0x0fff
	flagSkip     = 0x4000 // flag of the second word, set by git update-index --skip-worktree
	flagIntent   = 0x2000 // flag of the second word, set by git add --intent-to-add
)

// extensionUndo is the name of the extension with the sides of resolved conflicts.
const extensionUndo = "REUC"

// indexEntry is the entry of a tracked file.
type indexEntry struct {
	name    string
	stat    fileStat
	mode    uint32 // mode of the file, with the values that a tree has
	hash    plumbing.Hash
	stage   int // 1 to 3 for an unmerged path, otherwise 0
	assumed bool
	skipped bool
	intent  bool
}

// fileStat is the stat data that git keeps to detect changes without reading a file. Its numbers are truncated to 32 bits. The nanoseconds
// are 0 if the program that wrote the index does not record them.
type fileStat struct {
	ctime, ctimeNs, mtime, mtimeNs, inode, size uint32

	dev, uid, gid uint32 // not compared, but written as git does
}

func statOf(st beneath.Stat) fileStat {
	const second = int64(time.Second)
	return fileStat{
		ctime: uint32(st.Ctime / second), ctimeNs: uint32(st.Ctime % second),
		mtime: uint32(st.Mtime / second), mtimeNs: uint32(st.Mtime % second),
		inode: uint32(st.Ino), size: uint32(st.Size),
		dev: uint32(st.Dev), uid: st.UID, gid: st.GID,
	}
}

// index is the content of .git/index.
type index struct {
	entries []indexEntry // entries sorted by name, and for equal names by stage
	written time.Time    // modification time of the index, which decides whether an entry is racily clean
	version uint32       // version of the format; 0 if there is no file
	undo    []byte       // content of the extension REUC, by which git recreates a resolved conflict; nil if there is none
}

// readIndex reads the index of a repository. If the file is absent, readIndex returns an empty index.
func readIndex(ctx context.Context, r *repo.Repository) (*index, error) {
	name := path.Join(r.GitDir, "index")
	info, err := r.Root.Stat(name)
	if repo.IsAbsent(err) {
		return &index{}, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := r.Root.Read(name, maxIndex)
	if err != nil {
		return nil, err
	}
	x, err := parseIndex(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Root.Abs(name), err)
	}
	x.written = info.ModTime()
	return x, nil
}

// parseIndex parses an index of version 2, 3 or 4 (https://git-scm.com/docs/index-format).
func parseIndex(ctx context.Context, data []byte) (*index, error) {
	if len(data) < indexHeader+objects.HashSize || !bytes.HasPrefix(data, []byte("DIRC")) {
		return nil, errors.New("damaged: the file is not an index")
	}
	sum := data[len(data)-objects.HashSize:]
	data = data[:len(data)-objects.HashSize]
	// If index.skipHash is set, git writes zeros instead of a checksum.
	if actual := sha1.Sum(data); !bytes.Equal(sum, actual[:]) && !bytes.Equal(sum, make([]byte, objects.HashSize)) {
		return nil, errors.New("damaged: its checksum is wrong")
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return nil, fmt.Errorf("the index has version %d: only versions 2 to 4 are supported", version)
	}
	if count > objects.MaxFiles {
		return nil, fmt.Errorf("the index has more than %d files", objects.MaxFiles)
	}
	p := indexParser{all: data, rest: data[indexHeader:], version: version}
	x := &index{entries: make([]indexEntry, 0, min(int(count), len(data)/60)), version: version}
	for i := range int(count) {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e, err := p.entry()
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		if i > 0 && !sortsBefore(&x.entries[i-1], &e) {
			return nil, fmt.Errorf("entry %d: damaged: the entries are not in order", i+1)
		}
		x.entries = append(x.entries, e)
	}
	return x, p.extensions(x)
}

func sortsBefore(a, b *indexEntry) bool {
	if a.name != b.name {
		return a.name < b.name
	}
	return a.stage < b.stage
}

type indexParser struct {
	all, rest []byte
	version   uint32
	name      string // name of the previous entry
}

var errSplitIndex = errors.New("a split index is not supported: run git update-index --no-split-index")

var errTruncated = errors.New("damaged: truncated")

func (p *indexParser) entry() (e indexEntry, err error) {
	const fixed = 40 + objects.HashSize + 2
	start := len(p.all) - len(p.rest)
	if len(p.rest) < fixed {
		return e, errTruncated
	}
	word := func(i int) uint32 { return binary.BigEndian.Uint32(p.rest[4*i:]) }
	e.stat = fileStat{ctime: word(0), ctimeNs: word(1), mtime: word(2), mtimeNs: word(3), dev: word(4), inode: word(5),
		uid: word(7), gid: word(8), size: word(9)}
	e.mode = word(6)
	copy(e.hash[:], p.rest[40:])
	flags := binary.BigEndian.Uint16(p.rest[40+objects.HashSize:])
	e.assumed, e.stage = flags&flagValid != 0, int(flags&flagStage>>12)
	p.rest = p.rest[fixed:]
	if flags&flagExtended != 0 {
		if p.version < 3 || len(p.rest) < 2 {
			return e, errTruncated
		}
		more := binary.BigEndian.Uint16(p.rest)
		e.skipped, e.intent = more&flagSkip != 0, more&flagIntent != 0
		p.rest = p.rest[2:]
	}
	if e.name, err = p.entryName(start, int(flags&flagName)); err != nil {
		return e, err
	}
	p.name = e.name
	return e, checkEntry(e.name, e.mode)
}

// entryName parses the name of an entry. Version 4 omits the prefix that a name shares with the previous name. Other versions pad names.
func (p *indexParser) entryName(start, length int) (string, error) {
	prefix := ""
	if p.version == 4 {
		cut, n := parseVarint(p.rest)
		if n == 0 || cut > uint64(len(p.name)) {
			return "", errors.New("damaged: a name is shorter than its prefix")
		}
		prefix, p.rest = p.name[:len(p.name)-int(cut)], p.rest[n:]
	}
	end := bytes.IndexByte(p.rest[:min(len(p.rest), objects.MaxPath+1)], 0)
	if end < 0 || len(prefix)+end > objects.MaxPath {
		return "", fmt.Errorf("a name is longer than %d bytes", objects.MaxPath)
	}
	name := prefix + string(p.rest[:end])
	if min(len(name), flagName) != length {
		return "", errors.New("damaged: a name does not match its length")
	}
	end++
	if p.version < 4 {
		size := len(p.all) - len(p.rest) + end - start
		end += (8 - size%8) % 8
	}
	if end > len(p.rest) {
		return "", errTruncated
	}
	p.rest = p.rest[end:]
	return name, nil
}

// parseVarint parses a number in the encoding of a pack's base offsets. size is its length in bytes; 0 if it is malformed.
func parseVarint(b []byte) (n uint64, size int) {
	for size < len(b) && size < 5 {
		c := b[size]
		if size > 0 {
			n++
		}
		n = n<<7 | uint64(c&0x7f)
		size++
		if c&0x80 == 0 {
			return n, size
		}
	}
	return 0, 0
}

// checkEntry refuses a path or mode that git does not write. Paths of entries are later opened in the working tree.
func checkEntry(name string, mode uint32) error {
	switch mode {
	case objects.ModeFile, objects.ModeExecutable, objects.ModeLink, objects.ModeSubmodule:
	case objects.ModeDir:
		return errors.New("a sparse index is not supported: run git sparse-checkout reapply --no-sparse-index")
	default:
		return fmt.Errorf("damaged: %q has the mode %o", hosterror.Truncate(name), mode)
	}
	if name == "" { // an entry that replaces one of the shared index
		return errSplitIndex
	}
	if err := objects.CheckPath(name); err != nil {
		return fmt.Errorf("damaged: %q is not a valid path", hosterror.Truncate(name))
	}
	return nil
}

// extensions refuses extensions that change the meaning of the entries. The names of such extensions begin with a lower-case letter.
func (p *indexParser) extensions(x *index) error {
	for len(p.rest) > 0 {
		if len(p.rest) < 8 {
			return errTruncated
		}
		name, size := string(p.rest[:4]), binary.BigEndian.Uint32(p.rest[4:])
		if uint64(size) > uint64(len(p.rest)-8) {
			return errTruncated
		}
		switch {
		case name == "link":
			return errSplitIndex
		case name[0] < 'A' || name[0] > 'Z':
			return fmt.Errorf("the index needs the extension %q, which is not supported", name)
		case name == extensionUndo:
			x.undo = bytes.Clone(p.rest[8 : 8+size])
		}
		p.rest = p.rest[8+size:]
	}
	return nil
}

// search returns the position of the first entry whose name is not less than name.
func (x *index) search(name string) int {
	return sort.Search(len(x.entries), func(i int) bool { return x.entries[i].name >= name })
}

// find returns the position of the first entry called name. The bool reports whether there is one.
func (x *index) find(name string) (int, bool) {
	i := x.search(name)
	return i, i < len(x.entries) && x.entries[i].name == name
}

// tracks reports whether name is a tracked file, or a directory that contains a tracked file.
func (x *index) tracks(name string) bool {
	_, ok := x.find(name)
	return ok || x.hasBelow(name+"/")
}

// hasBelow reports whether a directory contains a tracked file. The name dir ends in a slash.
func (x *index) hasBelow(dir string) bool {
	i := x.search(dir)
	return i < len(x.entries) && strings.HasPrefix(x.entries[i].name, dir)
}
