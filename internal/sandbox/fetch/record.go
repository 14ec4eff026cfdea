package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Canceled is the Code of a Record whose call ended before the response.
const Canceled = "canceled"

// maxTarget bounds a record's target, which is untrusted, in bytes.
const maxTarget = 300

// Record is the audit record of one request, the module's own or that of a redirect. It contains nothing of queries,
// headers and bodies, which may be secret.
type Record struct {
	Method   string
	Target   string // origin and path
	Code     string // code of the *abi.HostError, or Canceled; empty on success
	Status   int    // 0 without a response
	Sent     int64  // size of the request's body in bytes
	Received int64  // size of the response's body in bytes, after decompression
}

// target returns origin and path for logs.
func (h hop) target() string {
	target := h.origin.String() + h.url.EscapedPath()
	if len(target) > maxTarget {
		target = target[:maxTarget] + "…"
	}
	return strings.ToValidUTF8(target, "�")
}

// maxListed bounds the origins that a log line lists.
const maxListed = 8

// granted describes the granted origins for the log.
func (f *Fetcher) granted() string {
	var all []string
	for o := range f.grants {
		all = append(all, o.String())
	}
	slices.Sort(all)
	if f.publicWeb {
		all = append([]string{"public-web"}, all...)
	}
	if more := len(all) - maxListed; more > 0 {
		all = append(all[:maxListed], fmt.Sprintf("and %d more", more))
	}
	return cmp.Or(strings.Join(all, ", "), "no origin")
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
		f.log.Warn("http: denied", "method", r.Method, "target", r.Target, "error", host.Message, "granted", f.granted())
	}
	f.audit(ctx, r)
}
