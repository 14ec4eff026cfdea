package host_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestQuotas exceeds the bounds of a table: each is answered with the status or the error that the documentation names, and other
// principals of the table are not affected.
func TestQuotas(t *testing.T) {
	tables := ""
	for name, quota := range map[string]string{"rate": "requests_per_second = 1", "volume": "bytes_per_day = '2KiB'", "work": "fuel_per_day = 1"} {
		tables += fmt.Sprintf("[[clients]]\nname = '%[1]s'\nmatch = { tokens = ['%[1]s-*'] }\nquota = { %[2]s }\n", name, quota)
	}
	users := []string{"root"}
	for _, name := range []string{"rate", "volume", "work"} {
		users = append(users, name+"-a", name+"-b")
	}
	s := serveTeam(t, tables, nil, users...)
	for name, want := range map[string]string{"rate": "429 requests_per_second", "volume": "429 bytes_per_day", "work": "200 fuel_per_day"} {
		got := ""
		for i := range 100 {
			status, body := callTool(t, s.url, s.tokens[name+"-a"], "calm_reads")
			if strings.Contains(body, `"code":"quota"`) {
				var answer struct {
					Error struct {
						Data map[string]struct {
							Quota      string `json:"quota"`
							RetryAfter int    `json:"retry_after"`
						} `json:"data"`
					} `json:"error"`
				}
				if err := json.Unmarshal([]byte(body), &answer); err != nil {
					t.Fatal(err)
				}
				e := answer.Error.Data["bulkhead/error"]
				if got = fmt.Sprint(status, " ", e.Quota); e.RetryAfter < 1 || i == 0 {
					t.Errorf("%s: request %d: %s", name, i, body)
				}
				break
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if status, body := callTool(t, s.url, s.tokens[name+"-b"], "calm_reads"); !strings.Contains(body, `"done"`) {
			t.Errorf("another principal of %s: %d %s", name, status, body)
		}
	}
	for range 5 {
		if status, body := callTool(t, s.url, s.tokens["root"], "calm_reads"); !strings.Contains(body, `"done"`) {
			t.Errorf("a principal without quota: %d %s", status, body)
		}
	}
}

// TestQuotasOfSessions exceeds bounds by what is no request of a call: by resuming a stream to get its answer once more, and by notifications.
func TestQuotasOfSessions(t *testing.T) {
	tables := "[[clients]]\nname = 'volume'\nmatch = { tokens = ['volume'] }\nquota = { bytes_per_day = '8KiB' }\n" +
		"[[clients]]\nname = 'rate'\nmatch = { tokens = ['rate'] }\nquota = { requests_per_second = 1, burst = 5 }\n"
	s := serveTeam(t, tables, nil, "volume", "rate")
	do := func(method, user, session, resume, message string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, s.url, strings.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Authorization": "Bearer " + s.tokens[user], "Accept": "application/json, text/event-stream",
			"Content-Type": "application/json", "Mcp-Session-Id": session, "Last-Event-Id": resume} {
			if value != "" && (name != "Content-Type" || method == http.MethodPost) {
				r.Header.Set(name, value)
			}
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	for user, repeat := range map[string]func(session string) *http.Response{
		"volume": func(session string) *http.Response {
			return do(http.MethodGet, "volume", session, "0-0", "") // each has some bytes of the stream
		},
		"rate": func(session string) *http.Response {
			return do(http.MethodPost, "rate", session, "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		},
	} {
		session := do(http.MethodPost, user, "", "", initialize).Header.Get("Mcp-Session-Id")
		status, tries := 0, 0
		for ; status != http.StatusTooManyRequests && tries < 1000; tries++ {
			answer := repeat(session)
			if status = answer.StatusCode; status == http.StatusTooManyRequests && answer.Header.Get("Retry-After") == "" {
				t.Errorf("%s: no Retry-After", user)
			}
		}
		if status != http.StatusTooManyRequests || tries < 3 {
			t.Errorf("%s: status %d after %d requests", user, status, tries)
		}
	}
}
