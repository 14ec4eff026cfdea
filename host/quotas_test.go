package host_test

import (
	"encoding/json"
	"fmt"
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
