package replay_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/replay"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

func TestMain(m *testing.M) {
	host.RunChild()
	testenv.UseMemoryUnlessAll()
	os.Exit(m.Run())
}

// line returns a line of an audit log.
func line(id, method, tool, outcome, more string) string {
	return fmt.Sprintf(`{"time":"2026-01-02T03:04:05Z","kind":"call","id":%q,"plugin":"it","method":%q,"tool":%q,"outcome":%q,"bytes_in":1000%s}`+"\n", id, method, tool, outcome, more)
}

// run replays a log with a plugin that answers each request with the same response.
func run(t *testing.T, o replay.Options, log, response string) replay.Report {
	t.Helper()
	files := hosttest.Plugin("it", wasmtest.Answering(response), hosttest.Reads("a")+hosttest.Writes("b")+"[offers]\nprompts = true\nresources = true\n")
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, problems := manifest.Load(filepath.Join(dir, "plugins", "it"))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	o.Log, o.Plugin, o.Compiled = filepath.Join(dir, "audit.jsonl"), m, filepath.Join(dir, "cache", "bulkhead")
	o.Query.Plugins = []string{"it"}
	if o.Damaged == nil {
		o.Damaged = func(d audit.Damage) { t.Errorf("damaged: %v", d) }
	}
	if err := os.WriteFile(o.Log, []byte(log), 0o400); err != nil {
		t.Fatal(err)
	}
	report, err := replay.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(o.Log); err != nil || string(after) != log {
		t.Errorf("the log has changed: %s, %v", after, err)
	}
	return report
}

const answer = `{"result":{"content":[{"type":"text","text":"done"}],"messages":[],"contents":[]}}`

func TestRunComparesOutcomes(t *testing.T) {
	const arguments = `,"arguments":"{}"`
	log := line("1", "tools/call", "a", "ok", arguments) +
		line("2", "tools/call", "b", "tool_error", arguments) +
		line("3", "tools/call", "a", "failed", arguments+`,"code":"timeout"`) +
		line("4", "tools/call", "gone", "ok", arguments) +
		line("5", "prompts/get", "p", "ok", arguments) +
		line("6", "resources/read", "x:y", "rpc_error", "") +
		line("7", "tools/call", "a", "ok", arguments+`,"operations":[{"op":"file/open","target":"/x","outcome":"denied","count":2},{"op":"git/log","outcome":"ok"}]`)
	report := run(t, replay.Options{}, log, answer)
	var got []string
	for _, d := range report.Differences {
		got = append(got, fmt.Sprintf("%s %s: %s, %s", d.ID, d.Tool, d.Was, d.Now))
	}
	want := []string{
		"2 b: tool_error, ok",
		"3 a: failed (timeout), ok",
		"4 gone: ok, denied (unknown)",
		"6 x:y: rpc_error, ok",
		"7 a: ok, denied file/open, ok",
	}
	if diff := cmp.Diff(want, got); diff != "" || report.Replayed != 7 || report.Differing != 5 || report.LeftOut != (replay.LeftOut{}) {
		t.Errorf("%+v\n%s", report, diff)
	}
}

func TestRunCountsWhatIsLeftOut(t *testing.T) {
	log := line("1", "tools/call", "a", "ok", "") +
		line("2", "tools/call", "a", "ok", `,"arguments":"hmac-sha256:00"`) +
		line("3", "tools/call", "a", "ok", `,"arguments":"{\"a\":\"…","cut":["arguments"]`) +
		line("4", "tools/call", "a", "asked", `,"arguments":"{}"`) +
		line("5", "tools/call", "a", "ok", `,"arguments":"{}","round":1`) +
		line("6", "tools/call", "a", "cancelled", `,"arguments":"{}"`) +
		line("7", "completion/complete", "a", "ok", `,"arguments":"{}"`) +
		`{"time":"2026-01-02T03:04:05Z","kind":"gap","lost":3}` + "\n" +
		`{"time":"2026-01-02T03:04:05Z","kind":"call","id":"8","plugin":"it","method":"tools/call","tool":"a","outcome":"ok","bytes_in":12}` + "\n" +
		`{"time":"2026-01-02T03:04:05Z","kind":"call","id":"9","plugin":"other","method":"tools/call","tool":"a","outcome":"failed","arguments":"{}"}` + "\n" +
		"no record\n"
	damaged := 0
	report := run(t, replay.Options{Damaged: func(audit.Damage) { damaged++ }}, log, answer)
	want := replay.LeftOut{NotRecorded: 2, Truncated: 1, Asked: 2, Cancelled: 1, Other: 1, Lost: 3}
	if diff := cmp.Diff(want, report.LeftOut); diff != "" || report.Replayed != 1 || report.Differing != 0 || damaged != 1 || want.Calls() != 7 {
		t.Errorf("%+v, %d damaged\n%s", report, damaged, diff)
	}
}

func TestSizesAreComparedIfAsked(t *testing.T) {
	log := line("1", "tools/call", "a", "ok", `,"arguments":"{}","bytes_out":5`)
	if report := run(t, replay.Options{}, log, answer); report.Differing != 0 {
		t.Errorf("%+v", report)
	}
	report := run(t, replay.Options{Sizes: true}, log, answer)
	if report.Differing != 1 || report.Differences[0].Was.Size != 5 || report.Differences[0].Now.Size < 20 {
		t.Errorf("%+v", report)
	}
}

func TestPrefixIsThatOfTheLog(t *testing.T) {
	log := line("1", "tools/call", "team_a", "ok", `,"arguments":"{}"`)
	if report := run(t, replay.Options{Prefix: "team_"}, log, answer); report.Replayed != 1 || report.Differing != 0 {
		t.Errorf("%+v", report)
	}
}
