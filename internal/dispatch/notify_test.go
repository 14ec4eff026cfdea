package dispatch_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/wasmtest"
)

// lateReader is a client whose first read is delayed.
type lateReader struct {
	bytes.Buffer
	reads <-chan time.Time
}

func (r *lateReader) Write(p []byte) (int, error) {
	if r.reads != nil {
		<-r.reads
		r.reads = nil
	}
	return r.Buffer.Write(p)
}

// A notification that the client does not read must end with the call's time limit. Otherwise the host would kill the worker
// process, with all calls of the plugin, two seconds later.
func TestUnreadNotificationEndsWithTimeLimit(t *testing.T) {
	t.Parallel()
	const limits = "[offers]\nlogging = true\n[limits]\ntime = '200ms'\n"
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Operating(`{"op":"notify","params":{"method":"notifications/message","params":{"level":"error","data":1}}}`, hosttest.Done), limits+hosttest.Reads("a_reads")))
	out := &lateReader{reads: time.After(3 * time.Second)}
	if err := w.Open(t, w.Options()).Serve(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_reads"}}`+"\n"), out); err != nil {
		t.Error(err)
	}
	if got := out.String(); !strings.Contains(got, `"data":1`) || !strings.Contains(got, `{"code":"timeout","plugin":"a"}`) {
		t.Errorf("got %s, want the notification and a failure with the code timeout", got)
	}
}
