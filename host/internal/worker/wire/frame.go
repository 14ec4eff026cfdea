// Package wire is the protocol between the host process and a worker process: frames over a byte stream.
//
// Both ends are the same executable, so there is no version to negotiate. A frame is a header of 9 bytes (the
// payload's length and the call's number, both 32 bits little-endian, and the type) and the payload. Each end
// states the largest payload that it takes of a type at that moment, and treats anything beyond, and any type
// that it does not expect, as the end of the connection. messages.go has the payloads.
package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Type tells frames apart.
type Type byte

// The frames that the host sends.
const (
	TypeSetup  Type = 1 + iota // Setup, once, before anything else
	TypeCall                   // a Call
	TypeCancel                 // the call's answer is no longer wanted; no payload
	TypeReply                  // answers the call's TypeAsk: a Reply
)

// The frames that a worker sends.
const (
	TypeReady  Type = 16 + iota // confined: a Ready
	TypeLoaded                  // the module can be called; no payload
	TypeFailed                  // it cannot be: a Failure; the worker ends
	TypeResult                  // ends a call: a Result
	TypeAsk                     // an operation that the host process performs: an Ask
	TypeLog                     // a line of the log: a Log
	TypeRecord                  // an operation of the call, for the audit: a Record
	TypeWrote                   // the call is about to change something; no payload
)

const headerSize = 9

// Frame is one message. Its payload belongs to the receiver.
type Frame struct {
	Type    Type
	Call    uint32 // the number of the call that it belongs to; 0: none
	Payload []byte
}

// ErrProtocol is wrapped by the error of a frame that must not come.
var ErrProtocol = errors.New("protocol violation")

// Violation is an error that wraps ErrProtocol.
func Violation(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

// Reader reads frames. It is for one goroutine at a time.
type Reader struct {
	in *bufio.Reader
	// limit is the largest payload of a type, in bytes; negative: no frame of that type may come.
	limit func(Type) int
}

// readBuffer holds several small frames, so that one system call reads them.
const readBuffer = 16 << 10

// NewReader reads from in. limit is asked for each frame.
func NewReader(in io.Reader, limit func(Type) int) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, readBuffer), limit: limit}
}

// Next reads a frame. io.EOF is the end of the stream between two frames.
func (r *Reader) Next() (Frame, error) {
	header, err := r.in.Peek(headerSize)
	if err != nil {
		if err == io.EOF && len(header) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	length := binary.LittleEndian.Uint32(header)
	f := Frame{Call: binary.LittleEndian.Uint32(header[4:]), Type: Type(header[8])}
	_, _ = r.in.Discard(headerSize) // it was peeked
	switch limit := r.limit(f.Type); {
	case limit < 0:
		return Frame{}, Violation("a frame of type %d", f.Type)
	case int64(length) > int64(limit):
		return Frame{}, Violation("a frame of type %d with %d bytes, of at most %d", f.Type, length, limit)
	}
	f.Payload, err = r.payload(int(length))
	return f, err
}

// firstRead bounds the memory that is given for bytes which have not come yet.
const firstRead = 64 << 10

// payload reads length bytes. Memory grows with what arrives: the length is only the sender's claim.
func (r *Reader) payload(length int) ([]byte, error) {
	data := make([]byte, min(length, firstRead))
	for read := 0; ; {
		n, err := io.ReadFull(r.in, data[read:])
		if read += n; err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if read == length {
			return data, nil
		}
		larger := make([]byte, min(length, 4*len(data)))
		copy(larger, data)
		data = larger
	}
}

// Buffered reports whether bytes have come that Next has not returned yet.
func (r *Reader) Buffered() bool { return r.in.Buffered() > 0 }

// Writer writes frames. It is safe for concurrent use.
type Writer struct {
	mu      sync.Mutex
	out     io.Writer
	pending []byte // frames that leave with the next one
	err     error
}

// NewWriter writes to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// joined is up to how many bytes parts are copied into one buffer, and leave in one system call with what is
// pending; larger ones are written as they lie.
const joined = 32 << 10

// Write sends a frame whose payload is the parts, one after the other. Once it has failed it keeps failing.
func (w *Writer) Write(t Type, call uint32, parts ...[]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(t, call, parts)
}

// Delay sends a small frame together with the next one that is written.
func (w *Writer) Delay(t Type, call uint32, parts ...[]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) > joined {
		return w.write(t, call, parts)
	}
	if !w.add(t, call, parts) {
		return Violation("a frame of type %d is too large to be delayed", t)
	}
	return w.err
}

func (w *Writer) write(t Type, call uint32, parts [][]byte) error {
	if w.err != nil {
		return w.err
	}
	if w.add(t, call, parts) {
		_, w.err = w.out.Write(w.pending)
	} else {
		buffers := append(net.Buffers{w.pending}, parts...)
		_, w.err = buffers.WriteTo(w.out)
	}
	if w.pending = w.pending[:0]; cap(w.pending) > 4*joined {
		w.pending = nil
	}
	return w.err
}

// add appends a frame's header to what is pending, and its payload if that is small.
func (w *Writer) add(t Type, call uint32, parts [][]byte) (small bool) {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	w.pending = binary.LittleEndian.AppendUint32(w.pending, uint32(size))
	w.pending = binary.LittleEndian.AppendUint32(w.pending, call)
	w.pending = append(w.pending, byte(t))
	if size > joined {
		return false
	}
	for _, part := range parts {
		w.pending = append(w.pending, part...)
	}
	return true
}
