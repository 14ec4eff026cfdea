package dispatch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// printing returns a runner of scripts that prints a line until its fuel is used up.
func printing(line string) hosttest.Files {
	const trace = 1
	flood := wasmtest.Code(0x03, 0x40, wasmtest.Invoke(wasmtest.Log, trace, 0, int32(len(line))), 0x0c, 0, 0x0b)
	return hosttest.Plugin("script", wasmtest.Plugin(flood, line).Bytes(), "kind = 'script'\n[limits]\nfuel = 20_000_000\n"+hosttest.Reads("run_script"))
}

// TestConsoleOfStoppedScriptKeepsToLimitOfResults checks that what a script had printed is within limits.result, which a local program does not have.
func TestConsoleOfStoppedScriptKeepsToLimitOfResults(t *testing.T) {
	for name, line := range map[string]string{"short lines": "a", "long lines": strings.Repeat("long ", 1000), "escapes": strings.Repeat("\x01\"", 20)} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, printing(line), hosttest.Plugin("b", wasmtest.Answering(hosttest.Done), hosttest.Reads("b_get")))
			for _, limit := range []int{1, 4, 64} {
				w.Write(t, hosttest.Files{"work/bulkhead.toml": fmt.Sprintf("[server]\nname = 's'\n[defaults.limits]\nresult = '%dKiB'\n[[plugins]]\npath = '../plugins/b'\n", limit)})
				o := w.Options()
				o.Tools = "code"
				h := w.Open(t, o)
				var got struct {
					Content    []struct{ Text string }
					Structured struct{ Console []string } `json:"structuredContent"`
				}
				if err := json.Unmarshal([]byte(hosttest.Request(t, h, "tools/call", `{"name":"run_script","arguments":{}}`)), &got); err != nil {
					t.Fatal(err)
				}
				if len(got.Content) != 1 || len(got.Content[0].Text) > min(limit<<10, 18<<10) || len(got.Structured.Console) == 0 {
					t.Errorf("%d KiB: got %+v", limit, got)
				}
				if got := hosttest.Call(t, h, "run_script", "{}"); len(got.Result) < 15<<10 {
					t.Errorf("%d KiB: a local program gets %d bytes", limit, len(got.Result))
				}
			}
		})
	}
}

// TestUndeclaredArgumentsKeepToLimitOfResults checks that the names of a call's arguments do not make its shortened result longer.
func TestUndeclaredArgumentsKeepToLimitOfResults(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(longAnswer), hosttest.Reads("a_get")+"[tools.input]\ntype = 'object'\nproperties.limit.type = 'integer'\n"),
		hosttest.Plugin("b", wasmtest.Answering(hosttest.Done), hosttest.Reads("b_get")))
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[server]\nname = 's'\n[defaults.limits]\nresult = '2KiB'\n[[plugins]]\npath = '../plugins/a'\n[[plugins]]\npath = '../plugins/b'\n"})
	d := openIn(t, w)
	for _, c := range []struct {
		names int
		told  bool
	}{{1, true}, {300, false}} {
		var members []string
		for i := range c.names {
			members = append(members, fmt.Sprintf(`"%s_%d":0`, strings.Repeat("unknown", 30), i))
		}
		got := executed(t, d, call.Request{}, "a_get", "{"+strings.Join(members, ",")+"}")
		if told := strings.Contains(string(got.Body), "bulkhead/undeclared_arguments"); got.ShortenedFrom == 0 || len(got.Body) > 2<<10+200 || told != c.told || !told && !strings.Contains(string(got.Body), "1 members beside the content are left out") {
			t.Errorf("%d names: got %d bytes, named: %v", c.names, len(got.Body), told)
		}
	}
}

// TestLoweredLimitBindsResultsOfBefore checks that a result that was shortened to a limit is read on with the present one.
func TestLoweredLimitBindsResultsOfBefore(t *testing.T) {
	w := withLongResults(t, "", "limits = { result = '4KiB' }\n")
	h := w.Open(t, w.Options())
	first := parseShortened(t, hosttest.Request(t, h, "tools/call", `{"name":"a_get"}`))
	for _, c := range []struct {
		limit       string
		least, most int
	}{{"4KiB", 3 << 10, 4 << 10}, {"1KiB", 1, 1 << 10}, {"8KiB", 3 << 10, 4 << 10}} {
		writeResults(t, w, "", "limits = { result = '"+c.limit+"' }\n")
		if err := h.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		part := parseShortened(t, readResult(t, h, first.id, 0))
		if size := len(part.text) + len(part.note); size < c.least || size > c.most {
			t.Errorf("%s: a part has %d bytes, want %d to %d", c.limit, size, c.least, c.most)
		}
	}
}

// TestErrorsOfPluginsKeepToLimitOfResults checks that a plugin does not pass the limit by with a JSON-RPC error.
func TestErrorsOfPluginsKeepToLimitOfResults(t *testing.T) {
	answer := `{"error":{"code":-32001,"message":"` + strings.Repeat("é", 3000) + `","data":"` + strings.Repeat("x", 3000) + `"}}`
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(answer), hosttest.Reads("a_get")+hosttest.Reads("a_typed")+"[tools.output]\ntype = 'object'\n"), hosttest.Plugin("b", wasmtest.Answering(hosttest.Done), hosttest.Reads("b_get")))
	for _, c := range []struct {
		limit string
		most  int
		want  string
	}{
		{"1KiB", 1 << 10, " [Shortened: the message has 6000 bytes, and the data, which is left out, 3002.]"},
		{"8KiB", 8 << 10, " [Shortened: the message has 6000 bytes, and the data, which is left out, 3002.]"},
		{"9KiB", 9 << 10, strings.Repeat("é", 3000)},
	} {
		w.Write(t, hosttest.Files{"work/bulkhead.toml": "[server]\nname = 's'\n[defaults.limits]\nresult = '" + c.limit + "'\n[[plugins]]\npath = '../plugins/a'\n[[plugins]]\npath = '../plugins/b'\n"})
		d := openIn(t, w)
		for _, tool := range []string{"a_get", "a_typed"} { // of which one declares an output schema, which an error does not match anyway
			_, err := execute(t, d, call.Request{}, tool, "")
			var own *abi.Error
			if !errors.As(err, &own) || own.Code != -32001 || !strings.HasSuffix(own.Message, c.want) || len(own.Message)+len(own.Data) > c.most {
				t.Errorf("%s, %s: %d bytes: %.200v", c.limit, tool, len(own.Message)+len(own.Data), err)
			}
		}
	}
}

// TestTaskThatGetsNoSlotSaysWhichItMayHave checks the failure of a task that waits beside a slot that it may not have.
func TestTaskThatGetsNoSlotSaysWhichItMayHave(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_get")),
		hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\nlimits = { concurrency = 2, queue = '20ms' }\n"})
	d := openIn(t, w)
	begin := func(task string) (gateway.Queued, error) {
		q, refused := d.Find(call.Request{Method: abi.MethodToolsCall, Name: "a_get", Params: []byte(`{"name":"a_get"}`), Task: task, Principal: &call.Principal{ID: "one"}})
		if refused != nil {
			t.Fatal(refused)
		}
		_, err := q.Execute(t.Context(), silent{})
		return q, err
	}
	first, err := begin("first")
	if err != nil {
		t.Fatal(err)
	}
	const kept = "none of its 2 slots, of which one is kept for calls that are no tasks, became free"
	if _, err := begin("second"); err == nil || !strings.Contains(err.Error(), kept) {
		t.Errorf("the second task: %v, want %q", err, kept)
	}
	other, err := begin("")
	if err != nil {
		t.Fatalf("a call has no slot: %v", err)
	}
	if _, err := begin(""); err == nil || !strings.Contains(err.Error(), "none of its 2 slots became free") {
		t.Errorf("a second call: %v", err)
	}
	for _, q := range []gateway.Queued{first, other} {
		q.(gateway.ResponseWritten).ResponseWritten()
	}
	if q, err := begin("third"); err != nil {
		t.Errorf("after the others: %v", err)
	} else {
		q.(gateway.ResponseWritten).ResponseWritten()
	}
}
