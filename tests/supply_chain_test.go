//go:build unix

package tests

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// machine is a user with a config and a store of plugins.
type machine struct {
	*testUser
	config string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	p := newTestUser(t, orchard())
	return &machine{p, p.path("bulkhead.toml")}
}

// command returns a command with the machine's config.
func (m *machine) command(args ...string) *exec.Cmd {
	m.t.Helper()
	cmd := exec.Command(built.program(m.t), append(args, "--config", m.config)...)
	cmd.Dir, cmd.Env = m.project, environment(m.t, "HOME="+m.home, "XDG_STATE_HOME="+m.path("state"), "XDG_DATA_HOME="+m.path("data"), "MCPKG_PROJECT=orchard", "AGENTPACK_MACHINE_ID=laptop-7")
	return cmd
}

// run runs a command that has the exit code want, and decodes what it prints as JSON, unless into is nil.
func (m *machine) run(want int, into any, args ...string) string {
	m.t.Helper()
	if into != nil {
		args = append(args, "--json")
	}
	var stderr strings.Builder
	cmd := m.command(args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != want {
		m.t.Fatalf("%q: %v, want exit code %d\n%s%s", args, err, want, out, stderr.String())
	}
	if into != nil {
		if err := json.Unmarshal(out, into); err != nil {
			m.t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	return string(out) + stderr.String()
}

// pinned is the answer of `bulkhead update --pinned`.
type pinned struct {
	OK      bool
	Plugins []struct{ Plugin, Version, State string }
}

// rollOut takes over the config of another machine, and fetches what it pins.
func (m *machine) rollOut(from *machine) pinned {
	m.t.Helper()
	putFile(m.t, m.config, readFile(m.t, from.config))
	var got pinned
	m.run(0, &got, "update", "--pinned")
	if !got.OK || len(got.Plugins) != len(workflowPlugins) {
		m.t.Errorf("got %+v", got)
	}
	return got
}

// stored returns the versions in the store by the digest of their manifest.
func (m *machine) stored() map[string]string {
	m.t.Helper()
	var list struct {
		Store struct {
			Plugins []struct{ Plugin, Version, SHA256 string }
		}
	}
	m.run(0, &list, "cache", "list")
	versions := map[string]string{}
	for _, p := range list.Store.Plugins {
		versions[p.SHA256] = p.Plugin + " " + p.Version
	}
	return versions
}

// author publishes plugins.
type author struct {
	*machine
	registry string
	key      string // file
}

// pushed is the answer of `bulkhead plugin push`.
type pushed struct{ From, SHA256, Signer string }

// push publishes a built plugin, whose manifest replace changes.
func (a *author) push(name string, replace *strings.Replacer) pushed {
	a.t.Helper()
	dir := filepath.Join(newDir(a.t, nil), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(built.plugins(a.t), name))); err != nil {
		a.t.Fatal(err)
	}
	manifest := filepath.Join(dir, "plugin.toml")
	putFile(a.t, manifest, replace.Replace(readFile(a.t, manifest)))
	var got pushed
	cmd := a.command("plugin", "push", "oci://"+a.registry+"/orchard/"+name, dir, "--key", a.key, "--json")
	cmd.Args = cmd.Args[:len(cmd.Args)-2] // without --config
	cmd.Stderr = a.t.Output()
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil {
		a.t.Fatalf("push %s: %v\n%s", name, err, out)
	}
	return got
}

// TestBundledPluginsFromPushToCall takes the plugins for workflows from their author to three machines: push, signature, add, roll-out by
// the pinned config, update, back without a network, and a server that calls each of them.
func TestBundledPluginsFromPushToCall(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	a := &author{machine: newMachine(t), registry: strings.TrimPrefix(server.URL, "http://")}
	a.key = a.path("home/signing.key")
	admin, second, third := newMachine(t), newMachine(t), newMachine(t)

	grants := map[string][]string{"mcpkg": {"--env", "MCPKG_PROJECT"}, "agentpack": {"--env", "HOME", "--env", "AGENTPACK_MACHINE_ID"}, "aam": {"--env", "HOME"}}
	want := map[string]string{}
	for _, name := range workflowPlugins {
		p := a.push(name, strings.NewReplacer())
		if again := a.push(name, strings.NewReplacer()); again != p {
			t.Errorf("pushing %s again gives %+v in place of %+v", name, again, p)
		}
		want[p.SHA256] = name + " 0.1.0"
		admin.run(0, nil, append([]string{"add", "oci://" + a.registry + "/orchard/" + name + ":0.1.0", "--signer", p.Signer, "--allow-write", "--yes"}, grants[name]...)...)
	}
	for _, m := range []*machine{second, third} {
		for _, p := range m.rollOut(admin).Plugins {
			if p.Version != "0.1.0" || p.State != "fetched" {
				t.Errorf("got %+v", p)
			}
		}
	}
	for name, m := range map[string]*machine{"admin": admin, "second": second, "third": third} {
		if diff := cmp.Diff(want, m.stored()); diff != "" {
			t.Errorf("the store of %s (-want +got)\n%s", name, diff)
		}
	}

	// A new version of one plugin reaches those who update.
	before := readFile(t, admin.config)
	newer := a.push("chant", strings.NewReplacer(`version     = "0.1.0"`, `version     = "0.1.1"`))
	if text := admin.run(1, nil, "update", "--check"); !strings.Contains(text, "0.1.1 is the newest that ") {
		t.Errorf("got %s", text)
	}
	admin.run(0, nil, "update", "--yes")
	if after := readFile(t, admin.config); !containsAll(after, newer.SHA256, `version = "^0.1.1"`, newer.From) || strings.Count(after, `"^0.1.0"`) != len(workflowPlugins)-1 {
		t.Errorf("the config is\n%s", after)
	}
	second.rollOut(admin)
	updated := maps.Clone(want)
	updated[newer.SHA256] = "chant 0.1.1"
	if diff := cmp.Diff(updated, second.stored()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}

	// Nothing below needs the registry.
	server.Close()
	second.run(0, nil, "update", "chant", "--to", "0.1.0", "--yes")
	if diff := cmp.Diff(before, readFile(t, second.config)); diff != "" {
		t.Errorf("the config after going back (-before +after)\n%s", diff)
	}
	var offline pinned
	if third.run(0, &offline, "update", "--pinned"); !offline.OK {
		t.Errorf("got %+v", offline)
	}
	for name, m := range map[string]*machine{"admin": admin, "second": second, "third": third} {
		t.Run(name, func(t *testing.T) { callAll(t, m) })
	}
}

// callAll calls each of the plugins through a server of their store.
func callAll(t *testing.T, m *machine) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: m.command("serve", "--project", m.project)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := pluginsClient{session, t}
	user := *m.testUser
	user.t = t
	c.chant(&user)
	c.openspec(&user)
	c.mcpkg(&user)
	c.agentpack(&user)
	c.mustCall("aam_create_package", members{"name": "orchard-kit", "description": "Care for trees"}, nil)
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
