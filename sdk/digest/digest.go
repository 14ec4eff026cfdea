// Package digest computes SHA-256 for data of any size. In a module crypto/sha256 takes some thirty times as long as
// natively, so the host hashes data of more than a kilobyte for this package. Natively, and on a host without the
// operation, the package uses crypto/sha256. Start with [Sum256], or with [New] for data that is not in memory at once.
//
//	sum := digest.New()
//	if _, err := io.Copy(sum, file); err != nil {
//		return err
//	}
//	text := hex.EncodeToString(sum.Sum(nil))
//
// Use it for the content of files. For names, keys and other short strings crypto/sha256 is as fast.
//
// Stability: exported names stay within a major version.
package digest

import (
	"crypto/sha256"
	"encoding"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"sync/atomic"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/imports"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Sum256 returns the SHA-256 of data.
func Sum256(data []byte) [sha256.Size]byte {
	if len(data) < minHosted || !isHosted() {
		return sha256.Sum256(data)
	}
	d := newDigest()
	d.reserve(len(data))
	_, _ = d.Write(data) // never fails
	return [sha256.Size]byte(d.Sum(nil))
}

// New returns a hash.Hash for SHA-256. It buffers at most 256 KiB. It implements io.ReaderFrom, so that io.Copy reads
// into that buffer.
func New() hash.Hash {
	if !isHosted() {
		return sha256.New()
	}
	return newDigest()
}

// Sizes of a request's data in bytes. Hashing fewer than minHosted bytes takes less time than an operation. Larger
// requests have less overhead for each byte, but each digest takes more memory.
const (
	minHosted = 1 << 10
	maxHosted = 256 << 10
)

// unavailable is set when the host has answered that it does not support the operation. A host that does not support
// data bytes after the JSON of a request answers that the request is invalid.
var unavailable atomic.Bool

func isHosted() bool { return isModule && !unavailable.Load() }

// A request consists of a header, the operation in JSON with the state in base64, and the bytes to hash.
const (
	before    = `{"op":"` + abi.OpHashSHA256 + `","params":{"state":"`
	after     = "\"}}\x00"
	stateSize = 108
)

var headerSize = len(before) + base64.StdEncoding.EncodedLen(stateSize) + len(after)

// state is what crypto/sha256 returns.
type state interface {
	hash.Hash
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// digest is a hash.Hash. It collects the written bytes directly in the buffer of the next request to the host, after
// the room for the request's header.
type digest struct {
	state   state  // SHA-256 state of all bytes except the collected bytes
	request []byte // room for the header, which the method host writes, and the collected bytes
	sum     []byte // the sum for state, if the host has returned it; saves an operation
}

func newDigest() *digest { return &digest{state: sha256.New().(state)} }

// reserve returns the unused part of the request's buffer. If that part has fewer than n bytes, reserve first enlarges
// the buffer, up to the maximum size of a request.
func (d *digest) reserve(n int) []byte {
	if d.request == nil {
		d.request = make([]byte, headerSize, headerSize+min(max(n, 512), maxHosted))
	}
	used := len(d.request)
	if room := min(n, headerSize+maxHosted-used); room > cap(d.request)-used {
		grown := make([]byte, used, min(headerSize+maxHosted, max(used+room, 4*cap(d.request))))
		copy(grown, d.request)
		d.request = grown
	}
	return d.request[used:min(cap(d.request), headerSize+maxHosted)]
}

// Write implements io.Writer. It returns no error.
func (d *digest) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := copy(d.reserve(len(rest)), rest)
		d.add(n)
		rest = rest[n:]
	}
	return len(p), nil
}

// add adds the first n bytes of the part that reserve returned to the collected bytes, and flushes a full request.
func (d *digest) add(n int) {
	if d.request = d.request[:len(d.request)+n]; len(d.request) == headerSize+maxHosted {
		d.flush()
	}
}

// minRead is the number of bytes that ReadFrom reserves for a read.
const minRead = 4 << 10

// ReadFrom implements io.ReaderFrom.
func (d *digest) ReadFrom(from io.Reader) (int64, error) {
	total := int64(0)
	for {
		n, err := from.Read(d.reserve(minRead))
		d.add(n)
		total += int64(n)
		switch {
		case errors.Is(err, io.EOF):
			return total, nil
		case err != nil:
			return total, err
		}
	}
}

// Sum implements hash.Hash.
func (d *digest) Sum(b []byte) []byte {
	d.flush()
	if d.sum != nil {
		return append(b, d.sum...)
	}
	return d.state.Sum(b)
}

// Reset implements hash.Hash.
func (d *digest) Reset() {
	d.state.Reset()
	d.sum = nil
	d.request = d.request[:min(len(d.request), headerSize)]
}

// Size implements hash.Hash.
func (d *digest) Size() int { return d.state.Size() }

// BlockSize implements hash.Hash.
func (d *digest) BlockSize() int { return d.state.BlockSize() }

// flush adds the collected bytes to the state.
func (d *digest) flush() {
	if len(d.request) <= headerSize {
		return
	}
	if data := d.request[headerSize:]; len(data) < minHosted || !d.host() {
		d.state.Write(data)
		d.sum = nil
	}
	d.request = d.request[:headerSize]
}

// host lets the host add the collected bytes to the state. It returns false if the host has not done so.
func (d *digest) host() bool {
	if unavailable.Load() {
		return false
	}
	marshaled, err := d.state.AppendBinary(make([]byte, 0, stateSize))
	if err != nil || len(marshaled) != stateSize {
		return false
	}
	header := append(d.request[:0], before...)
	header = base64.StdEncoding.AppendEncode(header, marshaled)
	_ = append(header, after...)
	answer := hostCall(d.request)
	result := rawjson.Member(answer, "result")
	if result == nil {
		code, _ := rawjson.Unquote(rawjson.Member(rawjson.Member(answer, "error"), "code"))
		if code == abi.HostUnavailable || code == abi.HostInvalid {
			unavailable.Store(true)
		}
		return false
	}
	text, _ := rawjson.Unquote(rawjson.Member(result, "state"))
	next, err := base64.StdEncoding.AppendDecode(marshaled[:0], []byte(text))
	if err != nil || d.state.UnmarshalBinary(next) != nil {
		return false
	}
	text, _ = rawjson.Unquote(rawjson.Member(result, "sum"))
	if d.sum, err = hex.DecodeString(text); err != nil || len(d.sum) != sha256.Size {
		d.sum = nil
	}
	return true
}

// hostCall is replaced in tests.
var hostCall = imports.HostCall
