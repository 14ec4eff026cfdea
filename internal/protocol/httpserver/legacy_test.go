package httpserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

func TestSessionsOfAllLegacyVersions(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		run(t, Config{}, func(t *testing.T, f *fixture) {
			id := f.open(version)
			if strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) || id == f.open(version) {
				t.Errorf("session id %q", id)
			}
			session := []string{"Mcp-Session-Id", id, "MCP-Protocol-Version", version}
			f.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, session...).want(t, http.StatusAccepted, "")
			f.post(legacyCall(2, "echo"), session...).want(t, http.StatusOK, `{"jsonrpc":"2.0","id":2,"result":{"content":`)
			f.post(`{"jsonrpc":"2.0","id":3,"method":"nothing"}`, session...).want(t, http.StatusOK, `-32601`)
			f.post(`{"jsonrpc":"2.0","id":9,"result":{}}`, session...).want(t, http.StatusAccepted, "")
			f.do(http.MethodDelete, Path, "", session...).want(t, http.StatusNoContent, "")
			f.post(legacyCall(4, "echo"), session...).want(t, http.StatusNotFound, `"id":4,"error"`)
		})
	}
}

func TestRequestsOutsideOfSessionsAreRefused(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		id := f.open("2025-11-25")
		f.post(legacyCall(1, "echo")).want(t, http.StatusBadRequest, `"id":1,"error":{"code":-32600`)
		f.post(legacyCall(1, "echo"), "Mcp-Session-Id", "guessed").want(t, http.StatusNotFound, `-32600`)
		f.post(legacyCall(1, "echo"), "Mcp-Session-Id", id+"\x00"+id).want(t, http.StatusBadRequest, `-32600`)
		f.post(legacyCall(1, "echo"), "Mcp-Session-Id", id, "MCP-Protocol-Version", "1999-01-01").want(t, http.StatusBadRequest, `-32022`)
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			f.do(method, Path, "").want(t, http.StatusBadRequest, "Mcp-Session-Id")
			f.do(method, Path, "", "Mcp-Session-Id", "guessed").want(t, http.StatusNotFound, "")
			f.do(method, Path, "", "Mcp-Session-Id", id, "MCP-Protocol-Version", "2026-07-28").want(t, http.StatusMethodNotAllowed, "subscriptions/listen")
		}
		f.do(http.MethodGet, Path, "", "Mcp-Session-Id", id, "Accept", "application/json").want(t, http.StatusNotAcceptable, "text/event-stream")
		f.do(http.MethodGet, Path, "", "Mcp-Session-Id", id, "Last-Event-ID", "7-1").want(t, http.StatusBadRequest, "Last-Event-ID")
		f.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}`).want(t, http.StatusOK, `"error"`)
		if n := len(f.s.sessions.byID); n != 1 {
			t.Errorf("%d sessions are open, want 1", n)
		}
	})
}

// TestSessionOfOtherPrincipalIsUnknown checks that a session is found by the principal that opened it only.
func TestSessionOfOtherPrincipalIsUnknown(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		id := f.open("2025-11-25")
		if f.s.sessions.find(id, access{Access: &bearer.Access{Principal: gateway.TokenHolder}, view: f.g.View}) != nil {
			t.Error("another principal finds the session")
		}
		other, err := f.g.NewView(gateway.Config{Name: "other", Version: "1"}, f.b, "other")
		if err != nil {
			t.Fatal(err)
		}
		if f.s.sessions.find(id, access{Access: &local, view: other}) != nil {
			t.Error("the session is found in another view")
		}
		s := f.s.sessions.find(id, access{Access: &local, view: f.g.View})
		if s == nil {
			t.Fatal("the session is not found")
		}
		s.leave()
	})
}

func TestIdleSessionsExpire(t *testing.T) {
	run(t, Config{SessionIdle: time.Minute}, func(t *testing.T, f *fixture) {
		idle, used, held := f.open("2025-11-25"), f.open("2025-11-25"), f.open("2025-11-25")
		go f.post(legacyCall(1, "hold"), "Mcp-Session-Id", held)
		<-f.b.started
		time.Sleep(50 * time.Second)
		f.post(legacyCall(1, "echo"), "Mcp-Session-Id", used).want(t, http.StatusOK, "result")
		time.Sleep(50 * time.Second)
		f.post(legacyCall(2, "echo"), "Mcp-Session-Id", idle).want(t, http.StatusNotFound, "initialize")
		f.post(legacyCall(2, "echo"), "Mcp-Session-Id", used).want(t, http.StatusOK, "result")
		f.post(legacyCall(2, "echo"), "Mcp-Session-Id", held).want(t, http.StatusOK, "result")
		f.b.release <- struct{}{}
		synctest.Wait()
	})
}

// TestClientThatOnlyOpensSessionsEndsNoOthers checks that sessions that were not used make room first.
func TestClientThatOnlyOpensSessionsEndsNoOthers(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		used := f.open("2025-11-25")
		f.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", used).want(t, http.StatusAccepted, "")
		for range 2 * maxSessions {
			f.open("2025-11-25")
			time.Sleep(time.Millisecond)
		}
		f.post(legacyCall(1, "echo"), "Mcp-Session-Id", used).want(t, http.StatusOK, "result")
	})
}

// TestSessionsOfOthersMakeNoRoom checks that a principal that opens sessions, and uses each, ends its own and not those of another principal.
func TestSessionsOfOthersMakeNoRoom(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		by := access{Access: &bearer.Access{Principal: gateway.TokenHolder}, view: f.g.View}
		other := f.s.sessions.open(by)
		if !f.s.sessions.add(other, "2025-11-25", by) {
			t.Fatal("the session of the other principal was not opened")
		}
		other.leave()
		time.Sleep(time.Minute)
		for range maxSessions + 10 {
			f.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", f.open("2025-11-25")).want(t, http.StatusAccepted, "")
		}
		if f.s.sessions.find(other.id, by) == nil {
			t.Error("the session of the other principal has ended")
		}
		if n := len(f.s.sessions.byID); n != maxSessions {
			t.Errorf("%d sessions are open", n)
		}
	})
}

func TestIdleSessionsMakeRoom(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		first := f.open("2025-11-25")
		time.Sleep(time.Second)
		for range maxSessions {
			f.open("2025-11-25")
		}
		if n := len(f.s.sessions.byID); n != maxSessions {
			t.Errorf("%d sessions are open", n)
		}
		f.post(legacyCall(2, "echo"), "Mcp-Session-Id", first).want(t, http.StatusNotFound, "")
	})
}

func TestLegacyStreamsArePrimedAndHaveEventIDs(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		e := f.stream(http.MethodPost, legacyCall(1, "progress"), "Mcp-Session-Id", f.open("2025-11-25"))
		e.want("2-0", "")
		e.want("2-1", `"progressToken":1,"progress":1`)
		e.want("2-2", `"progress":2`)
		e.want("2-3", `"progress":3`)
		e.want("2-4", `"result"`)
		e = f.stream(http.MethodPost, legacyCall(1, "progress"), "Mcp-Session-Id", f.open("2025-06-18"))
		e.want("2-1", `"progress":1`) // older clients cannot parse an empty message
	})
}

// TestLostStreamsAreResumed checks that a lost connection does not cancel a call, and that its messages are delivered once,
// after the last one that the client has seen.
func TestLostStreamsAreResumed(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		id := f.open("2025-11-25")
		e := f.stream(http.MethodPost, legacyCall(1, "progress_hold"), "Mcp-Session-Id", id)
		e.want("2-0", "")
		e.want("2-1", `"progress":1`)
		<-f.b.started
		e.body.Close()
		synctest.Wait()
		f.b.release <- struct{}{}
		<-f.b.answered
		other := f.open("2025-11-25")
		f.do(http.MethodGet, Path, "", "Mcp-Session-Id", other, "Last-Event-ID", "2-1").want(t, http.StatusBadRequest, "")
		e = f.stream(http.MethodGet, "", "Mcp-Session-Id", id, "Last-Event-ID", "2-1")
		e.want("2-1", "")
		e.want("2-2", `"progress":2`)
		e.want("2-3", `"progress":3`)
		e.want("2-4", `"id":1,"result"`)
		e.want("", "")
		e = f.stream(http.MethodGet, "", "Mcp-Session-Id", id, "Last-Event-ID", "2-4")
		e.want("2-4", "")
		e.want("", "")
		time.Sleep(3 * resumableTime)
		f.do(http.MethodGet, Path, "", "Mcp-Session-Id", id, "Last-Event-ID", "2-1").want(t, http.StatusBadRequest, "resumed")
		if used := f.s.messages.used.Load(); used != 0 {
			t.Errorf("%d bytes are still counted", used)
		}
	})
}

func TestOwnStreamOfSession(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		id := f.open("2025-11-25")
		f.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"note://1"}}`, "Mcp-Session-Id", id).want(t, http.StatusOK, "{}")
		f.post(legacyCall(2, "update"), "Mcp-Session-Id", id).want(t, http.StatusOK, "result")
		first := f.stream(http.MethodGet, "", "Mcp-Session-Id", id)
		first.want("0-0", "")
		first.want("0-1", `"notifications/resources/updated"`) // from before the GET
		second := f.stream(http.MethodGet, "", "Mcp-Session-Id", id)
		second.want("0-1", "")
		first.want("", "retry: 500") // another connection reads
		first.want("", "")
		f.post(legacyCall(3, "update"), "Mcp-Session-Id", id).want(t, http.StatusOK, "result")
		second.want("0-2", `"notifications/resources/updated"`)
		f.do(http.MethodDelete, Path, "", "Mcp-Session-Id", id)
		second.want("", "retry: 500")
		second.want("", "")
	})
}

func TestCancelledCallHasNoResponse(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		id := f.open("2025-11-25")
		got := make(chan answered, 1)
		go func() { got <- f.post(legacyCall(1, "hold"), "Mcp-Session-Id", id) }()
		<-f.b.started
		f.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "Mcp-Session-Id", id).want(t, http.StatusAccepted, "")
		(<-got).want(t, http.StatusAccepted, "")
		<-f.b.cancelled
	})
}

func TestEndOfSessionCancelsItsCalls(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		id := f.open("2025-11-25")
		got := make(chan answered, 1)
		go func() { got <- f.post(legacyCall(1, "hold"), "Mcp-Session-Id", id) }()
		<-f.b.started
		f.do(http.MethodDelete, Path, "", "Mcp-Session-Id", id).want(t, http.StatusNoContent, "")
		<-f.b.cancelled
		(<-got).want(t, http.StatusOK, "-32000")
	})
}

func TestBatches(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		batch := "[" + legacyCall(1, "echo") + "," + legacyCall(2, "progress") + `,{"jsonrpc":"2.0","method":"notifications/x"}]`
		old := f.open("2025-03-26")
		e := f.stream(http.MethodPost, batch, "Mcp-Session-Id", old)
		for range 3 {
			if _, data := e.next(); !strings.Contains(data, "progress") {
				t.Errorf("got %s", data)
			}
		}
		if _, data := e.next(); !strings.HasPrefix(data, "[") || !strings.Contains(data, `"id":1,"result"`) || !strings.Contains(data, `"id":2,"result"`) {
			t.Errorf("got %s", data)
		}
		f.post("["+legacyCall(1, "echo")+"]", "Mcp-Session-Id", old).want(t, http.StatusOK, `[{"jsonrpc":"2.0","id":1,"result"`)
		f.post(`[{"jsonrpc":"2.0","method":"notifications/x"}]`, "Mcp-Session-Id", old).want(t, http.StatusAccepted, "")
		f.post(`[]`, "Mcp-Session-Id", old).want(t, http.StatusBadRequest, "-32600")
		f.post(batch, "Mcp-Session-Id", f.open("2025-06-18")).want(t, http.StatusBadRequest, "does not support batches")
		f.post(batch).want(t, http.StatusBadRequest, "Mcp-Session-Id")
	})
}

// TestCallsOfLostClientsAreCounted checks that a call that continues after the end of its connection still counts, with its body.
func TestCallsOfLostClientsAreCounted(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		id := f.open("2025-03-26")
		ctx, cancel := context.WithCancel(t.Context())
		body := "[" + legacyCall(1, "hold") + strings.Repeat(" ", 100<<10) + "]"
		done := make(chan struct{})
		go func() {
			defer close(done)
			if r, err := f.send(ctx, http.MethodPost, Path, body, "Mcp-Session-Id", id); err == nil {
				r.Body.Close()
			}
		}()
		<-f.b.started
		cancel()
		<-done
		synctest.Wait()
		if bytes, requests := f.s.bodies.used.Load(), len(f.s.requests); bytes < 80<<10 || requests != 1 {
			t.Errorf("while the call runs, %d bytes and %d requests are counted", bytes, requests)
		}
		f.b.release <- struct{}{}
		synctest.Wait()
		if bytes, requests := f.s.bodies.used.Load(), len(f.s.requests); bytes != 0 || requests != 0 {
			t.Errorf("afterwards, %d bytes and %d requests are counted", bytes, requests)
		}
	})
}

// TestLostClientCannotFillMemory checks that what is kept for a client that does not come back is bounded.
func TestLostClientCannotFillMemory(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		id := f.open("2025-11-25")
		ctx, cancel := context.WithCancel(t.Context())
		r, err := f.send(ctx, http.MethodPost, Path, legacyCall(1, "flood"), "Mcp-Session-Id", id)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		r.Body.Close()
		<-f.b.answered // the call is not blocked
		if used := f.s.messages.used.Load(); used > maxKept+2000 {
			t.Errorf("%d bytes are kept", used)
		}
	})
}

func TestCallsOfOneSessionAreBounded(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		id := f.open("2025-11-25")
		var calls sync.WaitGroup
		for n := range gateway.DefaultMaxInFlight {
			calls.Go(func() { f.post(legacyCall(n, "hold"), "Mcp-Session-Id", id) })
		}
		synctest.Wait()
		f.post(legacyCall(1000, "echo"), "Mcp-Session-Id", id).want(t, http.StatusOK, "too many calls")
		f.post(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, 7), "Mcp-Session-Id", id).want(t, http.StatusAccepted, "")
		<-f.b.cancelled
		synctest.Wait()
		f.post(legacyCall(1000, "echo"), "Mcp-Session-Id", id).want(t, http.StatusOK, "result")
		for range gateway.DefaultMaxInFlight {
			f.b.release <- struct{}{}
		}
		calls.Wait()
	})
}

// TestServerEndsConnectionOfStream checks that a client gets the rest of a stream whose connection the server has ended.
func TestServerEndsConnectionOfStream(t *testing.T) {
	disconnects := make(chan func(), 1)
	TestHook = func(_ *gateway.Gateway, m *gateway.Message, disconnect func()) {
		if name, _ := m.Name(); name == "progress_hold" {
			disconnects <- disconnect
		}
	}
	defer func() { TestHook = nil }()
	run(t, Config{}, func(t *testing.T, f *fixture) {
		id := f.open("2025-11-25")
		e := f.stream(http.MethodPost, legacyCall(1, "progress_hold"), "Mcp-Session-Id", id)
		for n := range 4 {
			if got, _ := e.next(); got != fmt.Sprintf("2-%d", n) {
				t.Errorf("got event %s", got)
			}
			if n < 3 {
				continue
			}
			(<-disconnects)()
		}
		e.want("", "retry: 500")
		e.want("", "")
		f.b.release <- struct{}{}
		e = f.stream(http.MethodGet, "", "Mcp-Session-Id", id, "Last-Event-ID", "2-3")
		e.want("2-3", "")
		e.want("2-4", `"id":1,"result"`)
	})
}
