package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	aamsample "github.com/bulkhead-mcp/bulkhead/plugins/aam/sample"
	aam "github.com/bulkhead-mcp/bulkhead/plugins/aam/tools"
	agentpack "github.com/bulkhead-mcp/bulkhead/plugins/agentpack/tools"
	chant "github.com/bulkhead-mcp/bulkhead/plugins/chant/tools"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/sample"
	openspec "github.com/bulkhead-mcp/bulkhead/plugins/openspec/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// subject is a call of a plugin whose cost grows with the size of the data.
type subject struct {
	plugin    string
	register  func(*sdk.Plugin)
	tool      string
	arguments string
	generate  func(b *testing.B, project string, n int)
	sizes     []int // number of items
}

var subjects = []subject{
	{"chant", chant.Register, "chant_spec_list", `{}`, writeSpecs, projects},
	{"chant", chant.Register, "chant_search", `{"query":"nothing has this"}`, writeSpecs, projects},
	{"openspec", openspec.Register, "openspec_list", `{}`, writeChanges, projects},
	{"openspec", openspec.Register, "openspec_validate", `{"all":true}`, writeChanges, projects},
	{"aam", aam.Register, "aam_search", `{"query":"audit"}`, writeRegistry, registries},
	{"agentpack", registerAgentpack, "plan", `{}`, writeModules, projects},
	{"agentpack", registerAgentpack, "status", `{}`, writeModules, projects},
}

// The numbers of items in projects of one user, and in registries that many users share.
var (
	projects   = []int{10, 100, 1_000}
	registries = []int{100, 1_000, 10_000}
)

// BenchmarkPlugins alternately calls the same handlers in a module and natively. x-native is the ratio of their times; ns/item
// shows how the time grows with the data.
func BenchmarkPlugins(b *testing.B) {
	pluginsDir := filepath.Join(b.TempDir(), "plugins")
	built := map[string]bool{}
	for _, s := range subjects {
		for _, n := range s.sizes {
			b.Run(fmt.Sprintf("%s/%d", s.tool, n), func(b *testing.B) {
				if !built[s.plugin] {
					if _, err := build.Build(b.Context(), filepath.Join("..", "..", "plugins", s.plugin), build.Options{Out: pluginsDir}); err != nil {
						b.Fatal(err)
					}
					built[s.plugin] = true
				}
				s.run(b, pluginsDir, n)
			})
		}
	}
}

func (s subject) run(b *testing.B, pluginsDir string, n int) {
	project := b.TempDir()
	s.generate(b, project, n)
	module := s.module(b, pluginsDir, project) // start it before native changes HOME of the process
	native := s.native(b, project)
	native() // warm up both functions
	module()
	var inModule, natively time.Duration
	for b.Loop() {
		inModule += module()
		natively += native()
	}
	b.ReportMetric(float64(inModule)/float64(natively), "x-native")
	b.ReportMetric(float64(inModule.Nanoseconds())/float64(b.N)/float64(n), "ns/item")
	b.ReportMetric(float64(natively.Nanoseconds())/float64(b.N)/float64(n), "ns/item-native")
}

// module returns a function that makes the call through a host.
func (s subject) module(b *testing.B, pluginsDir, project string) func() time.Duration {
	h, err := host.Open(host.Options{PluginsDir: pluginsDir, Plugins: []string{s.plugin}, Project: project, Env: homeIn(project)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close(context.WithoutCancel(b.Context())) })
	return func() time.Duration {
		start := time.Now()
		answer, err := h.Call(b.Context(), s.tool, json.RawMessage(s.arguments), host.Client{})
		if err != nil || answer.Error != nil || answer.IsError {
			b.Fatalf("%v %+v %s", err, answer.Error, answer.Result)
		}
		return time.Since(start)
	}
}

// native returns a function that calls the handlers in this process, in the environment of the module.
func (s subject) native(b *testing.B, project string) func() time.Duration {
	b.Chdir(project)
	b.Setenv("BULKHEAD_PROJECT", project)
	b.Setenv("BULKHEAD_STATE", b.TempDir())
	for name, value := range homeIn(project) {
		b.Setenv(name, value)
	}
	p := sdk.New()
	s.register(p)
	request := fmt.Appendf(nil, `{"method":"tools/call","params":{"name":%q,"arguments":%s}}`, s.tool, s.arguments)
	return func() time.Duration {
		start := time.Now()
		var response struct {
			Result *struct {
				IsError bool `json:"isError"`
			} `json:"result"`
		}
		if err := json.Unmarshal(p.Dispatch(request), &response); err != nil || response.Result == nil || response.Result.IsError {
			b.Fatalf("%v: %s", err, p.Dispatch(request))
		}
		return time.Since(start)
	}
}

func registerAgentpack(p *sdk.Plugin) { agentpack.Register(p, time.Now) }

// homeIn returns environment variables for a home directory inside the project, which is granted without a config.
func homeIn(project string) map[string]string {
	home := filepath.Join(project, "home")
	return map[string]string{"HOME": home, "AGENTPACK_HOME": filepath.Join(home, ".agentpack"), "CODEX_HOME": filepath.Join(home, ".codex")}
}

// writeModules creates an agentpack config repository with n prompts of 2 kB. Half of the prompts are deployed.
func writeModules(b *testing.B, project string, n int) {
	b.Helper()
	home := homeIn(project)["HOME"]
	manifest := "version: 1\nprofiles: {default: {include_tags: [base]}}\ntargets:\n  codex: {mode: files, scope: user, options: {write_user_skills: false}}\nmodules:\n"
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for i := range n {
		name := fmt.Sprintf("p%04d", i)
		text := fmt.Sprintf("# Prompt %d\n\n%s", i, strings.Repeat("Do what there is to do, in as many words as people use.\n", 36))
		manifest += fmt.Sprintf("  - {id: 'prompt:%s', type: prompt, tags: [base], source: {local_path: {path: modules/prompt/%s}}}\n", name, name)
		write(filepath.Join(home, ".agentpack", "repo", "modules", "prompt", name, name+".md"), text)
		if i%2 == 0 {
			write(filepath.Join(home, ".codex", "prompts", name+".md"), text)
		}
	}
	write(filepath.Join(home, ".agentpack", "repo", "agentpack.yaml"), manifest)
}

// writeRegistry creates an aam project with a registry of n packages.
func writeRegistry(b *testing.B, project string, n int) {
	b.Helper()
	if err := aamsample.Write(project, n); err != nil {
		b.Fatal(err)
	}
}

// writeChanges creates an openspec project with n changes and n/2 specs.
func writeChanges(b *testing.B, project string, n int) {
	b.Helper()
	if err := sample.Write(project, n); err != nil {
		b.Fatal(err)
	}
}

// writeSpecs creates a chant project with n specs of about 2 kB.
func writeSpecs(b *testing.B, project string, n int) {
	b.Helper()
	dir := filepath.Join(project, ".chant", "specs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		text := fmt.Sprintf("---\ntype: code\nstatus: pending\nlabels: [a, b]\n---\n\n# Work %d\n\n", i)
		for line := range 30 {
			text += fmt.Sprintf("Line %d of what is to be done, in as many words as people use.\n", line)
		}
		name := fmt.Sprintf("2026-03-%02d-%03x-%03x.md", i%28+1, i/28+1, i)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}
