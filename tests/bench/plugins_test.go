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
	"github.com/bulkhead-mcp/bulkhead/host/build"
	aamsample "github.com/bulkhead-mcp/bulkhead/plugins/aam/sample"
	aam "github.com/bulkhead-mcp/bulkhead/plugins/aam/tools"
	agentpack "github.com/bulkhead-mcp/bulkhead/plugins/agentpack/tools"
	chant "github.com/bulkhead-mcp/bulkhead/plugins/chant/tools"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/sample"
	openspec "github.com/bulkhead-mcp/bulkhead/plugins/openspec/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// subject is a call of a plugin whose cost grows with what it finds.
type subject struct {
	plugin    string
	register  func(*sdk.Plugin)
	tool      string
	arguments string
	layOut    func(b *testing.B, project string, n int)
	sizes     []int // how much the plugin finds
}

var subjects = []subject{
	{"chant", chant.Register, "chant_spec_list", `{}`, layOutSpecs, projects},
	{"chant", chant.Register, "chant_search", `{"query":"nothing has this"}`, layOutSpecs, projects},
	{"openspec", openspec.Register, "openspec_list", `{}`, layOutChanges, projects},
	{"openspec", openspec.Register, "openspec_validate", `{"all":true}`, layOutChanges, projects},
	{"aam", aam.Register, "aam_search", `{"query":"audit"}`, layOutRegistry, registries},
	{"agentpack", registerAgentpack, "plan", `{}`, layOutModules, projects},
	{"agentpack", registerAgentpack, "status", `{}`, layOutModules, projects},
}

// The sizes of what people have of their own, and of what many share.
var (
	projects   = []int{10, 100, 1_000}
	registries = []int{100, 1_000, 10_000}
)

// BenchmarkPlugins makes the same call of the same handlers in a module and natively, in turns. x-native is
// the ratio of their times, and ns/item shows how they grow.
func BenchmarkPlugins(b *testing.B) {
	folder := filepath.Join(b.TempDir(), "plugins")
	built := map[string]bool{}
	for _, s := range subjects {
		for _, n := range s.sizes {
			b.Run(fmt.Sprintf("%s/%d", s.tool, n), func(b *testing.B) {
				if !built[s.plugin] {
					if _, err := build.Build(b.Context(), filepath.Join("..", "..", "plugins", s.plugin), build.Options{Out: folder}); err != nil {
						b.Fatal(err)
					}
					built[s.plugin] = true
				}
				s.run(b, folder, n)
			})
		}
	}
}

func (s subject) run(b *testing.B, folder string, n int) {
	project := b.TempDir()
	s.layOut(b, project, n)
	module := s.module(b, folder, project) // before the process has another home
	native := s.native(b, project)
	native() // what is done once is not counted
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

// module makes the call through a host.
func (s subject) module(b *testing.B, folder, project string) func() time.Duration {
	h, err := host.Open(host.Options{PluginsDir: folder, Plugins: []string{s.plugin}, Project: project, Env: homeIn(project)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close(context.WithoutCancel(b.Context())) })
	return func() time.Duration {
		start := time.Now()
		answer, err := h.Call(b.Context(), s.tool, json.RawMessage(s.arguments), nil)
		if err != nil || answer.Error != nil || answer.IsError {
			b.Fatalf("%v %+v %s", err, answer.Error, answer.Result)
		}
		return time.Since(start)
	}
}

// native makes it of the handlers in this process, which stands where the module would.
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

// homeIn are the variables that name a home folder, for plugins that ask for them: one in the project, which
// is granted without a config.
func homeIn(project string) map[string]string {
	home := filepath.Join(project, "home")
	return map[string]string{"HOME": home, "AGENTPACK_HOME": filepath.Join(home, ".agentpack"), "CODEX_HOME": filepath.Join(home, ".codex")}
}

// layOutModules makes a config repository of agentpack's with n prompts of 2 kB, half of which are deployed as
// they are, and half are not.
func layOutModules(b *testing.B, project string, n int) {
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

// layOutRegistry makes a project of aam's with a registry of n packages.
func layOutRegistry(b *testing.B, project string, n int) {
	b.Helper()
	if err := aamsample.Write(project, n); err != nil {
		b.Fatal(err)
	}
}

// layOutChanges makes a project of openspec's with n changes, and half as many specs.
func layOutChanges(b *testing.B, project string, n int) {
	b.Helper()
	if err := sample.Write(project, n); err != nil {
		b.Fatal(err)
	}
}

// layOutSpecs makes a project of chant's with n specs of some 2 kB.
func layOutSpecs(b *testing.B, project string, n int) {
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
