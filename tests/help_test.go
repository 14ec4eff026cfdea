//go:build unix

package tests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// exampleRule says how the examples of a command are run.
type exampleRule struct {
	skip  string // why the example is not run
	codes []int  // exit codes that are right beside 0
	bare  bool   // in a project without a config
	first string // a command to run before
	cache bool   // with a cache of its own, because the command changes that of the other examples
}

// exampleRules has rules by the beginning of an example; the longest that matches applies.
var exampleRules = map[string]exampleRule{
	"":                                        {},
	"bulkhead demo":                           {skip: "TestDemo runs it"},
	"go run ./cmd/bulkhead demo":              {skip: "TestDemo runs it"},
	"bulkhead plugin build":                   {skip: "TestMain builds the plugins"},
	"bulkhead plugin dev":                     {skip: "TestPluginDevFollowsSource and others run it"},
	"bulkhead plugin schema":                  {skip: "tests of package build run it, because the example project has no sources"},
	"bulkhead plugin conform":                 {skip: "tests of its package run it"},
	"bulkhead plugin push":                    {skip: "the guide's page publishing runs it"},
	"bulkhead plugin test":                    {first: writeScenario},
	"bulkhead replay":                         {first: writeAuditLog, codes: []int{1}}, // the log is not of this project
	"bulkhead init":                           {bare: true},
	"bulkhead add":                            {bare: true},
	"bulkhead add dist/plugins/chant --repin": {},
	"bulkhead add chant-1.2.0.plugin.tar":     {skip: "the script fetched.txtar adds archives"},
	"bulkhead add 'https:":                    {skip: "tests of package source fetch from web servers"},
	"bulkhead add oci:":                       {skip: "tests of package source fetch from registries"},
	"bulkhead add chant@":                     {skip: "the script catalogue.txtar adds ranges of versions"},
	"bulkhead search notes":                   {codes: []int{1}}, // no catalogue has it
	"bulkhead plugin revoke":                  {skip: "the script revoked.txtar runs it"},
	"bulkhead serve --http systemd":           {skip: "the tests of systemd run it"},
	"bulkhead update chant":                   {skip: "the script update.txtar runs it"},
	"bulkhead client add":                     {codes: []int{1, 2}}, // not all clients are installed
	"bulkhead client remove":                  {codes: []int{1, 2}}, // no client has the server
	"bulkhead client list":                    {codes: []int{1}},
	"bulkhead cache":                          {cache: true},
	"bulkhead update chant --to":              {skip: "the script update.txtar goes back to a version"},
	"bulkhead cache export chant":             {skip: "the script fetched.txtar exports plugins of the store"},
	"bulkhead cache export -o /media":         {skip: "the script fetched.txtar exports plugins of the store"},
	"bulkhead cache import":                   {skip: "the script fetched.txtar imports archives"},
	"bulkhead diff":                           {codes: []int{1}},                                  // NEW asks for more
	"bulkhead doctor":                         {codes: []int{1}},                                  // as far as the machine confines workers
	"bulkhead verify":                         {codes: []int{1}},                                  // the plugins are not pinned
	"bulkhead token revoke":                   {first: "bulkhead token new ann", codes: []int{1}}, // the ID is another one
	"bulkhead serve --http":                   {first: "bulkhead token new ~/.config/bulkhead/token"},
}

// writeScenario writes a scenario file for a built plugin.
const writeScenario = `mkdir plugins/hello/tests && printf '[[scenario]]\nname = "greets"\n[[scenario.step]]\ntool = "hello_greet"\narguments = { name = "Ada" }\ntext = "Hello, Ada!"\n' >plugins/hello/tests/first.toml`

// writeAuditLog makes a call that the audit log records.
const writeAuditLog = "bulkhead call chant_spec_list"

// consents are parts of the errors of commands that cannot ask for consent. They are run again with --yes.
var consents = []string{"cannot ask for consent", "pass --yes"}

// TestHelpExamplesWork runs the examples of the help of every command, each in a project of its own, and fails on exit codes
// that the rule of the command does not expect.
func TestHelpExamplesWork(t *testing.T) {
	t.Parallel()
	all := helpExamples(t)
	if len(all) < 60 {
		t.Fatalf("only %d examples were found: %q", len(all), all)
	}
	ran := 0
	for _, example := range all {
		rule, longest := exampleRule{}, -1
		for prefix, r := range exampleRules {
			if strings.HasPrefix(example, prefix) && len(prefix) > longest {
				rule, longest = r, len(prefix)
			}
		}
		if rule.skip != "" {
			continue
		}
		ran++
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			p := newExampleProject(t, !rule.bare)
			if rule.cache {
				p.env = append(p.env, "XDG_CACHE_HOME="+p.root+"/cache")
			}
			if strings.Contains(example, "--follow") || strings.Contains(example, "--http") || strings.HasPrefix(example, "bulkhead ui") {
				example = "timeout --preserve-status -s INT 2 " + example
			}
			if rule.first != "" {
				if code, out := p.run(t, rule.first); code != 0 {
					t.Fatalf("%s: exit code %d:\n%s", rule.first, code, out)
				}
			}
			code, out := p.run(t, example)
			if code == 2 && slices.ContainsFunc(consents, func(text string) bool { return strings.Contains(out, text) }) {
				if example == "bulkhead init" {
					example += " --plugin chant" // which it asks for
				}
				code, out = p.run(t, example+" --yes")
			}
			if code != 0 && !slices.Contains(rule.codes, code) {
				t.Errorf("exit code %d:\n%s", code, out)
			}
			for _, text := range []string{"unknown command", "unknown flag", "unknown shorthand", "there is no tool", "Unknown prompt", "Resource not found"} {
				if strings.Contains(out, text) {
					t.Errorf("it names what does not exist:\n%s", out)
				}
			}
		})
	}
	if ran < 50 {
		t.Errorf("only %d examples were run", ran)
	}
}

// commandLists are the titles of lists of commands.
var commandLists = []string{"Available Commands:", "Use it:", "Administer it:", "Write plugins:", "Additional Commands:"}

// helpExamples returns the examples of the help of all commands, without their comments.
func helpExamples(t *testing.T) []string {
	t.Helper()
	var all []string
	var visit func(command ...string)
	visit = func(command ...string) {
		out, err := programCommand(t, append(command, "--help")...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", command, err, out)
		}
		section := ""
		for line := range strings.Lines(string(out)) {
			switch line = strings.TrimRight(line, "\n"); {
			case line != "" && !strings.HasPrefix(line, " "):
				section = line
			case strings.TrimSpace(line) == "":
			case section == "Examples:":
				example, _, _ := strings.Cut(line, "  # ")
				all = append(all, strings.TrimSpace(example))
			case slices.Contains(commandLists, section):
				if name := strings.Fields(line)[0]; name != "help" && name != "completion" {
					visit(append(slices.Clone(command), name)...)
				}
			}
		}
	}
	visit()
	return all
}

// exampleProject is the project of the demo with a trusted config that grants all plugins what they need, and the built
// plugins in dist/plugins.
type exampleProject struct {
	root, dir string
	env       []string
}

func newExampleProject(t *testing.T, configured bool) exampleProject {
	t.Helper()
	p := exampleProject{root: newDir(t, nil)}
	p.dir = filepath.Join(p.root, "home", "src", "app")
	workspace := filepath.Join("..", "internal", "admin", "demo", "workspace")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.MkdirAll(filepath.Dir(p.dir), 0o755))
	check(os.CopyFS(p.dir, os.DirFS(filepath.Join(workspace, "orchard"))))
	check(os.CopyFS(filepath.Join(p.root, "home"), os.DirFS(filepath.Join(workspace, "home"))))
	for _, name := range []string{"chant", "openspec", "mcpkg", "agentpack", "aam", "hello"} {
		for _, dir := range []string{"app/dist/plugins", "app/plugins", "app/old", "app/new", "opt/plugins"} {
			to := filepath.Join(p.root, strings.Replace(dir, "app", "home/src/app", 1), name)
			if base := filepath.Base(dir); base == "old" || base == "new" {
				if to = filepath.Dir(to); name != "chant" {
					continue
				}
			}
			linkFiles(t, filepath.Join(built.plugins(t), name), to)
		}
	}
	p.env = []string{
		"PATH=" + filepath.Dir(built.program(t)) + string(os.PathListSeparator) + os.Getenv("PATH"), "TZ=UTC", "MCPKG_PROJECT=notes",
		"HOME=" + p.root + "/home", "XDG_STATE_HOME=" + p.root + "/state", "XDG_CACHE_HOME=" + built.cache(t), "PLUGINS=" + p.dir + "/dist/plugins", "BULKHEAD_PLUGINS=" + p.dir + "/dist/plugins",
	}
	for _, module := range []string{"hash.wasm", "plugin.wasm"} {
		putFile(t, filepath.Join(p.dir, module), string(wasmtest.HyperMCP().Bytes()))
	}
	putFile(t, filepath.Join(p.dir, "arguments.json"), `{"description": "Prune the plum trees"}`)
	if configured {
		config := "[audit]\nfile = \"${env:HOME}/audit.jsonl\"\n" + readFile(t, filepath.Join(workspace, "bulkhead.toml"))
		for _, file := range []string{"home/src/app/bulkhead.toml", "home/src/app/team.toml", "home/bulkhead.toml", "etc/bulkhead/bulkhead.toml"} {
			putFile(t, filepath.Join(p.root, file), config)
		}
		trust := exec.Command(built.program(t), "trust", p.dir, "--yes")
		trust.Dir, trust.Env = p.dir, p.env
		out, err := trust.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return p
}

// run runs an example, with the paths of p instead of those outside the project, and returns its exit code and output.
func (p exampleProject) run(t *testing.T, example string) (int, string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 4*patience) // the first call of a plugin compiles its module
	defer stop()
	cmd := exec.CommandContext(ctx, "bash", "-c", strings.NewReplacer("127.0.0.1:8808", "127.0.0.1:0", "/opt/", p.root+"/opt/", "/etc/bulkhead/", p.root+"/etc/bulkhead/").Replace(example))
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// linkFiles makes a directory with hard links to the files of another one, or copies where that is not possible.
func linkFiles(t *testing.T, from, to string) {
	t.Helper()
	items, err := os.ReadDir(from)
	if err == nil {
		err = os.MkdirAll(to, 0o755)
	}
	for _, item := range items {
		if err == nil {
			source, target := filepath.Join(from, item.Name()), filepath.Join(to, item.Name())
			if err = os.Link(source, target); err != nil {
				var data []byte
				if data, err = os.ReadFile(source); err == nil {
					err = os.WriteFile(target, data, 0o644)
				}
			}
		}
	}
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", from, err))
	}
}
