package git

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// A panic of a library quotes what it read. The module gets none of it, and the log a bounded part.
func TestPanicOfLibraryIsLoggedInPart(t *testing.T) {
	const secret = "content of a repository"
	var log bytes.Buffer
	ops := New(Config{Log: hclog.New(&hclog.LoggerOptions{Output: &log})})
	_, err := perform(t.Context(), ops, "/r", func() (int, error) { panic(strings.Repeat(secret+"\n", 1<<10)) })
	failure, ok := errors.AsType[*abi.HostError](err)
	if !ok || failure.Code != abi.HostFailed || !strings.HasPrefix(failure.Message, "git: /r: the repository is damaged") || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v", err)
	}
	if text, _, _ := strings.Cut(log.String(), "stack="); len(text) > 2<<10 || !strings.Contains(text, secret) || !strings.Contains(text, "repo=/r") {
		t.Errorf("logged %d bytes: %.300s", len(text), text)
	}
}
