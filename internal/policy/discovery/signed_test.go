package discovery_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
)

func newKey(t *testing.T) signature.Private {
	t.Helper()
	key, err := signature.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, key signature.Private, data []byte, comment string) string {
	t.Helper()
	text, err := key.Sign(bytes.NewReader(data), comment)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// record replaces the record of the origin of the plugin in dir, as the user who owns the store can.
func record(t *testing.T, dir string, o store.Origin) {
	t.Helper()
	text, err := json.Marshal(o)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "origin.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCeilingRequiresSignature serves a plugin of the store only with a signature of an accepted key for this very manifest, whatever the
// record in the store claims.
func TestCeilingRequiresSignature(t *testing.T) {
	data := packed(t)
	p, err := store.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	accepted, other, comment := newKey(t), newKey(t), store.SignedComment(p.Manifest)
	good := sign(t, accepted, data, comment)
	lines := strings.SplitAfter(good, "\n")
	claim := accepted.Public().String()
	for name, c := range map[string]struct {
		signer, signature string
		want              string
	}{
		"signed":                   {claim, good, ""},
		"without a claimed signer": {"", good, ""},
		"not signed":               {"", "", "it is not signed"},
		"a claimed signer only":    {claim, "", "it is not signed"},
		"another key":              {claim, sign(t, other, data, comment), "it is signed with the key " + other.Public().String()},
		"another key that claims the accepted one": {claim, strings.Replace(sign(t, other, data, comment), other.Public().String(), claim, 1), "it is signed with a key with the identifier " + other.Public().ID()},
		"another plugin of the accepted key":       {claim, sign(t, accepted, []byte("x"), "it 1.0.0 plugin.toml sha256:"+strings.Repeat("a", 64)), `its signature is for "it 1.0.0 plugin.toml sha256:aaaa`},
		"another version of the accepted key":      {claim, sign(t, accepted, data, strings.Replace(comment, "1.0.0", "1.0.1", 1)), "its signature is for"},
		"the digest in another comment":            {claim, sign(t, accepted, data, "x "+comment), "its signature is for"},
		"a comment of minisign":                    {claim, sign(t, accepted, data, "timestamp:1\tfile:it.tar"), `its signature is for "timestamp:1\tfile:it.tar" and not for it 1.0.0`},
		"a changed comment":                        {claim, lines[0] + lines[1] + "trusted comment: " + strings.Replace(comment, "1.0.0", "1.0.0", 1) + " \n" + lines[3], "its signature was changed"},
		"no signature":                             {claim, "x", "the record of its signature cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t)
			o, dir := stored(t, w, "")
			w.Write(t, hosttest.Files{hosttest.Ceiling: "[ceiling]\nrequire_signature = ['" + newKey(t).Public().String() + "', '" + claim + "']\n"})
			record(t, dir, store.Origin{From: "file:/it.tar", Archive: p.Archive, Signer: c.signer, Signature: c.signature})
			view, err := catalog.Look(o)
			if err != nil {
				t.Fatal(err)
			}
			problem := view.Plugins[0].Problem
			if c.want == "" {
				if problem != "" {
					t.Error(problem)
				}
				return
			}
			for _, want := range []string{"bulkhead.toml:1: plugins[0]: it is not allowed: " + c.want, "and ceiling.require_signature (" + w.Dir + "/etc/bulkhead.toml:2) requires a signature", "remedy: ", "the administrator of this machine"} {
				if !strings.Contains(problem, want) {
					t.Errorf("got %q, want %q", problem, want)
				}
			}
		})
	}
}

// TestConfigPinsSigners has keys for name spaces in the config and in the ceiling: both must accept the key.
func TestConfigPinsSigners(t *testing.T) {
	data := packed(t)
	p, err := store.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	author, other := newKey(t), newKey(t)
	pin := func(key signature.Private) string {
		return "[sources.keys]\n'i*' = ['" + key.Public().String() + "']\n"
	}
	for name, c := range map[string]struct{ config, ceiling, want string }{
		"the config":                  {pin(author), "", ""},
		"the ceiling":                 {"", pin(author), ""},
		"both":                        {pin(author), pin(author), ""},
		"another key of the config":   {pin(other), pin(author), `bulkhead.toml:1: plugins[0]: it is not allowed: it is signed with the key ` + author.Public().String() + `, and sources.keys."i*" (`},
		"another key of the ceiling":  {pin(author), pin(other), `etc/bulkhead.toml:2) requires a signature`},
		"another name of the ceiling": {"", "[sources.keys]\n'j*' = ['" + other.Public().String() + "']\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t)
			o, dir := stored(t, w, c.config)
			w.Write(t, hosttest.Files{hosttest.Ceiling: c.ceiling})
			record(t, dir, store.Origin{From: "file:/it.tar", Archive: p.Archive, Signature: sign(t, author, data, store.SignedComment(p.Manifest))})
			view, err := catalog.Look(o)
			if err != nil {
				t.Fatal(err)
			}
			if problem := view.Plugins[0].Problem; (problem == "") != (c.want == "") || !strings.Contains(problem, c.want) {
				t.Errorf("got %q, want %q", problem, c.want)
			}
		})
	}
	w := hosttest.New(t, greedy())
	put(t, w, "own.toml", everything+"[sources.keys]\n'*' = []\n")
	o := discovering(w)
	o.ConfigFile = w.Dir + "/own.toml"
	if view, err := catalog.Look(o); err != nil || view.Plugins[0].Problem != "" {
		t.Errorf("a directory that the config names: %q, %v", view.Plugins[0].Problem, err)
	}
}

func TestCeilingThatPinsDigestRequiresNoSignature(t *testing.T) {
	w := hosttest.New(t)
	o, _ := stored(t, w, "")
	strict := "[ceiling]\nrequire_signature = []\n[[plugins]]\nname = 'it'\n"
	for _, c := range []struct {
		ceiling, want string
	}{{strict, "it is not signed"}, {strict + "sha256 = '" + digestOf(t) + "'\n", ""}} {
		put(t, w, hosttest.Ceiling, c.ceiling)
		view, err := catalog.Look(o)
		if err != nil {
			t.Fatal(err)
		}
		if got := view.Plugins[0].Problem; (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// digestOf returns the digest of the manifest of the plugin "it".
func digestOf(t *testing.T) string {
	t.Helper()
	p, err := store.Open(packed(t))
	if err != nil {
		t.Fatal(err)
	}
	return p.Manifest.Digest
}

func TestCeilingRequiresSignatureOfEveryPlugin(t *testing.T) {
	key := newKey(t).Public().String()
	strict := "[ceiling]\nrequire_signature = ['" + key + "']\n"
	for name, c := range map[string]struct {
		set  func(t *testing.T, w *hosttest.World, o *discovery.Options)
		want string
	}{
		"a directory": {func(t *testing.T, w *hosttest.World, o *discovery.Options) {
			put(t, w, "own.toml", everything)
			o.ConfigFile = w.Dir + "/own.toml"
		}, "own.toml:1: plugins[0]: greedy is not allowed: it is a directory, which is not signed"},
		"--no-config": {func(t *testing.T, w *hosttest.World, o *discovery.Options) {
			o.NoConfig, o.PluginsDir = true, w.Dir+"/plugins"
		}, "plugins/greedy/plugin.toml: greedy is not allowed: it is a directory, which is not signed"},
		"an installed plugin": {func(t *testing.T, w *hosttest.World, o *discovery.Options) {
			put(t, w, "own.toml", "[[plugins]]\nname = 'greedy'\n")
			w.Env["BULKHEAD_PLUGINS"] = w.Dir + "/plugins"
			o.ConfigFile = w.Dir + "/own.toml"
		}, "own.toml:1: plugins[0]: greedy is not allowed: it is a directory, which is not signed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := bounded(t, strict)
			o := discovering(w)
			c.set(t, w, &o)
			view, err := catalog.Look(o)
			if err != nil {
				t.Fatal(err)
			}
			p := view.Plugins[0]
			if !strings.Contains(p.Problem, c.want) || len(p.Tools) > 0 {
				t.Errorf("got %q and %d tools, want %q", p.Problem, len(p.Tools), c.want)
			}
		})
	}
}
