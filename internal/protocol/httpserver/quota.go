package httpserver

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/quota"
)

// charge counts a message for the quota of its principal; nil: a GET. It returns the writer of the answer, whose bytes count too; nil if it
// answered that the quota is exceeded.
func (s *Server) charge(w http.ResponseWriter, r *http.Request, by access, m *gateway.Message) http.ResponseWriter {
	limited, ok := by.view.Backend().(*quota.Backend)
	if !ok {
		return w
	}
	account, limits, err := limited.Account(by.Principal)
	if err == nil && account == nil {
		return w
	}
	var id []byte
	switch now := time.Now(); {
	case err != nil:
	case m == nil:
		err = account.Request(limits, 1, 0, now)
	case m.IsResponse(), m.ID() == nil && !m.IsBatch():
		err = account.Message(limits, m.Size(), now)
	default:
		id = m.ID()
		err = account.Request(limits, m.Count(), m.Size(), now)
	}
	if exceeded := (*quota.Exceeded)(nil); errors.As(err, &exceeded) {
		s.report(r, RefusedQuota, "its principal has exceeded a quota", by.Principal, "quota", exceeded.Key)
		w.Header().Set("Retry-After", strconv.FormatInt(exceeded.RetryAfter(), 10))
		writeJSON(w, http.StatusTooManyRequests, gateway.Response{ID: id, Err: limited.Refuse(exceeded)})
		return nil
	}
	return &counting{w, account}
}

// counting counts the bytes of an answer.
type counting struct {
	http.ResponseWriter
	account *quota.Account
}

// Write implements io.Writer.
func (c *counting) Write(data []byte) (int, error) {
	n, err := c.ResponseWriter.Write(data)
	c.account.Wrote(int64(n), time.Now())
	return n, err
}

// Unwrap returns the writer that a http.ResponseController controls.
func (c *counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }
