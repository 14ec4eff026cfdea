//go:build unix

package pages

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/live"
)

// liveOf serves the page Live of an installation with a server that has this state.
func liveOf(t *testing.T) (b *browser, state *live.State) {
	t.Helper()
	dir, err := os.MkdirTemp("", "u") // whose path leaves room for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	env := map[string]string{"XDG_STATE_HOME": filepath.Join(dir, "s"), "HOME": dir}
	o := discovery.Options{System: discovery.System{Dir: dir, LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok }}}
	at, err := discovery.StateDir(o.System)
	if err != nil {
		t.Fatal(err)
	}
	state = live.New("stdio", func(s *live.Snapshot) { s.Config, s.Workers = hostileText, []live.Worker{{Plugin: hostileText}} })
	server, err := live.Listen(live.Dir(at), state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return open(t, livePage(o)), state
}

// TestLivePageShowsHostileStateAsText has every name that a client, a plugin or a directory chooses, on the page and in its events.
func TestLivePageShowsHostileStateAsText(t *testing.T) {
	b, state := liveOf(t)
	for _, name := range append(hostileNames, "</textarea>\n\ndata: x\nevent: y") {
		record := audit.Record{
			ID: name, Plugin: name, Method: name, Tool: name, Via: name, Principal: name, Client: name, Project: name, Code: name, Reason: name, Time: time.Now(),
			Operations: []audit.Operation{{Op: "file/" + name, Target: "/" + name}, {Op: name}},
		}
		state.Begin(&record, &call.Times{})
		state.Ask(&record, time.Hour)
		for _, outcome := range []audit.Outcome{audit.Denied, audit.Asked, audit.Outcome(name)} {
			for _, kind := range []audit.Kind{audit.KindCall, audit.KindRefused} {
				record.Kind, record.Outcome = kind, outcome
				state.Record(&record)
			}
		}
	}
	answer, page := b.get("/live")
	if answer.StatusCode != http.StatusOK || !strings.Contains(page, "Calls that run") {
		t.Fatalf("%s: %s", answer.Status, page)
	}
	if !strings.Contains(page, `As of <strong sse-swap="now">`) {
		t.Errorf("the page lacks the time of the latest look: %s", page)
	}
	if _, still := b.get("/live?still=1"); strings.Contains(still, "sse-connect") || !strings.Contains(page, "sse-connect") || !strings.Contains(still, "Calls that run") {
		t.Errorf("the page that is not to change: %s", still)
	}
	begin, end := strings.Index(page, "<body>"), strings.LastIndex(page, "</body>")
	stream := nextEvent(b)
	for name, text := range map[string]string{"page": page[begin:end], "events": stream} {
		if found := unexpected(strings.ReplaceAll(text, "<br>", "")); found != "" {
			t.Errorf("the %s has %s: %s", name, found, text)
		}
		if strings.Count(text, "&lt;script&gt;") == 0 || strings.ContainsAny(text, "\u202e\u200b") {
			t.Errorf("the %s: %s", name, text)
		}
	}
}

// nextEvent returns the data of the first event of the page.
func nextEvent(b *browser) string {
	b.t.Helper()
	answer := b.request(b.url("/live/events"))
	defer answer.Body.Close()
	var data strings.Builder
	lines := bufio.NewReader(answer.Body)
	for {
		line, err := lines.ReadString('\n')
		switch {
		case err != nil:
			b.t.Fatal(err)
		case line == "\n":
			return data.String()
		case strings.HasPrefix(line, "data: "):
			data.WriteString(strings.TrimPrefix(line, "data: "))
		case line != "event: servers\n":
			b.t.Fatalf("the stream has the line %q", line)
		}
	}
}
