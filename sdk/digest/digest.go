// Package digest computes SHA-256 for data of any size. In a module, crypto/sha256 takes some thirty times as long as natively. The host
// therefore hashes data of more than a kilobyte on behalf of this package. Natively, and on a host without that operation, the package uses
// crypto/sha256. Start with [Sum256], or with [New] for data that is not in memory at once.
//
//	sum := digest.New()
//	if _, err := io.Copy(sum, file); err != nil {
//		return err
//	}
//	text := hex.EncodeToString(sum.Sum(nil))
//
// Use the package for the content of files. For names, keys and other short strings, crypto/sha256 is as fast.
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
	_, _ = d.Write(data) // Write does not fail
	return [sha256.Size]byte(d.Sum(nil))
}

// Hex returns the SHA-256 of data in hexadecimal digits.
func Hex(data []byte) string {
	sum := Sum256(data)
	return hex.EncodeToString(sum[:])
}

// New returns a hash.Hash that computes SHA-256. It buffers at most 256 KiB. It implements io.ReaderFrom, so that io.Copy reads directly
// into that buffer.
func New() hash.Hash {
	if !isHosted() {
		return sha256.New()
	}
	return newDigest()
}

// Sizes of the data of a request, in bytes. Hashing less than minHosted bytes in the module takes less time than an operation. Larger
// requests have less overhead for each byte, but make each digest take more memory.
const (
	minHosted = 1 << 10
	maxHosted = 256 << 10
)

// unavailable is set after the host has answered that it does not support the operation.
var unavailable atomic.Bool

func isHosted() bool { return isModule && !unavailable.Load() }

// A request consists of a header and the bytes to hash. The header is the operation in JSON, with the state in base64.
const (
	before    = `{"op":"` + abi.OpHashSHA256 + `","params":{"state":"`
	after     = "\"}}\x00"
	stateSize = 108
)

var headerSize = len(before) + base64.StdEncoding.EncodedLen(stateSize) + len(after)

// state is the hash that crypto/sha256 returns, with the methods that encode and decode its state.
type state interface {
	hash.Hash
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// digest is a hash.Hash. It collects the written bytes in the buffer of the next request to the host, behind the space for the header of
// that request.
type digest struct {
	state   state  // SHA-256 state of all bytes except the bytes collected in request
	request []byte // space for the header, which the method host writes, followed by the collected bytes
	sum     []byte // the sum that belongs to state, if the host has returned it, which saves an operation
}

func newDigest() *digest { return &digest{state: sha256.New().(state)} }

// reserve returns the unused part of the buffer request. If that part has fewer than n bytes, reserve first enlarges the buffer, up to the
// maximum size of a request.
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

// add counts the first n bytes of the part that reserve returned as collected bytes. If the request is full then, add flushes it.
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

// host asks the host to add the collected bytes to the state. It returns false if the host has not done so.
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
		if code == abi.HostUnavailable {
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

// hostCall performs an operation. Tests replace it.
var hostCall = imports.HostCall
