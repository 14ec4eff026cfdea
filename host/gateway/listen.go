package gateway

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// stream is an open subscriptions/listen request. Nothing that is offered changes while it is served,
// so a stream is acknowledged with nothing established and stays silent until it ends.
type stream struct {
	id []byte
}

// listen opens a stream. Its request is answered when the client's stream ends, and not at all when
// the client cancels it.
func (s *session) listen(m message) {
	switch {
	case rawjson.Kind(rawjson.Member(m.params, "notifications")) != '{':
		putError(s.out, m.id, invalidParams("notifications must be an object"))
	case s.streamIndex(m.id) >= 0:
		putError(s.out, m.id, invalidRequest("a stream with this id is still open"))
	case len(s.streams) >= s.g.config.MaxInFlight:
		putError(s.out, m.id, &abi.Error{Code: abi.CodeInternal, Message: fmt.Sprintf("too many open streams (%d)", len(s.streams))})
	default:
		s.streams = append(s.streams, stream{id: m.id})
		s.out.put(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"%s","params":{"notifications":{},"_meta":{"%s":%s}}}`,
			mcp.MethodNotificationSubscriptionsAcknowledged, mcp.MetaKeySubscriptionID, m.id))
	}
}

func (s *session) streamIndex(id []byte) int {
	return slices.IndexFunc(s.streams, func(open stream) bool { return bytes.Equal(open.id, id) })
}

func (s *session) cancelStream(id []byte) {
	if i := s.streamIndex(id); i >= 0 {
		s.streams = slices.Delete(s.streams, i, i+1)
	}
}

// closeStreams answers the open streams; no more messages follow.
func (s *session) closeStreams() {
	for _, open := range s.streams {
		putResult(s.out, open.id, fmt.Appendf(nil, `{%s,"_meta":{"%s":%s,%s}}`,
			resultComplete, mcp.MetaKeySubscriptionID, open.id, s.g.info))
	}
	s.streams = nil
}
