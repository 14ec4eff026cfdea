package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const (
	// callCost is the charge for a system call on a file, in bytes. It equals the charge for a WASI function, 1,000
	// units of fuel.
	callCost = 16 << 10
	// readCalls is the number of system calls that reading a file takes beyond describing it.
	readCalls = 4
	// copyPiece is the number of bytes that are copied or digested at a time, with an opportunity for preemption in between: the Go
	// runtime cannot preempt copying and digesting.
	copyPiece = 256 << 10
	// firstAnswer is the initial size of an answer, in bytes.
	firstAnswer = 16 << 10
)

// scanAnswer builds the binary answer to a scan, into which files are read directly.
type scanAnswer struct {
	box     *Box
	ctx     context.Context
	query   abi.Scan
	out     []byte
	entries uint32
	more    bool
	omits   bool   // entries are left out because of their names
	err     error  // error that ends the operation
	scratch []byte // content from which data is derived
}

func newScanAnswer(b *Box, ctx context.Context, q abi.Scan) *scanAnswer {
	return &scanAnswer{box: b, ctx: ctx, query: q, out: make([]byte, abi.ScanHeader, firstAnswer)}
}

func (a *scanAnswer) finish() binaryAnswer {
	a.out[0] = abi.ScanVersion
	if a.more {
		a.out[1] |= abi.ScanMore
	}
	if a.omits {
		a.out[1] |= abi.ScanOmits
	}
	binary.LittleEndian.PutUint32(a.out[4:], a.entries)
	return a.out
}

func (a *scanAnswer) spend(bytes int) {
	if a.box.config.Spend != nil {
		a.box.config.Spend(a.ctx, bytes)
	}
}

// matches reports whether a pattern matches the name.
func (a *scanAnswer) matches(patterns []string, name string) bool {
	for _, p := range patterns {
		a.spend(len(p) * len(name))
		if ok, _ := path.Match(p, name); ok { // checkScan has checked the pattern
			return true
		}
	}
	return false
}

// add appends an entry. It returns false if the scan is to end: the answer is full, or a.err is set.
func (a *scanAnswer) add(e *vfs.Scanned) bool {
	a.spend(callCost)
	begin := len(a.out)
	if !a.reserve(abi.ScanEntry + len(e.Dir) + len(e.Name)) {
		return false
	}
	a.out = a.out[:begin+abi.ScanEntry]
	a.out = append(append(a.out, e.Dir...), e.Name...)
	name := len(a.out)
	state, present := byte(abi.ScanOK), false
	switch {
	case e.Unreadable:
		state = abi.ScanUnreadable
	case a.query.Follow && e.Kind&fs.ModeSymlink != 0:
		state = abi.ScanDangling
	case e.IsRegular() && a.matches(a.query.Match, e.Name):
		state = a.appendData(e)
		if a.more || a.err != nil {
			a.out = a.out[:begin]
			return false
		}
		present = state == abi.ScanOK
	}
	length := uint32(abi.ScanNone)
	if present {
		length = uint32(len(a.out) - name)
	}
	header := a.out[begin:]
	binary.LittleEndian.PutUint32(header, length)
	binary.LittleEndian.PutUint16(header[4:], uint16(len(e.Dir)+len(e.Name)))
	header[6], header[7] = kindOf(e), state
	binary.LittleEndian.PutUint64(header[8:], uint64(e.Stat.Size))
	binary.LittleEndian.PutUint64(header[16:], uint64(e.Stat.Mtime))
	a.entries++
	return true
}

func kindOf(e *vfs.Scanned) (kind byte) {
	switch {
	case e.Kind.IsDir():
		kind = abi.ScanDirectory
	case e.Kind.IsRegular():
		kind = abi.ScanRegular
	case e.Kind&fs.ModeSymlink != 0:
		kind = abi.ScanLink
	}
	if e.Linked {
		kind |= abi.ScanLinked
	}
	return kind
}

// appendData appends the data of a file and returns the state of its entry. If the file changes during the read it retries once,
// so that data and stat data belong together. It sets a.more if the data does not fit.
func (a *scanAnswer) appendData(e *vfs.Scanned) byte {
	a.spend(readCalls * callCost)
	for try := 0; ; try++ {
		if e.Stat.Size > a.query.MaxFile {
			return abi.ScanTooLarge
		}
		err := a.tryData(e)
		switch {
		case err == nil || a.err != nil:
			return abi.ScanOK
		case errors.Is(err, ErrDerive):
			return abi.ScanFailed
		case try > 0 || !vfs.IsChanged(err):
			return abi.ScanUnreadable
		}
		e.Refresh() // what is no regular file any more cannot be read
	}
}

func (a *scanAnswer) tryData(e *vfs.Scanned) (err error) {
	size := int(e.Stat.Size)
	if a.query.Data == abi.ScanDataContent {
		if !a.reserve(size + 1) {
			return nil
		}
		a.out, err = e.Append(a.out)
		a.spend(size)
		return err
	}
	data, err := a.derive(e)
	if err != nil || !a.reserve(len(data)) {
		return err
	}
	a.out = append(a.out, data...)
	return nil
}

// derive returns the derived data of a file. It sets a.err if an error is to end the operation.
func (a *scanAnswer) derive(e *vfs.Scanned) ([]byte, error) {
	var failed error
	read := func() (content []byte, err error) {
		a.scratch, err = e.Append(a.scratch[:0])
		a.spend(len(a.scratch))
		failed = err
		return a.scratch, err
	}
	kind := Derivation{Function: a.query.Function, SHA256: a.query.Data == abi.ScanDataSHA256}
	if a.box.config.Derive == nil {
		content, err := read()
		if err != nil {
			return nil, err
		}
		return Digest(content), nil
	}
	data, err := a.box.config.Derive(a.ctx, kind, DerivedFile{Stat: e.Stat, Open: e.Open, Read: read})
	switch {
	case err == nil && len(data) > abi.MaxScanDerived:
		return nil, ErrDerive
	case err == nil:
		return data, nil
	case failed != nil:
		return nil, failed
	case !errors.Is(err, ErrDerive):
		a.err = err
	}
	return nil, err
}

// Digest returns the SHA-256 of content.
func Digest(content []byte) []byte {
	h := sha256.New()
	for piece := range slices.Chunk(content, copyPiece) {
		h.Write(piece)
	}
	return h.Sum(nil)
}

// reserve makes room for n more bytes. It sets a.more and returns false if they do not fit, unless the answer has no entry
// yet.
func (a *scanAnswer) reserve(n int) bool {
	need := len(a.out) + n
	if a.entries > 0 && int64(need) > a.query.Max {
		a.more = true
		return false
	}
	if need <= cap(a.out) {
		return true
	}
	grown := make([]byte, len(a.out), max(need, min(2*cap(a.out), int(a.query.Max))))
	for from := 0; from < len(a.out); from += copyPiece {
		copy(grown[from:], a.out[from:min(len(a.out), from+copyPiece)])
	}
	a.out = grown
	return true
}
