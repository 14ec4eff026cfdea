package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// keptBuffer bounds the buffer kept between messages, in bytes.
const keptBuffer = 1 << 20

// answers is where responses go: straight to the client, or into the batch that asked for them.
type answers interface {
	respond(id []byte, member ...[]byte) // with one member, "result" or "error", in parts
	none()                               // there will be no response
}

// writer sends messages, each as one line in one Write. It may be used by several goroutines.
type writer struct {
	closed atomic.Bool
	broken func(error) // told of the first error

	mu     sync.Mutex
	out    io.Writer
	buffer []byte
}

// put sends one message, given in parts. Once the writer is closed or out has failed it does nothing.
func (w *writer) put(message ...[]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed.Load() {
		return
	}
	size := 1
	for _, part := range message {
		size += len(part)
	}
	line := slices.Grow(w.buffer[:0], size)
	for _, part := range message {
		line = append(line, part...)
	}
	line = append(line, '\n')
	if cap(line) <= keptBuffer {
		w.buffer = line
	}
	if _, err := w.out.Write(line); err != nil && !w.closed.Swap(true) {
		w.broken(fmt.Errorf("write to the client: %w", err))
	}
}

func (w *writer) respond(id []byte, member ...[]byte) { w.put(response(id, member)...) }

func (w *writer) none() {}

// close makes the writer do nothing from now on. It does not wait for a Write that is going on.
func (w *writer) close() { w.closed.Store(true) }

// response is the parts of a response.
func response(id []byte, member [][]byte) [][]byte {
	return slices.Concat([][]byte{[]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,`)}, member, [][]byte{[]byte(`}`)})
}

func putResult(to answers, id, result []byte) {
	to.respond(id, []byte(`"result":`), result)
}

// putError answers with an error; a nil id stands for one that could not be read. Data that is not JSON
// is left out: it would make the whole message unreadable.
func putError(to answers, id []byte, err *abi.Error) {
	if id == nil {
		id = []byte("null")
	}
	parts := [][]byte{[]byte(`"error":{"code":`), strconv.AppendInt(nil, int64(err.Code), 10), []byte(`,"message":`), rawjson.Quote(err.Message)}
	if json.Valid(err.Data) {
		parts = append(parts, []byte(`,"data":`), oneLine(bytes.ToValidUTF8(err.Data, []byte("\uFFFD"))))
	}
	to.respond(id, append(parts, []byte(`}`))...)
}

var _ answers = (*writer)(nil)

// oneLine is value without line breaks, which valid JSON has only between its tokens.
func oneLine(value []byte) []byte {
	if bytes.IndexByte(value, '\n') < 0 && bytes.IndexByte(value, '\r') < 0 {
		return value
	}
	line := bytes.Clone(value)
	for i, c := range line {
		if c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	return line
}
