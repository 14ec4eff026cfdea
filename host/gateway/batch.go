package gateway

import (
	"context"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
)

// maxBatch bounds the messages of a batch, and with them the size of its answer.
const maxBatch = 256

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
			s.message(ctx, value, to)
		}
	}
}

// batch keeps the responses of a batch until each of its messages has one or will have none.
type batch struct {
	out *writer

	mu        sync.Mutex
	missing   int
	responses []byte // with commas between
}

func (b *batch) put(response ...[]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.responses != nil {
		b.responses = append(b.responses, ',')
	}
	for _, part := range response {
		b.responses = append(b.responses, part...)
	}
	b.settle()
}

func (b *batch) none() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
}

// settle counts one message as dealt with, and answers after the last, if there is anything to say.
func (b *batch) settle() {
	if b.missing--; b.missing == 0 && b.responses != nil {
		b.out.put([]byte(`[`), b.responses, []byte(`]`))
	}
}

var _ answers = (*batch)(nil)
