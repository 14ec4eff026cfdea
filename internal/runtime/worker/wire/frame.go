// Package wire is the protocol between the host process and a worker process: frames over a byte stream.
//
// Both ends are the same executable, so no version is negotiated. A frame is a header of 9 bytes (the payload's
// length and the call's number, both 32 bits little-endian, and the type) and the payload. Each end bounds the payload
// of each type that it accepts at a time; a larger frame, or one of an unexpected type, is a protocol violation and ends
// the connection. messages.go has the payloads.
package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
)

// Type is the type of a frame.
type Type byte

// The frames that the host sends.
const (
	TypeSetup  Type = 1 + iota // Setup, once, before anything else
	TypeCall                   // a call.Request
	TypeCancel                 // cancels the call; no payload
	TypeReply                  // answers the TypeOperation of a call: a Reply
	TypeShort                  // whether memory is short: a byte, 0 or 1. The worker answers 1 with a TypeReturn
)

// The frames that a worker sends.
const (
	TypeReady     Type = 16 + iota // the worker is confined: a Ready
	TypeLoaded                     // the module is loaded; no payload
	TypeFailed                     // the module could not be loaded: a Failure; the worker then ends
	TypeResult                     // ends a call: a call.Result
	TypeOperation                  // an operation that the host process performs: an Operation
	TypeLog                        // a line of the log: a Log
	TypeRecord                     // an operation of the call, for the audit: an audit.Operation
	TypeWrote                      // the call is about to write something; no payload
	TypeReturn                     // returns credit: the bytes as 64 bits little-endian, which may be 0; it belongs to no call
	TypeDerived                    // records of derived data for later workers, or none; it belongs to no call
)

const headerSize = 9

// Frame is one message. Its payload belongs to the receiver.
type Frame struct {
	Type    Type
	Call    uint32 // number of the call that the frame belongs to; 0 if it belongs to no call
	Payload []byte
}

// ErrProtocol is wrapped by the errors of unexpected and malformed frames.
var ErrProtocol = errors.New("protocol violation")

// Violation is an error that wraps ErrProtocol.
func Violation(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

// Reader reads frames. It is not safe for concurrent use.
type Reader struct {
	in *bufio.Reader
	// limit returns the maximum payload of a type, in bytes. A negative limit means that the type is not accepted.
	limit func(Type) int
}

// readBuffer is the size of the read buffer, in bytes. Several small frames fit into it, so that one system call reads them.
const readBuffer = 16 << 10

// NewReader returns a Reader of in. limit is called for each frame.
func NewReader(in io.Reader, limit func(Type) int) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, readBuffer), limit: limit}
}

// Next reads a frame. It returns io.EOF if the stream ends between two frames.
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
	_, _ = r.in.Discard(headerSize) // the header was read by Peek
	switch limit := r.limit(f.Type); {
	case limit < 0:
		return Frame{}, Violation("a frame of type %d, which is not accepted now", f.Type)
	case int64(length) > int64(limit):
		return Frame{}, Violation("a frame of type %d has %d bytes; the limit is %d", f.Type, length, limit)
	}
	f.Payload, err = r.payload(int(length))
	return f, err
}

// firstRead bounds the memory that is allocated before the first bytes of a payload arrive.
const firstRead = 64 << 10

// payload reads length bytes. The buffer grows as data arrive, since length is untrusted.
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

// Buffered reports whether Next would return a frame without reading from the stream.
func (r *Reader) Buffered() bool {
	n := r.in.Buffered()
	if n < headerSize {
		return false
	}
	header, _ := r.in.Peek(headerSize) // buffered, so it cannot fail
	return int64(binary.LittleEndian.Uint32(header)) <= int64(n-headerSize)
}

// Writer writes frames. It is safe for concurrent use.
type Writer struct {
	mu      sync.Mutex
	out     io.Writer
	pending []byte // frames that are sent together with the next frame, at most three of the size joined; none after an error
	gathers bool   // whether a goroutine is about to send the pending frames
	err     error
}

// NewWriter writes to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// joined is the size in bytes up to which a payload is copied to the pending frames and sent with them in one system
// call. Larger payloads are written without a copy.
const joined = 32 << 10

// Write sends a frame whose payload is the concatenation of parts. After an error, all further calls return the same
// error.
func (w *Writer) Write(t Type, call uint32, parts ...[]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(t, call, parts)
}

// Delay sends a small frame together with the next frame that is written, or with the next Flush. It sends a large frame, or one
// that follows many delayed frames, at once.
func (w *Writer) Delay(t Type, call uint32, parts ...[]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || len(w.pending) > joined || size(parts) > joined {
		return w.write(t, call, parts)
	}
	w.add(t, call, parts)
	return nil
}

// Gather sends a frame as Write does, but first lets other goroutines run, and sends their frames in the same system call. If
// another goroutine is about to send the frame, Gather returns before the frame is written.
func (w *Writer) Gather(t Type, call uint32, parts ...[]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || len(w.pending) > joined || size(parts) > joined {
		return w.write(t, call, parts)
	}
	w.add(t, call, parts)
	if w.gathers {
		return nil
	}
	w.gathers = true
	w.mu.Unlock()
	runtime.Gosched()
	w.mu.Lock()
	w.gathers = false
	return w.flush()
}

// Flush sends the delayed frames.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush()
}

func (w *Writer) flush() error {
	if len(w.pending) > 0 {
		_, w.err = w.out.Write(w.pending)
		w.pending = w.pending[:0]
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
	w.pending = w.pending[:0]
	return w.err
}

func size(parts [][]byte) (bytes int) {
	for _, part := range parts {
		bytes += len(part)
	}
	return bytes
}

// add appends a frame's header to the pending bytes, and also its payload if the payload is small.
func (w *Writer) add(t Type, call uint32, parts [][]byte) (small bool) {
	size := size(parts)
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
