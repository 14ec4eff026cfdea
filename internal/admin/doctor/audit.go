package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
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
	if file := log.Traces.HeadersFile; file != "" {
		if _, err := discovery.CollectorHeaders(file); err != nil {
			e.fail("audit", err.Error(), "correct the file: calls are not affected, but no traces are sent")
			return
		}
	}
	telemetry, allowed := "", log.Telemetry()
	for _, t := range e.parsed.Audit.Telemetry() {
		if slices.Contains(allowed, t) {
			telemetry += "; " + t.Text
		} else {
			telemetry += fmt.Sprintf("; no %s: %s:%d forbids it", t.Kind, e.bound.File, e.bound.AuditLine)
		}
	}
	e.ok("audit", "%s%s; on_failure = %q%s", log.File, also, log.OnFailure, telemetry)
}
