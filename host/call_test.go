package host

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// callOf opens a host and takes a place in the queue for a call of a tool.
func callOf(t *testing.T, h *Host, tool string) *call {
	t.Helper()
	queued, err := backend{h}.Find(gateway.Request{Method: abi.MethodToolsCall, Name: tool})
	if err != nil {
		t.Fatal(err)
	}
	return queued.(*call)
}

func TestAFailureReads(t *testing.T) {
	for name, c := range map[string]struct{ server, tool, want string }{
		"as the host says it":                         {"", "", "bulkhead: it_reads took <5s> & {code}"},
		"as the manifest has it":                      {"Error [{code}] in {tool} of {plugin}: {message}!", "", "Error [slow] in it_reads of it: took <5s> & {code}!"},
		"without what it leaves out":                  {"Internal error", "", "Internal error"},
		"with each placeholder as often":              {"{code}{code}", "", "slowslow"},
		"as JSON that stays JSON":                     {`{"why":"{tool} {message}"}`, "", `{"why":"it_reads took <5s> & {code}"}`},
		"as its tool has it":                          {"", "{tool}, {code}", "it_reads, slow"},
		"as its tool has it, and not as all have it":  {"{message}", "{tool}, {code}", "it_reads, slow"},
		"as all have it where its tool's is empty":    {"{message}", "", "took <5s> & {code}"},
		"as its tool has it, as JSON that stays JSON": {"{message}", `{"why":"{message}"}`, `{"why":"took <5s> & {code}"}`},
	} {
		t.Run(name, func(t *testing.T) {
			h := newWorldHost(t, handmade("it", answering(done), "[server]\nfailure = '"+c.server+"'\n"+reads("it_reads")+"failure = '"+c.tool+"'\n"))
			got := callOf(t, h, "it_reads").Failure("slow", "took <5s> & {code}")
			want := &gateway.Failure{Code: "slow", Plugin: "it", Tool: "it_reads", Message: "took <5s> & {code}", Text: c.want}
			wantEqual(t, got, want)
		})
	}
}

func newWorldHost(t *testing.T, plugins ...files) *Host {
	t.Helper()
	w := newWorld(t, plugins...)
	return w.open(t, w.options())
}

// asked makes one call and gives what a client reads of it.
func asked(t *testing.T, h *Host, tool, arguments string) Answer {
	t.Helper()
	answer, err := h.Call(t.Context(), tool, json.RawMessage(arguments), nil)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestCall(t *testing.T) {
	input := "[tools.input]\ntype = 'object'\nrequired = ['id']\nproperties.id.type = 'string'\n"
	own := strings.Replace(handmade("own", answering(done), reads("own_reads")+input)["plugins/own/plugin.toml"], "[module]", "validate = 'plugin'\n[module]", 1)
	h := newWorldHost(t,
		handmade("hand", answering(done), reads("hand_reads")+input),
		handmade("own", answering(done), ""), files{"plugins/own/plugin.toml": own},
		handmade("sad", answering(`{"result":{"content":[],"isError":true}}`), reads("sad_reads")),
		handmade("bad", answering(`{"error":{"code":-7,"message":"m"}}`), reads("bad_reads")),
		handmade("odd", answering(`{"result":{"content":7}}`), reads("odd_reads")),
		handmade("mute", module(nil, ""), reads("mute_reads")),
		handmade("crash", crashing(), reads("crash_reads")),
		handmade("text", []byte("no module"), reads("text_reads")),
		handmade("other", answering(done), "[limits]\ntime = '1s'\n"+reads("other_reads")),
		handmade("absent", nil, reads("absent_reads")),
	)
	for name, c := range map[string]struct {
		tool, arguments string
		want            Answer
		says            string
	}{
		"answers":                                       {"hand_reads", `{"id":"a"}`, Answer{}, `"done"`},
		"answers without arguments":                     {"other_reads", ``, Answer{}, `"done"`},
		"checks arguments":                              {"hand_reads", `{"id":1}`, Answer{IsError: true, Failure: "invalid_arguments"}, "hand_reads was called with arguments that do not fit its schema: /id: must be string, not number"},
		"checks arguments that are not there":           {"hand_reads", ``, Answer{IsError: true, Failure: "invalid_arguments"}, "missing property 'id'"},
		"leaves arguments to a plugin that checks them": {"own_reads", `{"id":1}`, Answer{}, `"done"`},
		"tells an error of the tool's":                  {"sad_reads", `{}`, Answer{IsError: true}, "isError"},
		"tells a protocol error of the tool's":          {"bad_reads", `{}`, Answer{Error: &abi.Error{Code: -7, Message: "m"}}, ""},
		"fails on a result nobody can read":             {"odd_reads", `{}`, Answer{IsError: true, Failure: "invalid_result"}, "content is not an array"},
		"fails on no answer":                            {"mute_reads", `{}`, Answer{IsError: true, Failure: "no_response"}, "mute_reads "},
		"fails on a crash":                              {"crash_reads", `{}`, Answer{IsError: true, Failure: "trap"}, "bulkhead: crash_reads crashed: "},
		"fails on what is no module":                    {"text_reads", `{}`, Answer{IsError: true, Failure: "invalid_module"}, "it.wasm"},
		"says why a plugin is left out": {"absent_reads", `{}`,
			Answer{Error: &abi.Error{Code: -32602, Message: `Unknown tool: absent_reads: plugin "absent" is left out: there is no module at $M: build the plugin with ` + "`bulkhead plugin build`"}}, ""},
		"knows no other tool": {"nope", `{}`, Answer{Error: &abi.Error{Code: -32602, Message: "Unknown tool: nope"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := asked(t, h, c.tool, c.arguments)
			if c.want.Error != nil {
				c.want.Error.Message = strings.ReplaceAll(c.want.Error.Message, "$M", h.plugins[0].dir+"/it.wasm")
			}
			if !strings.Contains(string(got.Result), c.says) {
				t.Errorf("got %s, want it to say %q", got.Result, c.says)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(Answer{}, "Result")); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("works on a plugin after a failure of another", func(t *testing.T) {
		if got := asked(t, h, "other_reads", `{}`); got.IsError || got.Error != nil {
			t.Errorf("got %+v", got)
		}
	})
}

func TestCallRefusesArgumentsThat(t *testing.T) {
	h := newWorldHost(t, handmade("it", answering(done), reads("it_reads")))
	t.Run("are no JSON", func(t *testing.T) {
		_, err := h.Call(t.Context(), "it_reads", json.RawMessage(`{"a":`), nil)
		wantUsage(t, err, "arguments: ")
	})
	t.Run("are longer than a message", func(t *testing.T) {
		long := `{"a":"` + strings.Repeat("x", gateway.DefaultMaxLine) + `"}`
		_, err := h.Call(t.Context(), "it_reads", json.RawMessage(long), nil)
		wantUsage(t, err, "arguments: ", " bytes are more than the 16 MiB of a message")
	})
}

func TestACallWaitsForTheWritesBeforeIt(t *testing.T) {
	h := newWorldHost(t, handmade("it", answering(done), writes("it_writes")+reads("it_reads")))
	first, second, third := callOf(t, h, "it_writes"), callOf(t, h, "it_writes"), callOf(t, h, "it_reads")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := second.Run(canceled, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call that waits gave %v", err)
	}
	ended := make(chan error)
	go func() { _, err := third.Run(t.Context(), nil); ended <- err }()
	select {
	case <-ended:
		t.Error("the read did not wait for the write")
	default:
	}
	for _, run := range []func() error{
		func() error { _, err := first.Run(t.Context(), nil); return err },
		func() error { return <-ended },
	} {
		if err := run(); err != nil {
			t.Error(err)
		}
	}
}

// A state folder that can no longer be made fails the call by name; the next call tries again.
func TestASandboxThatCannotBeSetUp(t *testing.T) {
	w := newWorld(t, handmade("it", answering(done), reads("it_reads")))
	h := w.open(t, w.options())
	w.write(t, files{"state": ""})
	answer := asked(t, h, "it_reads", `{}`)
	if answer.Failure != "sandbox" || !strings.Contains(string(answer.Result), w.dir+"/state") {
		t.Errorf("got %+v", answer)
	}
	if err := os.Remove(w.dir + "/state"); err != nil {
		t.Fatal(err)
	}
	if answer := asked(t, h, "it_reads", `{}`); answer.IsError {
		t.Errorf("got %s", answer.Result)
	}
}

func TestTheRecordOfAResultThatCannotBeReadSaysSo(t *testing.T) {
	w := newWorld(t, handmade("a", answering(`{"result":{"x":1}}`), reads("a_reads")),
		files{"work/bulkhead.toml": "[audit]\nfile = \"${env:HOME}/log\"\n[[plugins]]\npath = \"../plugins/a\"\n"})
	h, err := Open(w.options())
	if err != nil {
		t.Fatal(err)
	}
	got := requested(t, h, "tools/call", `{"name":"a_reads"}`)
	if want := "bulkhead: a_reads returned an invalid result: content is missing"; !strings.Contains(got, want) {
		t.Errorf("got %s, want it to say %q", got, want)
	}
	_ = h.Close(t.Context())
	log, err := os.ReadFile(w.dir + "/home/log")
	if want := `"outcome":"failed","code":"invalid_result"`; err != nil || !strings.Contains(string(log), want) {
		t.Errorf("the log is %s (%v), want it to say %s", log, err, want)
	}
}
