package httpserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

// TestKeptMessagesDoNotKeepOthersWaiting checks that clients that read get their messages while what is kept for lost clients
// takes all the memory that it may take.
func TestKeptMessagesDoNotKeepOthersWaiting(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		f.s.messages.used.Store(maxKeptTotal)
		e := f.stream(http.MethodPost, legacyCall(1, "progress"), "Mcp-Session-Id", f.open("2025-06-18"))
		e.want("2-1", `"progress":1`)
		e.want("2-2", `"progress":2`)
		e.want("2-3", `"progress":3`)
		e.want("2-4", `"result"`)
		synctest.Wait()
		if kept := f.s.messages.used.Load() - maxKeptTotal; kept < 0 || kept > 300 {
			t.Errorf("%d bytes are kept", kept)
		}
	})
}

// TestEndedSessionKeepsNoStream checks that a stream that begins while its session ends is not kept, because nothing would drop it.
func TestEndedSessionKeepsNoStream(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		id := f.open("2025-11-25")
		session := f.s.sessions.find(id, access{Access: &local, view: f.g.View})
		st := session.newStream(&f.s.messages)
		reader := st.attach(0)
		st.Put([]byte("event"))
		f.do(http.MethodDelete, Path, "", "Mcp-Session-Id", id).want(t, http.StatusNoContent, "")
		session.keep(st)
		st.detach(reader)
		if used := f.s.messages.used.Load(); used != 0 {
			t.Errorf("%d bytes are kept", used)
		}
	})
}

// TestEndOfStreamWaitsForItsMessages checks that a stream that ends because the server shuts down does not end before the messages
// that were put into it.
func TestEndOfStreamWaitsForItsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{})
		st := newStream(0, &s.messages)
		stopping := make(chan struct{})
		close(stopping)
		w := httptest.NewRecorder()
		(&answer{
			w: w, r: httptest.NewRequest(http.MethodPost, Path, nil), stream: st, reader: st.attach(0), modern: true,
			stopping: stopping, stop: func() {
				for range 3 {
					st.Put([]byte(strings.Repeat("x", maxUnread)))
				}
				st.Skip()
			},
		}).writeEvents()
		if got := strings.Count(w.Body.String(), "data: "); got != 3 {
			t.Errorf("%d messages were written", got)
		}
	})
}
