package tools_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/time/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
	"github.com/bulkhead-mcp/bulkhead/tests/recorded"
)

// departures are the requests of recorded cases, by case and number, that the plugin answers differently, with a part of
// its answers. README.md has the reasons.
var departures = map[string]string{
	"times 23":                         "Invalid time format. Expected HH:MM [24-hour format]",
	"keys of files and directories 0":  "Invalid timezone: 'No time zone found with key Europe'",
	"keys of files and directories 1":  "Invalid timezone: 'No time zone found with key zone.tab'",
	"keys of files and directories 2":  "Invalid timezone: 'No time zone found with key xxx",
	"the key of the user's own zone 0": `"timezone": "local"`,
}

// inModule is a case that the module is compared with, by package tests: a native test finds files of the machine too.
const inModule = "keys that are no zones"

// newHost returns a host of the plugin, whose clock stands.
func newHost(t *testing.T, now time.Time) *sdktest.Host {
	t.Helper()
	p := sdk.New()
	tools.Register(p, func() time.Time { return now })
	return sdktest.New(t, p, filepath.Join("..", "plugin.toml"))
}

// TestRecordedAnswers repeats the recorded requests at the recorded times, and compares the answers with those of the
// reference server.
func TestRecordedAnswers(t *testing.T) {
	unused := map[string]bool{}
	for name := range departures {
		unused[name] = true
	}
	for _, c := range recorded.Read(t, filepath.Join("..", "testdata", "recorded.jsonl"), 250) {
		if c.Name == inModule {
			continue
		}
		host := newHost(t, time.Unix(c.Now, 0))
		for i, r := range c.Requests {
			if r.Tool == "" {
				continue
			}
			key := fmt.Sprintf("%s %d", c.Name, i)
			delete(unused, key)
			result, err := host.CallTool(r.Tool, string(r.Arguments))
			if err != nil {
				t.Fatal(key, err)
			}
			diff := recorded.Compare(t, r.Result, result.Raw)
			switch want, departs := departures[key]; {
			case departs && diff == "":
				t.Errorf("%s: the answers agree, remove the departure", key)
			case departs && !strings.Contains(result.Text(), want):
				t.Errorf("%s: got %s, want %s", key, result.Text(), want)
			case !departs && diff != "":
				t.Errorf("%s %s (-want +got)\n%s", key, r.Arguments, diff)
			}
		}
	}
	for name := range unused {
		t.Errorf("no recorded request is called %q", name)
	}
}
