package gateway

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
)

// Bounds of a batch. Its answer is one line, and is kept until the last of its calls has ended.
const (
	maxBatch       = 256      // messages
	maxBatchAnswer = 16 << 20 // bytes of responses; one that does not fit is left out
	maxLeftOut     = 4 << 10  // bytes of a response that is never left out
)

// isBatch tells a batch of messages from any other array.
func isBatch(line []byte) bool {
	if rawjson.Kind(line) != '[' {
		return false
	}
	for _, first := range rawjson.Elements(line) {
		return rawjson.Kind(first) == '{'
	}
	return true // empty
}

// batch serves an array of messages, as JSON-RPC has it and MCP had it until 2025-03-26.
func (s *session) batch(ctx context.Context, line []byte) {
	var messages [][]byte
	for _, value := range rawjson.Elements(line) {
		messages = append(messages, value)
	}
	switch {
	case s.version > mcp.ProtocolVersion20250326:
		putError(s.out, nil, invalidRequest("protocol version "+s.version+" has no batches"))
	case len(messages) == 0:
		putError(s.out, nil, invalidRequest("an empty batch"))
	case len(messages) > maxBatch:
		putError(s.out, nil, invalidRequest(fmt.Sprintf("a batch of more than %d messages", maxBatch)))
	default:
		to := &batch{out: s.out, missing: len(messages)}
		for _, value := range messages {
			if rawjson.Kind(value) != '{' {
				putError(to, nil, invalidRequest("a message is a JSON object"))
				continue
			}
			value = bytes.Clone(value) // else a small call would keep the whole line
			s.message(ctx, value, len(value), to)
		}
	}
}

// batch keeps the responses of a batch until each of its messages has one or will have none.
type batch struct {
	out *writer

	mu        sync.Mutex
	missing   int
	responses [][]byte // in parts, with commas between
	size      int      // bytes of responses
}

func (b *batch) respond(id []byte, member ...[]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	parts, size := response(id, member), 0
	for _, part := range parts {
		size += len(part)
	}
	if b.size+size > maxBatchAnswer && size > maxLeftOut {
		putError(leftOut{b}, id, invalidRequest(fmt.Sprintf("it was carried out, and its answer is left out: the answers of a batch are at most %d bytes together; send it on its own", maxBatchAnswer)))
	} else {
		b.add(parts, size)
	}
	b.settle()
}

func (b *batch) add(parts [][]byte, size int) {
	if b.responses != nil {
		b.responses = append(b.responses, []byte(`,`))
	}
	b.responses, b.size = append(b.responses, parts...), b.size+size
}

// leftOut adds what stands for a response that is left out.
type leftOut struct{ *batch }

func (l leftOut) respond(id []byte, member ...[]byte) { l.add(response(id, member), 0) }

func (b *batch) none() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
}

// settle counts one message as dealt with, and answers after the last, if there is anything to say.
func (b *batch) settle() {
	if b.missing--; b.missing == 0 && b.responses != nil {
		b.out.put(slices.Concat([][]byte{[]byte(`[`)}, b.responses, [][]byte{[]byte(`]`)})...)
		b.responses = nil
	}
}

var _ answers = (*batch)(nil)
