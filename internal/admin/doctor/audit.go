package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit/forward"
)

func (e *examination) audit() {
	if e.parsed == nil || e.parsed.Audit == nil {
		return
	}
	log := e.bound.NarrowAudit(e.parsed.Audit)
	file := log.File
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = writable(filepath.Dir(file))
		file = filepath.Dir(file)
	case err != nil:
		err = fmt.Errorf("cannot be accessed: %w", usage.Cause(err))
	case !info.Mode().IsRegular():
		err = errors.New("is not a regular file")
	default:
		if err = platform.CheckWrite(file); err != nil {
			err = fmt.Errorf("cannot be written: %w", err)
		}
	}
	if err != nil {
		e.fail("audit", fmt.Sprintf("%s %v", file, err), fmt.Sprintf("make it writable for the user, or change audit.file in %s", e.parsed.File))
		return
	}
	if err := forward.Check(log, forward.SystemSockets); err != nil {
		e.fail("audit", err.Error(), "start the service, or remove it from also in [audit]")
		return
	}
	also := ""
	if len(log.Also) > 0 {
		also = ", also " + strings.Join(log.Also, ", ")
	}
	metrics := ""
	switch asked := e.parsed.Audit.Metrics; {
	case asked != log.Metrics:
		metrics = fmt.Sprintf("; no metrics: %s:%d forbids them", e.bound.File, e.bound.AuditLine)
	case asked != config.Metrics{}:
		metrics = "; metrics at " + asked.String()
	}
	spans := ""
	switch asked := e.parsed.Audit.Traces; {
	case asked != log.Traces:
		spans = fmt.Sprintf("; no traces: %s:%d forbids them", e.bound.File, e.bound.AuditLine)
	case asked != config.Traces{}:
		spans = "; traces to " + asked.String()
	}
	if file := log.Traces.HeadersFile; file != "" {
		if _, err := discovery.CollectorHeaders(file); err != nil {
			e.fail("audit", err.Error(), "correct the file: calls are not affected, but no traces are sent")
			return
		}
	}
	live := ""
	switch asked := e.parsed.Audit.Live; {
	case asked != log.Live:
		live = fmt.Sprintf("; no live state: %s:%d forbids it", e.bound.File, e.bound.AuditLine)
	case asked:
		live = "; servers offer their live state"
	}
	e.ok("audit", "%s%s; on_failure = %q%s%s%s", log.File, also, log.OnFailure, metrics, spans, live)
}
