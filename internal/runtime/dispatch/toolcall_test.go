package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dispatch"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// open returns an open Dispatcher without a gateway.
func open(t *testing.T, plugins ...hosttest.Files) *dispatch.Dispatcher {
	t.Helper()
	return openIn(t, hosttest.New(t, plugins...))
}

func openIn(t *testing.T, w *hosttest.World) *dispatch.Dispatcher {
	t.Helper()
	found, err := discovery.Find(w.Options())
	if err != nil {
		t.Fatal(err)
	}
	d := dispatch.New(catalog.New(found))
	if err := d.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return d
}

// callOf returns a queued call of a tool.
func callOf(t *testing.T, d *dispatch.Dispatcher, tool string) gateway.Queued {
	t.Helper()
	queued, err := d.Find(call.Request{Method: abi.MethodToolsCall, Name: tool})
	if err != nil {
		t.Fatal(err)
	}
	return queued
}

func TestCall(t *testing.T) {
	input := "[tools.input]\ntype = 'object'\nrequired = ['id']\nproperties.id.type = 'string'\n"
	own := strings.Replace(hosttest.Plugin("own", wasmtest.Answering(hosttest.Done), hosttest.Reads("own_reads")+input)["plugins/own/plugin.toml"], "[module]", "validate = 'plugin'\n[module]", 1)
	h := hosttest.Open(t,
		hosttest.Plugin("hand", wasmtest.Answering(hosttest.Done), hosttest.Reads("hand_reads")+input),
		hosttest.Plugin("own", wasmtest.Answering(hosttest.Done), ""), hosttest.Files{"plugins/own/plugin.toml": own},
		hosttest.Plugin("sad", wasmtest.Answering(`{"result":{"content":[],"isError":true}}`), hosttest.Reads("sad_reads")),
		hosttest.Plugin("bad", wasmtest.Answering(`{"error":{"code":-7,"message":"m"}}`), hosttest.Reads("bad_reads")),
		hosttest.Plugin("odd", wasmtest.Answering(`{"result":{"content":7}}`), hosttest.Reads("odd_reads")),
		hosttest.Plugin("mute", assembled(nil, ""), hosttest.Reads("mute_reads")),
		hosttest.Plugin("crash", wasmtest.Crashing(), hosttest.Reads("crash_reads")),
		hosttest.Plugin("text", []byte("no module"), hosttest.Reads("text_reads")),
		hosttest.Plugin("other", wasmtest.Answering(hosttest.Done), "[limits]\ntime = '1s'\n"+hosttest.Reads("other_reads")),
		hosttest.Plugin("absent", nil, hosttest.Reads("absent_reads")),
	)
	for name, c := range map[string]struct {
		tool, arguments string
		want            host.Answer
		says            string
	}{
		"answers":                                       {"hand_reads", `{"id":"a"}`, host.Answer{}, `"done"`},
		"answers without arguments":                     {"other_reads", ``, host.Answer{}, `"done"`},
		"checks arguments":                              {"hand_reads", `{"id":1}`, host.Answer{IsError: true, Failure: "invalid_arguments"}, "hand_reads was called with arguments that do not match its schema: /id: must be string, not number 1: write \\\"1\\\""},
		"checks arguments that are not there":           {"hand_reads", ``, host.Answer{IsError: true, Failure: "invalid_arguments"}, "missing property 'id'"},
		"leaves arguments to a plugin that checks them": {"own_reads", `{"id":1}`, host.Answer{}, `"done"`},
		"tells an error of the tool's":                  {"sad_reads", `{}`, host.Answer{IsError: true}, "isError"},
		"tells a protocol error of the tool's":          {"bad_reads", `{}`, host.Answer{Error: &abi.Error{Code: -7, Message: "m"}}, ""},
		"fails on a result nobody can read":             {"odd_reads", `{}`, host.Answer{IsError: true, Failure: "invalid_result"}, "content is not an array"},
		"fails on no answer":                            {"mute_reads", `{}`, host.Answer{IsError: true, Failure: "no_response"}, "mute_reads "},
		"fails on a crash":                              {"crash_reads", `{}`, host.Answer{IsError: true, Failure: "trap"}, "bulkhead: crash_reads crashed: "},
		"fails on what is no module":                    {"text_reads", `{}`, host.Answer{IsError: true, Failure: "invalid_module"}, "it.wasm"},
		"says why a plugin is left out": {"absent_reads", `{}`,
			host.Answer{Error: &abi.Error{Code: -32602, Message: `Unknown tool: absent_reads: plugin "absent" is left out: $P:7: module.file: there is no module at $M; remedy: put the module there, or write how to build it in [build]`}}, ""},
		"knows no other tool": {"nope", `{}`, host.Answer{Error: &abi.Error{Code: -32602, Message: "Unknown tool: nope"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := hosttest.Call(t, h, c.tool, c.arguments)
			if c.want.Error != nil {
				c.want.Error.Message = strings.NewReplacer("$M", h.Plugins()[0].Dir+"/it.wasm", "$P", h.Plugins()[0].Dir+"/plugin.toml").Replace(c.want.Error.Message)
			}
			if !strings.Contains(string(got.Result), c.says) {
				t.Errorf("got %s, want it to say %q", got.Result, c.says)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(host.Answer{}, "Result")); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("works on a plugin after a failure of another", func(t *testing.T) {
		if got := hosttest.Call(t, h, "other_reads", `{}`); got.IsError || got.Error != nil {
			t.Errorf("got %+v", got)
		}
	})
}

func TestCallRefusesArgumentsThat(t *testing.T) {
	h := hosttest.Open(t, hosttest.Plugin("it", wasmtest.Answering(hosttest.Done), hosttest.Reads("it_reads")))
	t.Run("are no JSON", func(t *testing.T) {
		_, err := h.Call(t.Context(), "it_reads", json.RawMessage(`{"a":`), host.Client{})
		hosttest.WantUsage(t, err, "arguments: ")
	})
	t.Run("are longer than a message", func(t *testing.T) {
		long := `{"a":"` + strings.Repeat("x", gateway.DefaultMaxLine) + `"}`
		_, err := h.Call(t.Context(), "it_reads", json.RawMessage(long), host.Client{})
		hosttest.WantUsage(t, err, "arguments: ", " bytes exceed the maximum size of a message, 16 MiB")
	})
}

// If the state directory cannot be created, the call fails with an error that names the directory. The next call tries again.
func TestFailedSandboxSetupIsRetried(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("it", wasmtest.Answering(hosttest.Done), hosttest.Reads("it_reads")))
	h := w.Open(t, w.Options())
	w.Write(t, hosttest.Files{"state": ""})
	answer := hosttest.Call(t, h, "it_reads", `{}`)
	if answer.Failure != "sandbox" || !strings.Contains(string(answer.Result), w.Dir+"/state") {
		t.Errorf("got %+v", answer)
	}
	if err := os.Remove(w.Dir + "/state"); err != nil {
		t.Fatal(err)
	}
	if answer := hosttest.Call(t, h, "it_reads", `{}`); answer.IsError {
		t.Errorf("got %s", answer.Result)
	}
}

// cancelling is a gateway.Notifier of a client that cancels its call when it is announced.
type cancelling struct {
	silent
	cancel func()
}

func (c cancelling) Announce(context.Context) { c.cancel() }

// TestOnlyCallsThatWriteAreAnnounced cancels calls when they are announced: they have no effect yet.
func TestOnlyCallsThatWriteAreAnnounced(t *testing.T) {
	d := open(t, hosttest.Plugin("it", wasmtest.Answering(hosttest.Done), hosttest.Writes("it_writes")+hosttest.Reads("it_reads")))
	for tool, cancelled := range map[string]bool{"it_writes": true, "it_reads": false} {
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := callOf(t, d, tool).Execute(ctx, cancelling{cancel: cancel}); (err != nil) != cancelled {
			t.Errorf("%s: got %v", tool, err)
		}
		cancel()
	}
}

func TestCallWaitsForEarlierWrites(t *testing.T) {
	d := open(t, hosttest.Plugin("it", wasmtest.Answering(hosttest.Done), hosttest.Writes("it_writes")+hosttest.Reads("it_reads")))
	first, second, third := callOf(t, d, "it_writes"), callOf(t, d, "it_writes"), callOf(t, d, "it_reads")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := second.Execute(canceled, silent{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call that waits gave %v", err)
	}
	ended := make(chan error)
	go func() { _, err := third.Execute(t.Context(), silent{}); ended <- err }()
	select {
	case <-ended:
		t.Error("the read did not wait for the write")
	default:
	}
	for _, run := range []func() error{
		func() error { _, err := first.Execute(t.Context(), silent{}); return err },
		func() error { return <-ended },
	} {
		if err := run(); err != nil {
			t.Error(err)
		}
	}
}

// silent is a gateway.Notifier for a client that requested no notification.
type silent struct{}

func (silent) Notify(context.Context, string, json.RawMessage) error { return nil }

func (silent) Announce(context.Context) {}

func (silent) NotifyOf(context.Context, gateway.Source, string, json.RawMessage) error { return nil }
