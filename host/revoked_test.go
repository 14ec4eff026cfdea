package host_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
)

// revoker signs lists of revoked plugins.
type revoker struct{ key signature.Private }

func newRevoker(t *testing.T) revoker {
	t.Helper()
	key, err := signature.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return revoker{key}
}

// config is the table of a config that names the list.
func (r revoker) config() string {
	return fmt.Sprintf("[sources]\nrevocations = [{ from = '../list.toml', key = '%s' }]\n", r.key.Public())
}

// publish writes a list of revoked manifests, and then its signature.
func (r revoker) publish(t *testing.T, w *hosttest.World, serial int, manifests ...string) {
	t.Helper()
	list, sig := r.list(t, serial, manifests...)
	put(t, w, "list.toml", list)
	put(t, w, "list.toml.minisig", sig)
}

// list returns a list of revoked manifests, and its signature.
func (r revoker) list(t *testing.T, serial int, manifests ...string) (text, signature string) {
	t.Helper()
	text = fmt.Sprintf("revocations = 1\nserial = %d\nexpires = '2999-12-31'\n", serial)
	for _, m := range manifests {
		text += fmt.Sprintf("[[revoked]]\nsha256 = '%s'\nreason = 'it sends notes elsewhere'\n", userfile.Digest([]byte(m)))
	}
	sig, err := r.key.Sign(strings.NewReader(text), "x")
	if err != nil {
		t.Fatal(err)
	}
	return text, string(sig)
}

// withRevocations returns a world whose config serves the plugins a and b and names an empty list.
func withRevocations(t *testing.T) (*hosttest.World, revoker) {
	t.Helper()
	r := newRevoker(t)
	config := configOf("a", "b")
	config["work/bulkhead.toml"] = r.config() + config["work/bulkhead.toml"]
	w := hosttest.New(t, answering("a", "A"), answering("b", "B"), config)
	r.publish(t, w, 1)
	return w, r
}

func TestRevokedPluginIsNoLongerServedByRunningServer(t *testing.T) {
	w, r := withRevocations(t)
	c := watched(t, w, w.Options())
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), `"A"`)
	r.publish(t, w, 2, answering("a", "A")["plugins/a/plugin.toml"])
	c.wantNext(toolsChanged)
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), "a 0.1.0 is revoked with the reason", "it sends notes elsewhere")
	c.want(c.ask("tools/call", `{"name":"b_reads"}`), `"B"`)
	list := c.ask("tools/list", `{}`)
	if c.want(list, "b_reads"); strings.Contains(list, "a_reads") {
		t.Errorf("a_reads is listed: %s", list)
	}
	r.publish(t, w, 3)
	c.wantNext(toolsChanged)
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), `"A"`)
}

// TestRevocationHasEffectDespiteErrors makes the rest of a change invalid.
func TestRevocationHasEffectDespiteErrors(t *testing.T) {
	for name, spoil := range map[string]hosttest.Files{
		"an invalid config":              {"work/bulkhead.toml": "x = 1\n"},
		"an invalid ceiling":             {hosttest.Ceiling: "x = 1\n"},
		"a faulty plugin":                {"plugins/b/plugin.toml": "manifest = 2\n"},
		"a change of the revoked plugin": {"plugins/a/plugin.toml": "manifest = 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "an invalid ceiling" {
				skipWithoutCeiling(t)
			}
			w, r := withRevocations(t)
			h := w.Open(t, w.Options())
			c := connect(t, h)
			c.want(c.ask("tools/call", `{"name":"a_reads"}`), `"A"`)
			for file, text := range spoil {
				put(t, w, file, text)
			}
			if err := h.Reload(t.Context()); err == nil {
				t.Error("the change is not rejected")
			}
			c.want(c.ask("tools/call", `{"name":"a_reads"}`), `"A"`)
			r.publish(t, w, 2, answering("a", "A")["plugins/a/plugin.toml"])
			if err := h.Reload(t.Context()); err == nil {
				t.Error("the change is not rejected")
			}
			c.wantNext(toolsChanged)
			c.want(c.ask("tools/call", `{"name":"a_reads"}`), "a 0.1.0 is revoked")
			c.want(c.ask("tools/call", `{"name":"b_reads"}`), `"B"`)
		})
	}
}

// TestOlderListIsRefusedAfterARestart has the server keep the list that it read last.
func TestOlderListIsRefusedAfterARestart(t *testing.T) {
	w, r := withRevocations(t)
	r.publish(t, w, 2, answering("a", "A")["plugins/a/plugin.toml"])
	if err := w.Open(t, w.Options()).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.publish(t, w, 1)
	lines := make(logLines, 1000)
	o := w.Options()
	o.Log = hclog.New(&hclog.LoggerOptions{Output: lines})
	c := connect(t, w.Open(t, o))
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), "a 0.1.0 is revoked")
	for line := range lines {
		if strings.Contains(line, "it has the serial number 1, and number 2 was fetched before") {
			break
		}
	}
}

// TestCeilingThatForbidsPluginHasEffect changes the plugins that a ceiling allows while they are served, and what else is served.
func TestCeilingThatForbidsPluginHasEffect(t *testing.T) {
	skipWithoutCeiling(t)
	for name, ceiling := range map[string]string{"plugins": "[[plugins]]\nname = 'b'\n", "require_signature": "[[plugins]]\nname = 'a'\nrequire_signature = []\n[[plugins]]\nname = 'b'\n"} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, answering("a", "A"), answering("b", "B"), configOf("a"))
			h := w.Open(t, w.Options())
			c := connect(t, h)
			c.want(c.ask("tools/call", `{"name":"a_reads"}`), `"A"`)
			put(t, w, hosttest.Ceiling, ceiling)
			w.Write(t, configOf("a", "b"))
			reload(t, h)
			c.wantNext(toolsChanged)
			c.want(c.ask("tools/call", `{"name":"a_reads"}`), "a is not allowed: ")
			c.want(c.ask("tools/call", `{"name":"b_reads"}`), `"B"`)
		})
	}
}
