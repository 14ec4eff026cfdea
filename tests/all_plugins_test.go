//go:build unix

package tests

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// workflowPlugins has the names of the plugins for workflows of projects, which the demo shows.
var workflowPlugins = []string{"chant", "openspec", "mcpkg", "agentpack", "aam"}

// allPlugins has the names of all plugins, in the order of the config in testdata/all-plugins.
var allPlugins = append(slices.Clone(workflowPlugins),
	"filesystem",
	"memory",
	"time",
	"fetch",
)

// orchard returns files for newTestUser: those of a user who works with all plugins.
func orchard() map[string]string {
	files := map[string]string{
		"home/.aam/config.yaml":                   "default_platform: cursor\nregistries: [{name: team, url: 'file://BASE/registry', default: true}]\n",
		"project/.chant/specs/" + goodID + ".md":  specText("pending", "Water the trees"),
		"project/openspec/specs/watering/spec.md": "# Watering\n\n## Purpose\nTrees get water before they are dry, and not after that.\n\n## Requirements\n\n### Requirement: Morning\nThe system SHALL water in the morning.\n\n#### Scenario: Dry\n- **WHEN** the soil is dry\n- **THEN** it is watered\n",
		"project/.aam/.keep":                      "",
		"project/skills/prune/SKILL.md":           "---\nname: prune\ndescription: Prunes trees\n---\n\n# Prune\n",
	}
	maps.Copy(files, agentpackRepo(2, "Prune the trees.\n"))
	return files
}

// pluginsClient is a client of the official Go SDK, connected to a server of all plugins.
type pluginsClient struct {
	*mcp.ClientSession
	t *testing.T
}

func connectPlugins(t *testing.T, p *testUser, args ...string) pluginsClient {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: p.command(args...)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return pluginsClient{session, t}
}

// names lists the tool names.
func (c pluginsClient) names() []string {
	c.t.Helper()
	list, err := c.ListTools(c.t.Context(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// mustCall makes a call that must succeed and returns its text. Unless into is nil, it decodes the structured content into it.
func (c pluginsClient) mustCall(tool string, arguments, into any) string {
	c.t.Helper()
	result, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil || result.IsError || len(result.Content) != 1 {
		c.t.Fatalf("%s %v: %v %s", tool, arguments, err, jsonOf(c.t, result))
	}
	if into != nil {
		if err := json.Unmarshal([]byte(jsonOf(c.t, result.StructuredContent)), into); err != nil {
			c.t.Fatalf("%s: %v", tool, err)
		}
	}
	return result.Content[0].(*mcp.TextContent).Text
}

// toolsOf returns the tool names of a plugin's manifest, and those with write access. It does not use the host's parser.
func toolsOf(t *testing.T, plugin string) (all, write []string) {
	t.Helper()
	var manifest struct {
		Tools []struct{ Name, Access string }
	}
	if _, err := toml.DecodeFile(filepath.Join("..", "plugins", plugin, "plugin.toml"), &manifest); err != nil {
		t.Fatal(err)
	}
	for _, tool := range manifest.Tools {
		all = append(all, tool.Name)
		if tool.Access == "write" {
			write = append(write, tool.Name)
		}
	}
	return all, write
}

// TestToolsHaveTitlesDescriptionsAndIcons compares the texts for users, which clients show in place of names.
func TestToolsHaveTitlesDescriptionsAndIcons(t *testing.T) {
	t.Parallel()
	c := connectPlugins(t, newTestUser(t, orchard()), "--allow-write")
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	titles, icons := map[string]string{}, map[string]bool{}
	for _, tool := range list.Tools {
		if tool.Title == "" || len(tool.Description) < 20 || len(tool.Icons) != 1 || !strings.HasPrefix(tool.Icons[0].Source, "data:image/png;base64,") {
			t.Errorf("%s: title %q, description %q, %d icons", tool.Name, tool.Title, tool.Description, len(tool.Icons))
			continue
		}
		if other := titles[tool.Title]; other != "" {
			t.Errorf("%s and %s have the title %q", other, tool.Name, tool.Title)
		}
		titles[tool.Title], icons[tool.Icons[0].Source] = tool.Name, true
	}
	if len(icons) != len(allPlugins) {
		t.Errorf("%d plugins have %d icons", len(allPlugins), len(icons))
	}
}

// TestAllPluginsInOneServer lists, reads and writes with every plugin through one server.
func TestAllPluginsInOneServer(t *testing.T) {
	t.Parallel()
	p := newTestUser(t, orchard())
	c := connectPlugins(t, p, "--allow-write")
	if got := c.InitializeResult(); got.ServerInfo.Name != "bulkhead" || got.Capabilities.Prompts == nil || got.Capabilities.Resources == nil {
		t.Errorf("got %s", jsonOf(t, got))
	}
	var want []string
	for _, plugin := range allPlugins {
		all, _ := toolsOf(t, plugin)
		want = append(want, all...)
	}
	if diff := cmp.Diff(want, c.names()); diff != "" || len(want) < 50 {
		t.Errorf("%d tools (-want +got)\n%s", len(want), diff)
	}
	c.chant(p)
	c.openspec(p)
	c.mcpkg(p)
	c.agentpack(p)
	c.aam(p)
	c.filesystem(p)
	c.prompts()
	c.resources()
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func (c pluginsClient) chant(p *testUser) {
	c.t.Helper()
	if got := c.mustCall("chant_status", members{"brief": true}, nil); !strings.HasPrefix(got, "1 pending") {
		c.t.Errorf("got %s", got)
	}
	c.mustCall("chant_add", members{"description": "Warn of frost"}, nil)
	specs := filesBelow(snapshot(c.t, p.project), ".chant/specs")
	if len(specs) != 2 || !slices.ContainsFunc(slices.Collect(maps.Values(specs)), func(text string) bool { return strings.Contains(text, "# Warn of frost") }) {
		c.t.Errorf("the specs are %q", specs)
	}
}

func (c pluginsClient) openspec(p *testUser) {
	c.t.Helper()
	if got := c.mustCall("openspec_list", members{"type": "specs"}, nil); !strings.Contains(got, `"watering"`) {
		c.t.Errorf("got %s", got)
	}
	c.mustCall("openspec_create_change", members{"name": "warn-of-frost", "description": "Before it is too late"}, nil)
	if got := readFile(c.t, p.path("project/openspec/changes/warn-of-frost/README.md")); !strings.Contains(got, "Before it is too late") {
		c.t.Errorf("got %s", got)
	}
}

func (c pluginsClient) mcpkg(p *testUser) {
	c.t.Helper()
	c.mustCall("create_prompt", members{"name": "harvest", "content": "Which apples are ripe?"}, nil)
	c.mustCall("create_resource", members{"name": "map", "uri": "orchard://map", "content": "north: apples"}, nil)
	items := func(name string) bool { return strings.HasSuffix(name, ".item") }
	if kept := slices.Collect(maps.Keys(snapshot(c.t, p.path("state")))); !slices.ContainsFunc(kept, items) {
		c.t.Errorf("no item in the state directories: %q", kept)
	}
	if got := c.mustCall("export_project", nil, nil); !containsAll(got, "Which apples are ripe?", "orchard://map") {
		c.t.Errorf("got %s", got)
	}
}

func (c pluginsClient) filesystem(p *testUser) {
	c.t.Helper()
	c.mustCall("write_file", members{"path": "frost.txt", "content": "Cover the trees"}, nil)
	if got := c.mustCall("search_files", members{"path": ".", "pattern": "*.txt"}, nil); got != p.path("project/frost.txt") {
		c.t.Errorf("got %s", got)
	}
}

// deployed is the data of agentpack's answers that the tests read.
type deployed struct {
	Data struct {
		Applied    bool   `json:"applied"`
		Token      string `json:"confirm_token"`
		SnapshotID string `json:"snapshot_id"`
		Changes    []struct {
			Op   string `json:"op"`
			Path string `json:"path"`
		} `json:"changes"`
	} `json:"data"`
}

// agentpack deploys twice and rolls back to the first deploy.
func (c pluginsClient) agentpack(p *testUser) {
	c.t.Helper()
	const module, out = "home/.agentpack/repo/modules/prompt-000/prompt-000.md", "home/.codex/prompts/prompt-000.md"
	var plan, first, second deployed
	c.mustCall("plan", members{}, &plan)
	if len(plan.Data.Changes) != 2 || plan.Data.Changes[0].Op != "create" || plan.Data.Changes[0].Path != p.path(out) {
		c.t.Errorf("the plan is %+v", plan)
	}
	apply := func(done *deployed, want string) {
		c.t.Helper()
		var planned deployed
		c.mustCall("deploy", members{}, &planned)
		c.mustCall("deploy_apply", members{"yes": true, "confirm_token": planned.Data.Token}, done)
		if got := readFile(c.t, p.path(out)); got != want || !done.Data.Applied {
			c.t.Errorf("deployed %q, answer %+v", got, done)
		}
	}
	apply(&first, "Prune the trees.\n")
	putFile(c.t, p.path(module), "Prune them in winter.\n")
	apply(&second, "Prune them in winter.\n")
	c.mustCall("rollback", members{"yes": true, "to": first.Data.SnapshotID}, nil)
	if got := readFile(c.t, p.path(out)); got != "Prune the trees.\n" {
		c.t.Errorf("after the rollback the file holds %q", got)
	}
}

// aam creates a package, publishes it, and installs it.
func (c pluginsClient) aam(p *testUser) {
	c.t.Helper()
	c.mustCall("aam_create_package", members{"name": "orchard-kit", "description": "Care for trees"}, nil)
	c.mustCall("aam_publish", members{}, nil)
	var found struct {
		Result []struct{ Name, Version string }
	}
	c.mustCall("aam_search", members{"query": "trees"}, &found)
	if len(found.Result) != 1 || found.Result[0].Name != "orchard-kit" || found.Result[0].Version != "0.1.0" {
		c.t.Errorf("found %+v", found)
	}
	c.mustCall("aam_install", members{"packages": []string{"orchard-kit"}}, nil)
	for _, file := range []string{"project/.aam/packages/orchard-kit/aam.yaml", "project/.cursor/skills/prune/SKILL.md"} {
		if _, err := os.Stat(p.path(file)); err != nil {
			c.t.Error(err)
		}
	}
}

func (c pluginsClient) prompts() {
	c.t.Helper()
	list, err := c.ListPrompts(c.t.Context(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for _, prompt := range list.Prompts {
		names = append(names, prompt.Name)
	}
	if diff := cmp.Diff([]string{"proposal", "apply", "archive", "harvest", "fetch"}, names); diff != "" {
		c.t.Errorf("prompts (-want +got)\n%s", diff)
	}
	for name, want := range map[string]string{"proposal": "openspec_create_change", "harvest": "Which apples are ripe?"} {
		prompt, err := c.GetPrompt(c.t.Context(), &mcp.GetPromptParams{Name: name})
		if err != nil || len(prompt.Messages) != 1 || !strings.Contains(prompt.Messages[0].Content.(*mcp.TextContent).Text, want) {
			c.t.Errorf("%s: %v %s", name, err, jsonOf(c.t, prompt))
		}
	}
}

func (c pluginsClient) resources() {
	c.t.Helper()
	list, err := c.ListResources(c.t.Context(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	var uris []string
	for _, resource := range list.Resources {
		uris = append(uris, resource.URI)
	}
	for uri, want := range map[string]string{
		"openspec://specs":         "watering",
		"orchard://map":            "north: apples",
		"aam://packages/installed": "orchard-kit",
	} {
		read, err := c.ReadResource(c.t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || len(read.Contents) != 1 || !strings.Contains(read.Contents[0].Text, want) {
			c.t.Errorf("%s: %v %s", uri, err, jsonOf(c.t, read))
		}
		if !slices.Contains(uris, uri) {
			c.t.Errorf("%s is not in the list: %q", uri, uris)
		}
	}
}

// TestListingLoadsNoModule checks that tools of invalid modules are listed, and that listing creates no state directory.
func TestListingLoadsNoModule(t *testing.T) {
	t.Parallel()
	p := newTestUser(t, orchard())
	p.plugins = copyPlugins(t, allPlugins...)
	var want []string
	for _, plugin := range allPlugins {
		putFile(t, filepath.Join(p.plugins, plugin, plugin+".wasm"), "no module")
		all, _ := toolsOf(t, plugin)
		want = append(want, all...)
	}
	s := p.serve("--allow-write")
	s.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if diff := cmp.Diff(want, s.names()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if left := snapshot(t, p.path("state")); len(left) != 1 {
		t.Errorf("listing created %q", left)
	}
	for tool, arguments := range map[string]string{"chant_status": `{}`, "openspec_list": `{}`, "export_project": `{}`, "plan": `{}`, "aam_list": `{}`} {
		if r := s.call(tool, arguments); !r.IsError || r.Failure != "digest_mismatch" {
			t.Errorf("%s of an invalid module: %+v", tool, r)
		}
	}
	s.end()
}

// TestWriteToolsNeedAllowWrite checks that aam's writing tools, with write = "opt-in" in the manifest, require a flag, and
// that those of other plugins do not.
func TestWriteToolsNeedAllowWrite(t *testing.T) {
	t.Parallel()
	all, write := toolsOf(t, "aam")
	if len(all) != 13 || len(write) != 6 {
		t.Fatalf("aam has the tools %q, of which %q write", all, write)
	}
	p := newTestUser(t, orchard())
	before := snapshot(t, p.dir)
	s := p.serve()
	names := s.names()
	for _, tool := range all {
		if granted := !slices.Contains(write, tool); slices.Contains(names, tool) != granted {
			t.Errorf("%s is listed: %t", tool, !granted)
		}
	}
	if !slices.Contains(names, "chant_add") || !slices.Contains(names, "deploy_apply") {
		t.Errorf("writing tools of other plugins are missing: %q", names)
	}
	for _, tool := range write {
		s.wantUnknown(tool)
	}
	s.mustCall("aam_search", `{"query":""}`)
	s.end()
	if diff := cmp.Diff(before, withoutState(snapshot(t, p.dir))); diff != "" {
		t.Errorf("files changed (-before +after)\n%s", diff)
	}
	if s := p.serve("--allow-write"); len(s.names()) != len(names)+len(write) {
		t.Errorf("with --allow-write: got %q", s.names())
	}
}

// withoutState removes the host's state directories from a snapshot.
func withoutState(files map[string]string) map[string]string {
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasPrefix(name, "state/") })
	return files
}
