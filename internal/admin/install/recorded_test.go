package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit/forward"
)

func TestFileIsWrittenWhileCopyCannotBeOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := &config.Audit{File: filepath.Join(dir, "audit.jsonl"), Also: []string{config.AuditSyslog}, OnFailure: config.FailOpen}
	log, err := openAudit(a, forward.Sockets{Syslog: filepath.Join(dir, "absent")})
	if err == nil || !strings.Contains(err.Error(), "syslog cannot be reached") {
		t.Errorf("the error is %v", err)
	}
	if err := log.Write(audit.Record{Kind: audit.KindTokens, Method: "revoke"}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if file, err := os.ReadFile(a.File); err != nil || strings.Count(string(file), `"method":"revoke"`) != 1 {
		t.Errorf("the file has %q, %v", file, err)
	}
}
