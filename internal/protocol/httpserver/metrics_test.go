package httpserver

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
)

// counts is what a Server counts. It offers no page.
type counts struct {
	http.Handler
	mu       sync.Mutex
	statuses map[int]int
	sessions []string
}

func (*counts) Offered() bool                { return false }
func (*counts) MayRead(*call.Principal) bool { return false }
func (c *counts) Counter() Counter           { return c }

func (c *counts) Answered(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.statuses == nil {
		c.statuses = map[int]int{}
	}
	c.statuses[status]++
}

func (c *counts) SessionEnded(version string, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions = append(c.sessions, fmt.Sprint(version, " ", took))
}

// TestAnswersAreCountedByStatus has requests that are refused before they reach a plugin, and others, and a stream that ends without an event.
func TestAnswersAreCountedByStatus(t *testing.T) {
	c := &counts{}
	run(t, Config{Metrics: c, MaxBody: 1000}, func(t *testing.T, f *fixture) {
		body, headers := modernCall("echo", `{}`)
		f.post(body, headers...).want(t, http.StatusOK, "")
		f.post(body, append(headers, "Content-Type", "text/plain")...).want(t, http.StatusUnsupportedMediaType, "")
		f.post(body, append(headers, "Accept", "text/html")...).want(t, http.StatusNotAcceptable, "")
		f.post("{", headers...).want(t, http.StatusBadRequest, "")
		f.post(strings.Repeat(" ", 2000), headers...).want(t, http.StatusRequestEntityTooLarge, "")
		f.post(body, append(headers, "Host", "evil.example")...).want(t, http.StatusForbidden, "")
		f.do(http.MethodPut, Path, "").want(t, http.StatusMethodNotAllowed, "")
		f.do(http.MethodGet, "/other", "").want(t, http.StatusNotFound, "")
		f.do(http.MethodGet, "/healthz", "").want(t, http.StatusOK, "")
		id := f.open("2025-11-25") // whose answer is 200, and that of its notification 202
		f.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", id).want(t, http.StatusAccepted, "")
		silent := f.stream(http.MethodGet, "", headerSession, f.open("2025-06-18"))
		_ = silent.body.Close()
		synctest.Wait()
	})
	if got, want := fmt.Sprint(c.statuses), "map[200:5 202:1 400:1 403:1 404:1 405:1 406:1 413:1 415:1]"; got != want {
		t.Errorf("counted %s, want %s", got, want)
	}
}

// TestDurationsOfSessionsAreCounted has a session that its client ends twice, one that expires, and one that does not begin.
func TestDurationsOfSessionsAreCounted(t *testing.T) {
	c := &counts{}
	run(t, Config{Metrics: c, SessionIdle: time.Hour}, func(t *testing.T, f *fixture) {
		f.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}`)
		f.open("2025-03-26")
		id := f.open("2025-11-25")
		time.Sleep(90 * time.Second)
		for range 2 {
			f.do(http.MethodDelete, Path, "", "Mcp-Session-Id", id)
		}
		time.Sleep(2 * time.Hour)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sessions) != 2 || c.sessions[0] != "2025-11-25 1m30s" || !strings.HasPrefix(c.sessions[1], "2025-03-26 1h") {
		t.Errorf("counted %q", c.sessions)
	}
}
