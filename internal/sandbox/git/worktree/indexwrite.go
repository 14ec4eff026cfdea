package worktree

import (
	"crypto/sha1"
	"encoding/binary"
	"slices"
)

// encode returns the content of the index's file. Version 3 becomes 2 and the reverse, as in
// git: version 3 is written only if an entry needs its flags.
//
// Of the extensions only the sides of resolved conflicts are written. Git computes the others again when it needs them: they are caches of
// trees (TREE), of untracked files (UNTR) and of a file monitor (FSMN), and offsets in the file (EOIE, IEOT).
func (x *index) encode() []byte {
	version := x.version
	if version < 4 {
		version = 2
		if slices.ContainsFunc(x.entries, func(e indexEntry) bool { return e.isExtended() }) {
			version = 3
		}
	}
	out := make([]byte, 0, indexHeader+96*len(x.entries)+len(x.undo)+64)
	out = append(out, "DIRC"...)
	out = binary.BigEndian.AppendUint32(out, version)
	out = binary.BigEndian.AppendUint32(out, uint32(len(x.entries)))
	previous := ""
	for i := range x.entries {
		e := &x.entries[i]
		start := len(out)
		out = e.appendFixed(out)
		if version == 4 {
			common := commonPrefix(previous, e.name)
			out = appendVarint(out, uint64(len(previous)-common))
			out = append(append(out, e.name[common:]...), 0)
			previous = e.name
			continue
		}
		out = append(out, e.name...)
		out = append(out, make([]byte, 8-(len(out)-start)%8)...)
	}
	if x.undo != nil {
		out = append(out, extensionUndo...)
		out = binary.BigEndian.AppendUint32(out, uint32(len(x.undo)))
		out = append(out, x.undo...)
	}
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

// isExtended reports whether the entry has flags that version 2 of the format cannot store.
func (e *indexEntry) isExtended() bool { return e.skipped || e.intent }

// appendFixed appends the part of an entry before its name.
func (e *indexEntry) appendFixed(out []byte) []byte {
	s := &e.stat
	for _, word := range [...]uint32{s.ctime, s.ctimeNs, s.mtime, s.mtimeNs, s.dev, s.inode, e.mode, s.uid, s.gid, s.size} {
		out = binary.BigEndian.AppendUint32(out, word)
	}
	out = append(out, e.hash[:]...)
	flags := uint16(min(len(e.name), flagName)) | uint16(e.stage)<<12
	if e.assumed {
		flags |= flagValid
	}
	if !e.isExtended() {
		return binary.BigEndian.AppendUint16(out, flags)
	}
	out = binary.BigEndian.AppendUint16(out, flags|flagExtended)
	var more uint16
	if e.skipped {
		more |= flagSkip
	}
	if e.intent {
		more |= flagIntent
	}
	return binary.BigEndian.AppendUint16(out, more)
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// appendVarint appends a number in the encoding that parseVarint parses.
func appendVarint(out []byte, n uint64) []byte {
	var reversed [10]byte
	at := len(reversed) - 1
	reversed[at] = byte(n & 0x7f)
	for n >>= 7; n > 0; n >>= 7 {
		n--
		at--
		reversed[at] = 0x80 | byte(n&0x7f)
	}
	return append(out, reversed[at:]...)
}
