package git

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

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/beneath"
)

const (
	maxDircache = 128 << 20 // bytes of the index: over a million files
	maxTracked  = 1_000_000 // files in it
)

// Flags of an entry of the index.
const (
	flagValid    = 0x8000 // the user says that the file is as it was: git update-index --assume-unchanged
	flagExtended = 0x4000
	flagStage    = 0x3000
	flagName     = 0x0fff
	flagSkip     = 0x4000 // of the second word: not in the working tree on purpose
	flagIntent   = 0x2000 // of the second word: git add --intent-to-add
)

// tracked is one file of the index.
type tracked struct {
	name    string
	stat    fileStat
	mode    uint32 // as in a tree
	hash    plumbing.Hash
	stage   int // 0; 1 to 3 in a merge that is not settled
	assumed bool
	skipped bool
	intent  bool
}

// fileStat is what git remembers of a file, to see without reading it that it is unchanged. Numbers are
// cut to 32 bits; nanoseconds are 0 where a program does not write them.
type fileStat struct {
	ctime, ctimeNs, mtime, mtimeNs, inode, size uint32
}

// statOf gives what git remembers of a file.
func statOf(st beneath.Stat) fileStat {
	const second = int64(time.Second)
	return fileStat{
		ctime: uint32(st.Ctime / second), ctimeNs: uint32(st.Ctime % second),
		mtime: uint32(st.Mtime / second), mtimeNs: uint32(st.Mtime % second),
		inode: uint32(st.Ino), size: uint32(st.Size),
	}
}

// dircache is the index: what git calls so, not that of a pack.
type dircache struct {
	entries []tracked // by name, then by stage
	written time.Time // the file's time: what changed later may have an older time stamp's look
}

// readIndex reads the index; there is none in a new repository.
func (r *repository) readIndex(ctx context.Context) (*dircache, error) {
	name := path.Join(r.gitDir, "index")
	info, err := r.root.stat(name)
	if absent(err) {
		return &dircache{}, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := r.root.read(name, maxDircache)
	if err != nil {
		return nil, err
	}
	d, err := parseIndex(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.root.abs(name), err)
	}
	d.written = info.ModTime()
	return d, nil
}

// parseIndex reads versions 2 to 4 (https://git-scm.com/docs/index-format).
func parseIndex(ctx context.Context, data []byte) (*dircache, error) {
	const header = 12
	if len(data) < header+hashSize || !bytes.HasPrefix(data, []byte("DIRC")) {
		return nil, errors.New("damaged: not an index")
	}
	sum := data[len(data)-hashSize:]
	data = data[:len(data)-hashSize]
	// With index.skipHash git writes zeros.
	if actual := sha1.Sum(data); !bytes.Equal(sum, actual[:]) && !bytes.Equal(sum, make([]byte, hashSize)) {
		return nil, errors.New("damaged: its checksum is wrong")
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return nil, fmt.Errorf("version %d; only 2 to 4 are supported", version)
	}
	if count > maxTracked {
		return nil, fmt.Errorf("over %d files", maxTracked)
	}
	p := indexParser{all: data, rest: data[header:], version: version}
	d := &dircache{entries: make([]tracked, 0, min(int(count), len(data)/60))}
	for i := range int(count) {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e, err := p.entry()
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		if i > 0 && !before(&d.entries[i-1], &e) {
			return nil, fmt.Errorf("entry %d: damaged: out of order", i+1)
		}
		d.entries = append(d.entries, e)
	}
	return d, p.extensions()
}

func before(a, b *tracked) bool {
	if a.name != b.name {
		return a.name < b.name
	}
	return a.stage < b.stage
}

type indexParser struct {
	all, rest []byte
	version   uint32
	name      string // of the entry before
}

var errIndexShort = errors.New("damaged: cut short")

func (p *indexParser) entry() (e tracked, err error) {
	const fixed = 40 + hashSize + 2
	start := len(p.all) - len(p.rest)
	if len(p.rest) < fixed {
		return e, errIndexShort
	}
	word := func(i int) uint32 { return binary.BigEndian.Uint32(p.rest[4*i:]) }
	e.stat = fileStat{word(0), word(1), word(2), word(3), word(5), word(9)}
	e.mode = word(6)
	copy(e.hash[:], p.rest[40:])
	flags := binary.BigEndian.Uint16(p.rest[40+hashSize:])
	e.assumed, e.stage = flags&flagValid != 0, int(flags&flagStage>>12)
	p.rest = p.rest[fixed:]
	if flags&flagExtended != 0 {
		if p.version < 3 || len(p.rest) < 2 {
			return e, errIndexShort
		}
		more := binary.BigEndian.Uint16(p.rest)
		e.skipped, e.intent = more&flagSkip != 0, more&flagIntent != 0
		p.rest = p.rest[2:]
	}
	if e.name, err = p.entryName(start, int(flags&flagName)); err != nil {
		return e, err
	}
	p.name = e.name
	return e, checkTracked(e.name, e.mode)
}

// entryName reads a name. Version 4 leaves out what the name before begins with; the others pad.
func (p *indexParser) entryName(start, length int) (string, error) {
	prefix := ""
	if p.version == 4 {
		cut, n := offsetInt(p.rest)
		if n == 0 || cut > uint64(len(p.name)) {
			return "", errors.New("damaged: a name shorter than nothing")
		}
		prefix, p.rest = p.name[:len(p.name)-int(cut)], p.rest[n:]
	}
	end := bytes.IndexByte(p.rest[:min(len(p.rest), maxPath+1)], 0)
	if end < 0 || len(prefix)+end > maxPath {
		return "", fmt.Errorf("a name that does not end within %d bytes", maxPath)
	}
	name := prefix + string(p.rest[:end])
	if min(len(name), flagName) != length {
		return "", errors.New("damaged: a name of another length")
	}
	end++
	if p.version < 4 {
		size := len(p.all) - len(p.rest) + end - start
		end += (8 - size%8) % 8
	}
	if end > len(p.rest) {
		return "", errIndexShort
	}
	p.rest = p.rest[end:]
	return name, nil
}

// offsetInt reads a number as packs write the offset of a base; 0 bytes if it does not end.
func offsetInt(b []byte) (n uint64, size int) {
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

// checkTracked refuses what git would not have put into an index.
func checkTracked(name string, mode uint32) error {
	switch mode {
	case modeFile, modeExecutable, modeLink, modeSubmodule:
	case modeDir:
		return errors.New("a sparse index; git sparse-checkout reapply --no-sparse-index changes that")
	default:
		return fmt.Errorf("damaged: %q has the mode %o", shorten(name), mode)
	}
	if err := checkPath(name); err != nil {
		return fmt.Errorf("damaged: %q is no path of a file", shorten(name))
	}
	return nil
}

// extensions refuses an index that means something else than its entries say.
func (p *indexParser) extensions() error {
	for len(p.rest) > 0 {
		if len(p.rest) < 8 {
			return errIndexShort
		}
		name, size := string(p.rest[:4]), binary.BigEndian.Uint32(p.rest[4:])
		if uint64(size) > uint64(len(p.rest)-8) {
			return errIndexShort
		}
		switch {
		case name == "link":
			return errors.New("a split index; git update-index --no-split-index changes that")
		case name[0] < 'A' || name[0] > 'Z':
			return fmt.Errorf("needs the extension %q, which is not supported", name)
		}
		p.rest = p.rest[8+size:]
	}
	return nil
}

// at gives the place of the first entry whose name is not before a name.
func (d *dircache) at(name string) int {
	return sort.Search(len(d.entries), func(i int) bool { return d.entries[i].name >= name })
}

// find gives the place of a name's first entry.
func (d *dircache) find(name string) (int, bool) {
	i := d.at(name)
	return i, i < len(d.entries) && d.entries[i].name == name
}

// holds reports whether a name is that of a tracked file, or of a folder that has one.
func (d *dircache) holds(name string) bool {
	_, ok := d.find(name)
	return ok || d.hasBelow(name+"/")
}

// hasBelow reports whether there is a tracked file in a folder, which ends in a slash.
func (d *dircache) hasBelow(folder string) bool {
	i := d.at(folder)
	return i < len(d.entries) && strings.HasPrefix(d.entries[i].name, folder)
}
