package dispatch_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// lateReader is a client that reads the plugin's notification only after the audit log contains the record of the call.
type lateReader struct {
	bytes.Buffer
	audit string
}

func (r *lateReader) Write(p []byte) (int, error) {
	for i := 0; bytes.Contains(p, []byte(`"data":1`)) && i < 6000; i++ { // polls for at most a minute
		if log, err := os.ReadFile(r.audit); err == nil && bytes.Contains(log, []byte(`"kind":"call"`)) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return r.Buffer.Write(p)
}

// If a client does not read a notification, the call must end at its time limit. Otherwise the host would kill the worker process, with
// all calls of the plugin, two seconds later.
func TestUnreadNotificationEndsWithTimeLimit(t *testing.T) {
	t.Parallel()
	const limits = "[offers]\nlogging = true\n[limits]\ntime = '1s'\n"
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Operating(`{"op":"notify","params":{"method":"notifications/message","params":{"level":"error","data":1}}}`, hosttest.Done), limits+hosttest.Reads("a_reads")))
	out := &lateReader{audit: w.Dir + "/audit.jsonl"}
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[audit]\nfile = '" + out.audit + "'\n[[plugins]]\npath = '../plugins/a'\n"})
	if err := w.Open(t, w.Options()).Serve(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_reads"}}`+"\n"), out); err != nil {
		t.Error(err)
	}
	if got := out.String(); !strings.Contains(got, `"data":1`) || !strings.Contains(got, `{"code":"timeout","plugin":"a"}`) {
		t.Errorf("got %s, want the notification and a failure with the code timeout", got)
	}
}
