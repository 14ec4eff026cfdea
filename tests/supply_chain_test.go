//go:build unix

package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry/registrytest"
)

// machine is a user with a config and a store of plugins.
type machine struct {
	*testUser
	config string
	env    []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	p := newTestUser(t, orchard())
	return &machine{testUser: p, config: p.path("bulkhead.toml")}
}

// command returns a command with the machine's config.
func (m *machine) command(args ...string) *exec.Cmd {
	m.t.Helper()
	cmd := exec.Command(built.program(m.t), append(args, "--config", m.config)...)
	cmd.Dir, cmd.Env = m.project, environment(m.t, "HOME="+m.home, "XDG_STATE_HOME="+m.path("state"), "XDG_DATA_HOME="+m.path("data"), "MCPKG_PROJECT=orchard", "AGENTPACK_MACHINE_ID=laptop-7")
	cmd.Env = append(cmd.Env, m.env...)
	return cmd
}

// withoutConfig returns a command that takes no config.
func (m *machine) withoutConfig(args ...string) *exec.Cmd {
	m.t.Helper()
	cmd := m.command(args...)
	cmd.Args = cmd.Args[:len(cmd.Args)-2]
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

// rollOut takes over the config of another machine, which pins n plugins, and fetches them.
func (m *machine) rollOut(from *machine, n int) pinned {
	m.t.Helper()
	putFile(m.t, m.config, readFile(m.t, from.config))
	var got pinned
	m.run(0, &got, "update", "--pinned")
	if !got.OK || len(got.Plugins) != n {
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

// catalogue is the reference of the author's catalogue.
func (a *author) catalogue() string { return "oci://" + a.registry + "/orchard/catalogue:latest" }

// pushed is the answer of `bulkhead plugin push`.
type pushed struct {
	From, SHA256, Signer string
	Serial               int
}

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
	cmd := a.pushCommand(name, dir)
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

func (a *author) pushCommand(name, dir string) *exec.Cmd {
	a.t.Helper()
	return a.withoutConfig("plugin", "push", "oci://"+a.registry+"/orchard/"+name, dir, "--key", a.key, "--catalogue", a.catalogue(), "--json")
}

// revoke adds plugins to the author's list of revoked plugins, and returns the path of the list.
func (a *author) revoke(digests ...string) string {
	a.t.Helper()
	list := a.path("revoked.toml")
	args := append([]string{"plugin", "revoke", list, "--key", a.key, "--expires", "2999-12-31", "--reason", "drops every second tree"}, digests...)
	if out, err := a.withoutConfig(args...).CombinedOutput(); err != nil {
		a.t.Fatalf("%v\n%s", err, out)
	}
	return list
}

// TestBundledPluginsFromPushToCall takes the plugins for workflows from their author to three machines: push, signature, catalogue, search, add
// by name, roll-out by the pinned config, update, back without a network, a server that calls each of them, and revocation.
func TestBundledPluginsFromPushToCall(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	a := &author{machine: newMachine(t), registry: strings.TrimPrefix(server.URL, "http://")}
	a.key = a.path("home/signing.key")
	admin, second, third := newMachine(t), newMachine(t), newMachine(t)

	first := a.push(workflowPlugins[0], strings.NewReplacer())
	putFile(t, admin.config, fmt.Sprintf("[sources]\ncatalogues = [{ from = %q, key = %q }]\nrevocations = [{ from = %q, key = %[2]q }]\n", a.catalogue(), first.Signer, a.revoke()))
	grants := map[string][]string{"mcpkg": {"--env", "MCPKG_PROJECT"}, "agentpack": {"--env", "HOME", "--env", "AGENTPACK_MACHINE_ID"}, "aam": {"--env", "HOME"}}
	want := map[string]string{}
	for _, name := range workflowPlugins {
		p := a.push(name, strings.NewReplacer())
		if again := a.push(name, strings.NewReplacer()); again != p {
			t.Errorf("pushing %s again gives %+v in place of %+v", name, again, p)
		}
		want[p.SHA256] = name + " 0.1.0"
	}
	var found struct {
		Plugins []struct{ Name, Version, From, Signer string }
	}
	admin.run(0, &found, "search")
	for _, name := range workflowPlugins {
		if !slices.ContainsFunc(found.Plugins, func(p struct{ Name, Version, From, Signer string }) bool {
			return p.Name == name && p.Version == "0.1.0" && p.Signer == first.Signer && strings.HasPrefix(p.From, "oci://"+a.registry+"/orchard/"+name)
		}) {
			t.Errorf("%s is not found in %+v", name, found)
		}
		if out := admin.run(0, nil, append([]string{"add", name + "@^0.1.0", "--allow-write", "--yes"}, grants[name]...)...); !strings.Contains(out, first.Signer+", as the catalogue says") {
			t.Errorf("got %s", out)
		}
	}
	for _, m := range []*machine{second, third} {
		for _, p := range m.rollOut(admin, len(workflowPlugins)).Plugins {
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
	second.rollOut(admin, len(workflowPlugins))
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

	// The new version is revoked: it is served nowhere, the former one still is.
	a.revoke(newer.SHA256)
	if text := admin.run(1, nil, "update", "--check"); !strings.Contains(text, `chant 0.1.1 is revoked with the reason "drops every second tree"`) {
		t.Errorf("got %s", text)
	}
	for m, served := range map[*machine]bool{admin: false, second: true, third: true} {
		c := connectMachine(t, m)
		if names := c.names(); slices.Contains(names, "chant_status") != served || !slices.Contains(names, "openspec_list") {
			t.Errorf("the server offers %q, and chant is revoked: %t", names, !served)
		}
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// connectMachine starts a server of the machine's plugins.
func connectMachine(t *testing.T, m *machine) pluginsClient {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: m.command("serve", "--project", m.project)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pluginsClient{session, t}
}

// callAll calls each of the plugins through a server of their store.
func callAll(t *testing.T, m *machine) {
	t.Helper()
	c := connectMachine(t, m)
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

// TestPluginFromRegistriesOfOthers takes a plugin through registries of other projects, with TLS and basic authentication: push, add, update,
// back, and to a machine without a network.
func TestPluginFromRegistriesOfOthers(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "darwin" {
		t.Skip("programs in Go ignore SSL_CERT_FILE on macOS")
	}
	registrytest.Each(t, func(t *testing.T, s *registrytest.Server) {
		trusting := []string{"SSL_CERT_FILE=" + s.Certificate, "DOCKER_CONFIG=" + s.DockerConfig(t)}
		a := &author{machine: newMachine(t), registry: s.Host}
		a.key = a.path("home/signing.key")
		for want, env := range map[string][]string{"certificate": nil, "docker login " + s.Host: trusting[:1]} {
			a.env = env
			if out, err := a.pushCommand("hello", filepath.Join(built.plugins(t), "hello")).CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
				t.Errorf("with %q: %v, want %q\n%s", env, err, want, out)
			}
		}
		a.env = trusting
		first := a.push("hello", strings.NewReplacer())

		online, offline := newMachine(t), newMachine(t)
		online.env = trusting
		online.run(0, nil, "add", "oci://"+s.Host+"/orchard/hello:0.1.0", "--signer", first.Signer, "--yes")
		before := readFile(t, online.config)
		second := a.push("hello", strings.NewReplacer(`"0.1.0"`, `"0.1.1"`))
		online.run(0, nil, "update", "--yes")
		if after := readFile(t, online.config); !containsAll(after, second.SHA256, second.From) {
			t.Errorf("the config is\n%s", after)
		}
		s.Stop()
		online.run(0, nil, "update", "hello", "--to", "0.1.0", "--yes")
		if diff := cmp.Diff(before, readFile(t, online.config)); diff != "" {
			t.Errorf("the config after going back (-before +after)\n%s", diff)
		}

		exported := t.TempDir()
		online.run(0, nil, "cache", "export", "--out", exported)
		if out, err := offline.withoutConfig("cache", "import", exported).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		offline.rollOut(online, 1)
		if text := offline.run(0, nil, "call", "hello_greet", "--arg", "name=Ada"); !strings.Contains(text, "Hello, Ada!") {
			t.Errorf("got %s", text)
		}
	})
}

// TestAddOnNewMachineFetchesRevocations adds plugins where no list of revoked plugins was fetched yet.
func TestAddOnNewMachineFetchesRevocations(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	a := &author{machine: newMachine(t), registry: strings.TrimPrefix(server.URL, "http://")}
	a.key = a.path("home/signing.key")
	good, bad := a.push("chant", strings.NewReplacer()), a.push("mcpkg", strings.NewReplacer())
	list := "oci://" + a.registry + "/orchard/revoked:latest"
	if out, err := a.withoutConfig("plugin", "revoke", a.path("revoked.toml"), bad.SHA256, "--key", a.key, "--reason", "drops every second tree", "--push", list).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	admin := newMachine(t)
	putFile(t, admin.config, fmt.Sprintf("[sources]\ncatalogues = [{ from = %q, key = %q }]\nrevocations = [{ from = %q, key = %[2]q }]\n", a.catalogue(), good.Signer, list))
	if out := admin.run(2, nil, "add", bad.From, "--yes"); !strings.Contains(out, "is revoked with the reason") {
		t.Errorf("got %s", out)
	}
	fresh := newMachine(t)
	putFile(t, fresh.config, readFile(t, admin.config))
	if out := fresh.run(0, nil, "add", "chant", "--yes"); !strings.Contains(out, "Added chant to ") {
		t.Errorf("got %s", out)
	}

	// The list that was fetched stays in force while it cannot be fetched.
	server.Close()
	if out := fresh.run(2, nil, "add", "chant", "--repin", "--yes"); !strings.Contains(out, "warning: list of revoked plugins "+list+": ") {
		t.Errorf("got %s", out)
	}
}
