package fetch

import (
	"context"
	"errors"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Canceled is the Code of a Record whose call ended before the answer was there.
const Canceled = "canceled"

// maxTarget bounds a record's target, which is a module's or a server's own words, in bytes.
const maxTarget = 300

// Record is what is kept of one request, be it the module's own or one that a redirect led to. It holds
// nothing of queries, headers and bodies.
type Record struct {
	Method   string
	Target   string // origin and path
	Code     string // that of the *abi.HostError, or Canceled; empty where there is an answer
	Status   int    // 0 where there is no answer
	Sent     int64  // bytes of the body; 0 where nothing was sent
	Received int64  // bytes of the body, unpacked
}

// target is where a hop goes, in words for a log.
func (h hop) target() string {
	target := h.origin.String() + h.url.EscapedPath()
	if len(target) > maxTarget {
		target = target[:maxTarget] + "…"
	}
	return strings.ToValidUTF8(target, "�")
}

func (f *Fetcher) record(ctx context.Context, r Record, err error) {
	var host *abi.HostError
	switch {
	case errors.As(err, &host):
		r.Code = host.Code
	case errors.Is(err, context.DeadlineExceeded):
		r.Code = abi.HostFailed
	case err != nil:
		r.Code = Canceled
	}
	if r.Code == abi.HostDenied {
		f.log.Warn("http: denied", "method", r.Method, "target", r.Target, "error", host.Message)
	}
	f.audit(ctx, r)
}
