//go:build unix

// Package languages tests the SDKs for languages other than Go. `.ci/languages` prepares the tool chains and runs the tests;
// without it they are left out.
package languages

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/conform"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/guide"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scaffold"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scenario"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

func TestMain(m *testing.M) {
	host.RunChild()
	code := m.Run()
	if dir, _ := builtProgram(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// builtProgram returns a directory with the program; it is built at most once.
var builtProgram = sync.OnceValues(func() (dir string, err error) {
	if os.Getenv("BULKHEAD_LANGUAGES_SOURCE") == "" {
		return "", errors.New("not run by .ci/languages")
	}
	if dir, err = os.MkdirTemp("", "bulkhead-languages-"); err != nil {
		return "", err
	}
	c := exec.Command("go", "build", "-o", filepath.Join(dir, "bulkhead"), "../../cmd/bulkhead")
	c.Env = append(os.Environ(), "CGO_ENABLED=0") // as in releases
	if out, err := c.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build bulkhead: %w\n%s", err, out)
	}
	return dir, nil
})

// withProgram puts the directory of the program at the start of PATH, and gives it a state directory of its own.
func withProgram(t *testing.T) {
	t.Helper()
	dir, err := builtProgram()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("XDG_STATE_HOME", t.TempDir())
}

// language is an SDK with its example, whose tool, prompt and resources have the same names in each language but for a prefix.
type language struct {
	name      string
	toolchain string // as in REQUIRE of .ci/languages
	prefix    string // of the example's tool
	example   string // the directory of the example and the name of its plugin
	tests     [][]string
	testsDir  string
	// conformance builds the module of the conformance kit in a directory.
	conformance       []string
	conformanceDir    string
	conformanceModule string // relative to that directory
	page              string // the guide in docs
	installed         string // what the plugin of the guide needs of the example's directory, instead of downloading it
}

var languages = []language{
	{
		name: "Rust", toolchain: "rust", prefix: "rust", example: "rust-tally", page: "rust.md", installed: "Cargo.lock",
		tests:          [][]string{{"cargo", "test", "--quiet", "--locked"}, {"cargo", "test", "--quiet", "--locked", "--manifest-path", "../../examples/rust-tally/Cargo.toml"}},
		testsDir:       "sdk/rust",
		conformance:    []string{"cargo", "build", "--quiet", "--locked", "--release", "--target", "wasm32-wasip1", "-p", "conformance"},
		conformanceDir: "sdk/rust", conformanceModule: "target/wasm32-wasip1/release/conformance.wasm",
	},
	{
		name: "C", toolchain: "clang", prefix: "c", example: "c-tally", page: "c.md",
		tests: [][]string{
			{"cc", "-std=c11", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover", "-I.", "test.c", "-lm", "-o", "test"},
			{"./test"},
		},
		testsDir: "sdk/c",
		conformance: []string{
			"clang", "--target=wasm32-wasi", "-mexec-model=reactor", "-Oz", "-Wall", "-Wextra", "-Werror", "-Wl,--strip-all", "-I..", "conformance.c", "-o", "conformance.wasm",
		},
		conformanceDir: "sdk/c/conformance", conformanceModule: "conformance.wasm",
	},
	{
		name: "AssemblyScript", toolchain: "node", prefix: "as", example: "as-tally", page: "assemblyscript.md", installed: "node_modules",
		conformance:    []string{"npm", "run", "--silent", "build"},
		conformanceDir: "sdk/assemblyscript/conformance", conformanceModule: "conformance.wasm",
	},
	{
		name: "JavaScript", toolchain: "node", prefix: "js", example: "js-tally", page: "javascript.md", installed: "node_modules",
		tests:          [][]string{{"npm", "test", "--silent"}, {"npm", "test", "--silent", "--prefix", "../../examples/js-tally"}},
		testsDir:       "sdk/javascript",
		conformance:    []string{"npm", "run", "--silent", "build"},
		conformanceDir: "sdk/javascript/conformance", conformanceModule: "conformance.wasm",
	},
}

// source returns the directory of the sources, and skips the test if the tool chain of l is not there.
func source(t testing.TB, l language) string {
	t.Helper()
	dir := os.Getenv("BULKHEAD_LANGUAGES_SOURCE")
	if dir == "" {
		t.Skip("run by .ci/languages")
	}
	if l.toolchain != "" && !slices.Contains(strings.Split(os.Getenv("BULKHEAD_LANGUAGES_FOUND"), ","), l.toolchain) {
		t.Skipf("there is no tool chain %s", l.toolchain)
	}
	return dir
}

func run(t testing.TB, dir string, command []string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
}

// TestSDKPassesItsOwnTests runs the native tests of each SDK.
func TestSDKPassesItsOwnTests(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			dir := source(t, l)
			for _, command := range l.tests {
				run(t, filepath.Join(dir, l.testsDir), command)
			}
		})
	}
}

// TestSDKConformsToABI runs the conformance kit with the module of each SDK.
func TestSDKConformsToABI(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			dir := filepath.Join(source(t, l), l.conformanceDir)
			run(t, dir, l.conformance)
			results, err := conform.Run(t.Context(), filepath.Join(dir, l.conformanceModule), "")
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if !r.Passed {
					t.Errorf("%s: %s: %s", r.File, r.Name, r.Detail)
				}
			}
		})
	}
}

// TestExamplesBehaveAlike builds the example of each language by its manifest, and makes the same requests to each.
func TestExamplesBehaveAlike(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			dir := filepath.Join(source(t, l), "examples", l.example)
			w := hosttest.New(t, hosttest.Files{"work/tea.md": "Grüner Tee\nzwei  Tassen", "work/a.md": "", "work/b.txt": "no", "work/c.md/x": "no"})
			if _, err := build.Build(t.Context(), dir, build.Options{Out: w.Dir + "/plugins"}); err != nil {
				t.Fatal(err)
			}
			h := w.Open(t, w.Options())
			named := strings.NewReplacer("TOOL", l.prefix+"_tally", "URI", l.example)
			for _, c := range []struct{ method, params, want string }{
				{"tools/call", `{"name":"TOOL","arguments":{"paths":["tea.md","a.md"]}}`,
					`{"structuredContent":{"files":[{"path":"tea.md","lines":2,"words":4,"bytes":24,"sha256":"` + digest + `"},{"path":"a.md","lines":0,"words":0,"bytes":0}]}}`},
				{"tools/call", `{"name":"TOOL","arguments":{"paths":["missing.md"]}}`, `{"isError":true}`},
				{"prompts/list", `{}`, `{"prompts":[{"name":"TOOL_shorten","arguments":[{"name":"path","required":true}]}]}`},
				{"prompts/get", `{"name":"TOOL_shorten","arguments":{"path":"tea.md"}}`,
					`{"messages":[{"role":"user","content":{"type":"text","text":"Say this in 2 words:\n\nGrüner Tee\nzwei  Tassen"}}]}`},
				{"prompts/get", `{"name":"TOOL_shorten"}`, `error {"code":-32602}`},
				{"resources/list", `{}`, `{"resources":[{"uri":"URI:a.md","name":"a.md"},{"uri":"URI:tea.md","name":"tea.md"}]}`},
				{"resources/templates/list", `{}`, `{"resourceTemplates":[{"uriTemplate":"URI:{path}"}]}`},
				{"resources/read", `{"uri":"URI:tea.md"}`, `{"contents":[{"uri":"URI:tea.md","mimeType":"text/plain","text":"2 lines, 4 words"}]}`},
				{"resources/read", `{"uri":"URI:missing.md"}`, `error {"code":-32002}`},
				{"completion/complete", `{"ref":{"type":"ref/prompt","name":"TOOL_shorten"},"argument":{"name":"path","value":"t"}}`, `{"completion":{"values":["tea.md"]}}`},
			} {
				got := hosttest.Request(t, h, c.method, named.Replace(c.params))
				if err := includes(got, named.Replace(c.want)); err != nil {
					t.Errorf("%s %s: %v\ngot  %s", c.method, c.params, err, got)
				}
			}
			if want := l.example + ": counted 2 files\n"; !strings.Contains(w.Log.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, w.Log.String())
			}
		})
	}
}

// TestExampleScenariosPass runs the scenario files of the example of each language.
func TestExampleScenariosPass(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			dir := filepath.Join(source(t, l), "examples", l.example)
			cache := filepath.Join(t.TempDir(), "bulkhead")
			built, err := build.Current(t.Context(), dir, build.Options{Out: t.TempDir(), CacheDir: cache})
			if err != nil {
				t.Fatal(err)
			}
			m, problems := manifest.Load(built)
			if err := problems.Err(); err != nil {
				t.Fatal(err)
			}
			files, err := scenario.Load(dir)
			if err != nil {
				t.Fatal(err)
			}
			results, err := scenario.Run(t.Context(), scenario.Plugin{Dir: m.Dir, Manifest: m, Compiled: cache}, files)
			if err != nil || len(results) == 0 {
				t.Fatalf("%d results, %v", len(results), err)
			}
			for _, r := range results {
				if !r.Passed {
					t.Errorf("%s: %+v", r.Name, r.Failures)
				}
			}
		})
	}
}

// TestGuidesPluginWorks builds the plugin whose files the guide of each language shows, and calls it with the page's commands. Those that
// begin with `bulkhead plugin new` are run in an empty directory. The last command of a block prints the greeting.
func TestGuidesPluginWorks(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			examples := filepath.Join(source(t, l), "examples")
			dir := filepath.Join(examples, "guide-"+l.prefix)
			page, err := os.ReadFile(filepath.Join("..", "..", "docs", l.page))
			if err != nil {
				t.Fatal(err)
			}
			blocks := guide.Blocks(string(page))
			for _, b := range blocks {
				if b.File != "" {
					write(t, filepath.Join(dir, b.File), b.Text)
				}
			}
			if l.installed != "" {
				run(t, dir, []string{"ln", "-sfn", filepath.Join(examples, l.example, l.installed), l.installed})
			}
			withProgram(t)
			t.Setenv("CARGO_TERM_COLOR", "never")
			ran := 0
			for _, b := range blocks {
				if b.Language != "sh" || b.Untested != "" {
					continue
				}
				var lines []string
				for _, c := range b.Commands() {
					lines = append(lines, c.Line)
				}
				in := dir
				if strings.HasPrefix(lines[0], "bulkhead plugin new") {
					in = t.TempDir()
				}
				if out := shell(t, in, strings.Join(lines, " && ")); !strings.HasSuffix(out, "Hello, Ada!\n") {
					t.Errorf("line %d: %q printed %q", b.Line, lines, out)
				}
				ran++
			}
			if _, err := os.Stat(filepath.Join(dir, "test")); err == nil { // the page of JavaScript shows a native test
				run(t, dir, []string{"node", "--test", "test/"})
			}
			if ran < 2 {
				t.Errorf("the page has only %d blocks of commands", ran)
			}
		})
	}
}

// TestNewPluginWorks creates a plugin with everything that `bulkhead plugin new` offers, and runs the commands that it prints. Then it
// adds the plugin in a project, and calls it there. It logs how long that takes until the first call in the project.
func TestNewPluginWorks(t *testing.T) {
	for _, l := range append([]language{{name: "Go"}}, languages...) {
		t.Run(l.name, func(t *testing.T) {
			source(t, l)
			root := t.TempDir()
			withProgram(t)
			t.Setenv("CARGO_TERM_COLOR", "never")
			goCache, err := exec.Command("go", "env", "GOCACHE").Output()
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
			t.Setenv("XDG_CACHE_HOME", t.TempDir()) // the host compiles each module, as it does for a new plugin
			begin, used := time.Now(), processorTime(t)
			r, err := scaffold.Create(scaffold.Options{Name: "my-notes", Dir: root, Language: strings.ToLower(l.name), With: scaffold.Features})
			if err != nil {
				t.Fatal(err)
			}
			var out string
			for _, command := range r.Next {
				out = shell(t, r.Dir, command)
			}
			if out != "Hello, Ada!\n" {
				t.Errorf("the last command printed %q", out)
			}

			project := filepath.Join(root, "project")
			if err := os.Mkdir(project, 0o755); err != nil {
				t.Fatal(err)
			}
			shell(t, project, "bulkhead add ../my-notes/dist/plugins/my-notes --yes")
			shell(t, project, "bulkhead call my_notes_greet --arg name=Ada")
			t.Logf("from new to the first call: %.1f s, of which %.1f s of processor time", time.Since(begin).Seconds(), (processorTime(t) - used).Seconds())
			for command, want := range map[string]string{
				"bulkhead call my_notes_greet --arg name=Ada":     "Hello, Ada!\n",
				"bulkhead call my_notes_branch":                   "branch \"\", commit \"\"\n",
				"bulkhead prompt my_notes_welcome --arg name=Ada": "Write a welcome for Ada.",
				"bulkhead resource my-notes:manual":               "Call my_notes_greet with a name.",
			} {
				if got := shell(t, project, command); !strings.Contains(got, want) {
					t.Errorf("%s printed %q, want %q", command, got, want)
				}
			}
		})
	}
}

// processorTime returns the processor time of the child processes that have ended.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// shell runs a command line and returns what it prints to stdout.
func shell(t testing.TB, dir, command string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "sh", "-c", command)
	c.Dir = dir
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", command, err, out, stderr.String())
	}
	return string(out)
}

// digest is the SHA-256 of the file tea.md.
const digest = "49ed51c93983bf1587f72dd44f9d846b4b4231a161c11f537ecadca8db608069"

// includes returns an error unless got, what hosttest.Request returns, has all members of want.
func includes(got, want string) error {
	gotError, gotFailed := strings.CutPrefix(got, "error ")
	wantError, wantFailed := strings.CutPrefix(want, "error ")
	if gotFailed != wantFailed {
		return fmt.Errorf("want %s", want)
	}
	var g, w any
	if err := json.Unmarshal([]byte(gotError), &g); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(wantError), &w); err != nil {
		return err
	}
	if !contains(g, w) {
		return fmt.Errorf("want %s", want)
	}
	return nil
}

func contains(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		for key, value := range want {
			ok = ok && contains(object[key], value)
		}
		return ok
	case []any:
		array, ok := got.([]any)
		ok = ok && len(array) == len(want)
		for i := 0; ok && i < len(want); i++ {
			ok = contains(array[i], want[i])
		}
		return ok
	}
	return got == want
}
