package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/hosttool"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dispatch"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

var longText = strings.Repeat("0123456789abcde\n", 1000)

// longAnswer is the response of a module with a long text.
var longAnswer = `{"result":{"content":[{"type":"text","text":` + string(rawjson.Quote(longText)) + `}]}}`

// withLongResults returns a world with the plugin a, whose tool a_typed has an output schema, and a plugin b. plugin is added to the table of a.
func withLongResults(t *testing.T, server, plugin string) *hosttest.World {
	t.Helper()
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(longAnswer), hosttest.Reads("a_get")+hosttest.Reads("a_other")),
		hosttest.Plugin("b", wasmtest.Answering(hosttest.Done), hosttest.Reads("b_get")),
		hosttest.Plugin("typed", wasmtest.Answering(`{"result":{"content":[{"type":"text","text":`+string(rawjson.Quote(longText))+`}],"structuredContent":{}}}`), hosttest.Reads("typed_get")+"[tools.output]\ntype = 'object'\n"))
	writeResults(t, w, server, plugin)
	return w
}

func writeResults(t *testing.T, w *hosttest.World, server, plugin string) {
	t.Helper()
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[server]\nname = 's'\n" + server + "[audit]\nfile = '" + w.Dir + "/audit.jsonl'\narguments = 'full'\non_failure = 'closed'\n" +
		"[defaults.limits]\nresult = '8KiB'\n[[plugins]]\npath = '../plugins/a'\n" + plugin + "[[plugins]]\npath = '../plugins/b'\n[[plugins]]\npath = '../plugins/typed'\n"})
}

// shortened is a part of a long result.
type shortened struct {
	text, note, id string
	offset         int
}

// parseShortened reads a result that has a text and a note.
func parseShortened(t *testing.T, result string) (s shortened) {
	t.Helper()
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal([]byte(result), &r); err != nil || len(r.Content) != 2 {
		t.Fatalf("%v: %.300s", err, result)
	}
	s.text, s.note = r.Content[0].Text, r.Content[1].Text
	if _, after, found := strings.Cut(s.note, "call read_result with "); found {
		var at struct {
			ID     string
			Offset int
		}
		if err := json.NewDecoder(strings.NewReader(after)).Decode(&at); err != nil {
			t.Fatalf("%v: %s", err, s.note)
		}
		s.id, s.offset = at.ID, at.Offset
	}
	return s
}

func readResult(t *testing.T, h *host.Host, id string, offset int) string {
	t.Helper()
	return hosttest.Request(t, h, "tools/call", fmt.Sprintf(`{"name":"read_result","arguments":{"id":%q,"offset":%d}}`, id, offset))
}

func TestLongResultIsShortenedAndCanBeReadOn(t *testing.T) {
	for _, mode := range []string{"all", "search"} {
		t.Run(mode, func(t *testing.T) {
			w := withLongResults(t, "tools = '"+mode+"'\n", "limits = { result = '2KiB' }\n")
			h := w.Open(t, w.Options())
			params := `{"name":"a_get"}`
			if mode == "search" {
				params = `{"name":"read_tool","arguments":{"name":"a_get"}}`
			}
			first := parseShortened(t, hosttest.Request(t, h, "tools/call", params))
			if lines := requestLines(t, w); !strings.Contains(lines[len(lines)-1], `"shortened_from":17`) {
				t.Errorf("the record is %s", lines[len(lines)-1])
			}
			text, part := first.text, first
			for n := 0; part.offset > 0; n++ {
				if n > 20 || len(part.text)+len(part.note) > 2<<10 || part.offset != len(text) {
					t.Fatalf("part %d has %d bytes, and the next offset is %d of %d", n, len(part.text), part.offset, len(text))
				}
				part = parseShortened(t, readResult(t, h, first.id, part.offset))
				text += part.text
			}
			if text != longText || !strings.HasSuffix(part.note, ": the end.]") {
				t.Errorf("read %d bytes of %d; the last note is %s", len(text), len(longText), part.note)
			}
			if got := lastRecord(t, w); !strings.HasPrefix(got, "call a read_result  ok  {") {
				t.Errorf("the record is %s", got)
			}
		})
	}
}

func TestReadResultIsListedWhereResultsAreShortened(t *testing.T) {
	const short = "limits = { result = '1KiB' }\n"
	for name, c := range map[string]struct {
		config string
		want   bool
	}{
		"by no plugin":               {"[server]\nname = 's'\n[[plugins]]\npath = '../plugins/a'\n", false},
		"by one":                     {"[server]\nname = 's'\n[[plugins]]\npath = '../plugins/a'\n" + short, true},
		"by one, in search":          {"[server]\nname = 's'\ntools = 'search'\n[[plugins]]\npath = '../plugins/a'\n" + short, true},
		"by one without tools":       {"[server]\nname = 's'\n[[plugins]]\npath = '../plugins/a'\nallow_tools = []\n" + short, false},
		"by one with output schemas": {"[server]\nname = 's'\n[[plugins]]\npath = '../plugins/typed'\n" + short, false},
		"by one that is alone":       {"[[plugins]]\npath = '../plugins/a'\n" + short, false},
		"by the defaults":            {"[defaults.limits]\nresult = '1KiB'\n[[plugins]]\npath = '../plugins/a'\n[[plugins]]\npath = '../plugins/b'\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := withLongResults(t, "", "")
			w.Write(t, hosttest.Files{"work/bulkhead.toml": c.config})
			h := w.Open(t, w.Options())
			list := hosttest.Request(t, h, "tools/list", "{}")
			const entry = `{"name":"read_result","description":"Read on in a result that was too long: its last text has id and offset, in bytes.","inputSchema":`
			if strings.Contains(list, entry) != c.want || strings.Contains(list, `"readOnlyHint":true,"openWorldHint":false`) != (c.want || strings.Contains(c.config, "search")) {
				t.Errorf("the list is %s", list)
			}
			got := hosttest.Request(t, h, "tools/call", `{"name":"read_result","arguments":{"id":"x"}}`)
			if known := strings.Contains(got, "has no result with this id"); known != c.want || !known && !strings.Contains(got, "Unknown tool: read_result") {
				t.Errorf("a call gives %s", got)
			}
			if !strings.Contains(c.config, "typed") && !c.want && !strings.Contains(c.config, "allow") {
				if got := hosttest.Request(t, h, "tools/call", `{"name":"a_get"}`); !strings.HasPrefix(got, longAnswer[len(`{"result":`):len(longAnswer)-10]) {
					t.Errorf("the result is changed: %.200s", got)
				}
			}
		})
	}
}

func TestResultsThatNoModelReadsAreWhole(t *testing.T) {
	w := withLongResults(t, "", "")
	h := w.Open(t, w.Options())
	for _, tool := range []string{"a_get", "typed_get"} {
		if got := string(hosttest.Call(t, h, tool, "").Result); !strings.Contains(got, `abcde\n"}]`) {
			t.Errorf("%s: a local program gets %.100s … %s", tool, got, got[len(got)-200:])
		}
	}
	if got := hosttest.Request(t, h, "tools/call", `{"name":"typed_get"}`); !strings.Contains(got, `abcde\n"}]`) {
		t.Errorf("a result with a schema is shortened: %s", got[len(got)-200:])
	}
	if got := readResult(t, h, "x", 0); !strings.Contains(got, `"code":"unknown_result"`) {
		t.Errorf("read_result: %s", got)
	}
	d := openIn(t, w)
	for name, r := range map[string]call.Request{"script": {Via: hosttool.Script}, "task": {Task: "id"}, "none": {}} {
		got := executed(t, d, r, "a_get", "")
		if whole := strings.Contains(string(got.Body), `abcde\n"}]`); whole != (name != "none") || (got.ShortenedFrom > 0) == whole {
			t.Errorf("%s: whole: %t, shortened from %d", name, whole, got.ShortenedFrom)
		}
	}
}

// executed returns the result of a call of a tool with a request's other fields.
func executed(t *testing.T, d *dispatch.Dispatcher, r call.Request, tool, arguments string) call.Result {
	t.Helper()
	result, err := execute(t, d, r, tool, arguments)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func execute(t *testing.T, d *dispatch.Dispatcher, r call.Request, tool, arguments string) (call.Result, error) {
	t.Helper()
	r.Method, r.Name, r.Params, r.Arguments = abi.MethodToolsCall, tool, json.RawMessage(`{"name":"`+tool+`"}`), json.RawMessage(arguments)
	if r.Principal == nil {
		r.Principal = &call.Principal{ID: "one"}
	}
	queued, refused := d.Find(r)
	if refused != nil {
		return call.Result{}, refused
	}
	defer queued.(gateway.ResponseWritten).ResponseWritten()
	return queued.Execute(t.Context(), silent{})
}

func TestResultsBelongToTheirPrincipal(t *testing.T) {
	w := withLongResults(t, "", "")
	d := openIn(t, w)
	held, revoke := context.WithCancel(t.Context())
	one, two := call.Request{Principal: &call.Principal{ID: "one"}, Held: held}, call.Request{Principal: &call.Principal{ID: "two"}}
	id := parseShortened(t, string(executed(t, d, one, "a_get", "").Body)).id
	arguments := fmt.Sprintf(`{"id":%q}`, id)
	if got := executed(t, d, one, "read_result", arguments); !strings.Contains(string(got.Body), "[Bytes 0 to 7592 of 16000") {
		t.Errorf("its principal gets %s", got.Body)
	}
	_, foreign := execute(t, d, two, "read_result", arguments)
	record := lastRecord(t, w)
	_, unknown := execute(t, d, two, "read_result", `{"id":"ABCDEFGHIJKLMNOPQRSTUVWXYZ"}`)
	if foreign == nil || unknown == nil || foreign.Error() != unknown.Error() || !strings.Contains(foreign.Error(), "has no result with this id") {
		t.Errorf("another principal gets %v and %v", foreign, unknown)
	}
	if record != "refused  read_result  denied not_granted " || lastRecord(t, w) != "refused  read_result  denied unknown " {
		t.Errorf("the records are %q and %q", record, lastRecord(t, w))
	}
	revoke()
	for range 1000 { // the texts are dropped in the background
		if _, err := execute(t, d, one, "read_result", arguments); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the result outlives the token of its principal")
}

func TestReloadWithdrawsResults(t *testing.T) {
	for name, change := range map[string][2]string{
		"of a denied tool":       {"", "deny_tools = ['a_get']\n"},
		"of a changed grant":     {"", "fs = []\n"},
		"of a tool for approval": {"", "approve_tools = ['a_get']\n"},
		"of a renamed tool":      {"", "prefix = 'x_'\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := withLongResults(t, "", "")
			if name == "of a changed grant" {
				w.Write(t, hosttest.Plugin("a", wasmtest.Answering(longAnswer), "[[capabilities.fs]]\npath = '${project}'\naccess = 'r'\n"+hosttest.Reads("a_get")))
			}
			h := w.Open(t, w.Options())
			read := func() string {
				t.Helper()
				return readResult(t, h, parseShortened(t, hosttest.Request(t, h, "tools/call", `{"name":"a_get"}`)).id, 0)
			}
			if got := read(); !strings.Contains(got, "[Bytes 0 to") {
				t.Fatal(got)
			}
			id := parseShortened(t, hosttest.Request(t, h, "tools/call", `{"name":"a_get"}`)).id
			reload := func(plugin string) {
				t.Helper()
				writeResults(t, w, change[0], plugin)
				if err := h.Reload(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			reload("# a comment\n")
			if got := readResult(t, h, id, 0); !strings.Contains(got, "[Bytes 0 to") {
				t.Errorf("after a reload that changes nothing: %s", got)
			}
			reload(change[1])
			if got := readResult(t, h, id, 0); !strings.Contains(got, "has no result with this id") {
				t.Errorf("after the change: %.300s", got)
			}
			reload("")
			if got := readResult(t, h, id, 0); !strings.Contains(got, "has no result with this id") {
				t.Errorf("after the change was undone: %.300s", got)
			}
		})
	}
}

func TestArgumentsOfReadResult(t *testing.T) {
	w := withLongResults(t, "", "")
	h := w.Open(t, w.Options())
	id := parseShortened(t, hosttest.Request(t, h, "tools/call", `{"name":"a_get"}`)).id
	for arguments, want := range map[string]string{
		`{}`: "do not match its schema", `{"id":"` + strings.Repeat("x", 65) + `"}`: "has no result with this id", `{"id":3}`: "do not match its schema", `{"id":"` + id + `","Offset":3}`: "do not match its schema", `{"id":"` + id + `","offset":-1}`: "do not match its schema",
		`{"id":"` + id + `","length":0}`: "do not match its schema", `{"id":"` + id + `","offset":1e300}`: "was called with the offset 1073741824, and the result has 16000 bytes",
		`{"id":"` + id + `","offset":16000}`: "was called with the offset 16000", `{"id":"` + id + `","offset":15990.0,"length":3}`: `"text":"678"},{"type":"text","text":"[Bytes 15990 to 15993 of 16000`,
		`{"id":"` + id + `","length":1e9}`: "[Bytes 0 to 7592 of 16000",
	} {
		if got := hosttest.Request(t, h, "tools/call", `{"name":"read_result","arguments":`+arguments+`}`); !strings.Contains(got, want) {
			t.Errorf("%s: %.300s, want %s", arguments, got, want)
		}
	}
}

// TestLimitOfResultsCostsNothing checks that a limit that no result reaches allocates nothing on the way of a call.
func TestLimitOfResultsCostsNothing(t *testing.T) {
	w := withLongResults(t, "", "")
	allocs := func(plugin string) float64 {
		w.Write(t, hosttest.Files{"work/bulkhead.toml": "[server]\nname = 's'\n[[plugins]]\npath = '../plugins/b'\n" + plugin})
		d := openIn(t, w)
		executed(t, d, call.Request{}, "b_get", "{}")
		return testing.AllocsPerRun(200, func() { executed(t, d, call.Request{}, "b_get", "{}") })
	}
	without, with := allocs(""), allocs("limits = { result = '1MiB' }\n")
	if with > without {
		t.Errorf("a call makes %v allocations with the limit, and %v without", with, without)
	}
}
