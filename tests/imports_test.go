//go:build unix

package tests

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/bulkhead-mcp/bulkhead"

// packages returns the repository's packages with their imports on all systems, without imports of tests. The name of a package is
// its directory; "." is the one in the root, which embeds the sources of the SDKs.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	all, err := listPackages()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("found only %d packages", len(all))
	}
	return maps.Clone(all)
}

var listPackages = sync.OnceValues(func() (map[string][]string, error) {
	all := map[string][]string{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "../...")
		list.Env = append(list.Environ(), "GOOS="+system)
		out, err := list.Output()
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(out)) {
			fields := strings.Fields(line)
			name := directory(fields[0])
			all[name] = append(all[name], fields[1:]...)
		}
	}
	return all, nil
})

// directory returns the directory of a package of this repository, or the path of any other package as it is.
func directory(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

// order lists the districts from the bottom. A package imports only packages of its own district and of those before it.
var order = []string{
	"internal/base", "internal/protocol", "internal/policy", "internal/sandbox", "internal/runtime",
	"host", ".", "internal/authoring", "internal/admin", "cmd",
}

// beside lists what is in no district, and the patterns of what it may import: "x/..." matches x and what is below it, "x/*" only what
// is below it.
var beside = map[string][]string{
	"sdk":      {"sdk/..."},
	"examples": {"sdk/..."},
	"plugins":  {"sdk/..."}, // and what is below the plugin itself
	"tests":    {"host/...", "internal/...", "sdk/...", "tests/..."},
}

// hostSDK are the packages of sdk that the districts import too: they need no host. Only transaction uses digest, which calls the host
// through imports in a module, and computes digests itself in a process.
var hostSDK = []string{
	"sdk/abi", "sdk/atomicfile", "sdk/contain", "sdk/digest", "sdk/filesystem", "sdk/frontmatter", "sdk/internal/imports", "sdk/linediff", "sdk/rawjson", "sdk/transaction",
}

// pureSDK are the packages of sdk that work without a host. Domain packages of plugins may import them.
var pureSDK = []string{
	"sdk/atomicfile", "sdk/contain", "sdk/derive", "sdk/digest", "sdk/filesystem", "sdk/filesystem/faultfs", "sdk/fold", "sdk/frontmatter", "sdk/glob",
	"sdk/linediff", "sdk/python", "sdk/rawjson", "sdk/scan", "sdk/transaction", "sdk/unified",
}

// forTests are packages that only tests import, and each other.
var forTests = []string{
	"internal/admin/admintest", "internal/admin/registry/registrytest", "internal/authoring/guide", "internal/authoring/hosttest", "internal/authoring/wasmtest", "internal/base/testcache",
	"internal/base/testenv", "internal/protocol/oauth/oauthtest", "internal/sandbox/git/internal/gittest", "plugins/aam/internal/realdata",
	"sdk/internal/memfs", "tests/...",
}

// A rule adds to the order: no package of from imports one of to. A transitive rule also holds for what
// the packages of from import.
type rule struct {
	from, to   []string
	transitive bool
	why        string
}

var rules = []rule{
	{
		from: []string{"internal/runtime/worker/child"},
		to: []string{
			"internal/protocol/gateway", "internal/protocol/httpserver", "internal/policy/catalog", "internal/policy/discovery", "internal/policy/ready",
			"internal/policy/trust", "internal/runtime/dispatch", "internal/runtime/grant", "internal/runtime/worker",
			"internal/sandbox/dial", "internal/sandbox/fetch",
		},
		transitive: true,
		why:        "a worker process neither serves clients nor decides grants nor opens connections: that is for the host process",
	},
	{
		from: []string{"internal/..."}, to: []string{"internal/runtime/worker/child"},
		why: "only host.RunChild runs the main function of a worker process",
	},
	{
		from: []string{"internal/sandbox/*"}, to: []string{"internal/protocol/...", "internal/policy/..."},
		why: "file tree, git and connections get directories and functions; only package sandbox knows grants",
	},
	{
		from: []string{"internal/sandbox"}, to: []string{"internal/protocol/...", "internal/sandbox/dial", "internal/sandbox/fetch"},
		why: "the operations of a worker know neither MCP nor connections, which the host process opens for them",
	},
	{
		from: []string{"internal/sandbox/beneath", "internal/sandbox/dial"}, to: []string{"internal/sandbox/git/...", "internal/sandbox/vfs", "internal/sandbox/fetch"},
		why: "they check each path and each address in the same way for every caller",
	},
	{
		from: []string{"internal/sandbox/vfs", "internal/sandbox/git/..."}, to: []string{"internal/sandbox/dial", "internal/sandbox/fetch"},
		why: "files and repositories are opened where no connection can be",
	},
	{
		from: []string{"internal/runtime/engine/..."}, to: []string{"internal/protocol/gateway", "internal/protocol/httpserver", "internal/policy/...", "internal/sandbox/..."},
		why: "the engine runs modules and knows neither plugins nor grants nor clients",
	},
	{
		from: []string{"internal/runtime/worker", "internal/runtime/worker/wire"},
		to:   []string{"internal/protocol/gateway", "internal/protocol/httpserver", "internal/policy/...", "internal/sandbox/..."},
		why:  "the supervisor treats a worker as hostile, and knows neither manifests nor clients",
	},
	{
		from: []string{"internal/runtime/confine", "internal/runtime/dirtypages", "internal/runtime/audit", "internal/runtime/derived"},
		to: []string{
			"internal/protocol/...", "internal/policy/...", "internal/sandbox/...", "internal/runtime/dispatch", "internal/runtime/engine/...", "internal/runtime/grant",
			"internal/runtime/worker/...",
		},
		why: "restrictions, the audit log and stored data do not depend on what they restrict, record and store",
	},
	{
		from: []string{"internal/runtime/grant"}, to: []string{"internal/protocol/...", "internal/sandbox/...", "internal/runtime/engine/...", "internal/runtime/worker/..."},
		why: "grants are resolved into handles without knowing who uses them",
	},
	{
		from: []string{"internal/policy/manifest", "internal/policy/config", "internal/policy/ready", "internal/policy/discovery", "internal/policy/trust"},
		to:   []string{"internal/protocol/gateway", "internal/protocol/httpserver"},
		why:  "what is granted does not depend on how it is served",
	},
	{
		from: []string{"internal/policy/trust"}, to: []string{"internal/policy/..."},
		why: "consent is for a path and a digest, whatever the file says",
	},
	{
		from: []string{"internal/authoring/agreement", "internal/authoring/build", "internal/authoring/dev", "internal/authoring/scaffold"},
		to:   []string{"host", "internal/policy/config", "internal/policy/trust", "internal/policy/catalog", "internal/runtime/dispatch"},
		why:  "tools for authors neither decide grants nor serve clients",
	},
	{
		from: []string{"internal/admin/..."}, to: []string{"host", "internal/runtime/dispatch", "internal/runtime/worker/..."},
		why: "administration calls no tool of a plugin",
	},
	{
		from: []string{"internal/admin/ui"},
		to:   []string{"internal/admin/...", "internal/policy/...", "internal/protocol/...", "internal/runtime/...", "internal/sandbox/..."},
		why:  "the web server decides who is served, whatever the pages are about",
	},
	{
		from: []string{"cmd/..."},
		to: []string{
			"internal/protocol/gateway", "internal/policy/config", "internal/policy/catalog", "internal/policy/trust", "internal/sandbox/...", "internal/runtime/dispatch",
			"internal/runtime/engine/...", "internal/runtime/worker/...", "internal/runtime/grant", "internal/runtime/confine",
		},
		why: "the command calls what decides, and decides nothing",
	},
}

func TestImportsFollowDistrictsAndRules(t *testing.T) {
	all := packages(t)
	for _, problem := range violations(all) {
		t.Error(problem)
	}
	named := slices.Concat(hostSDK, pureSDK, forTests)
	for _, b := range rules {
		named = slices.Concat(named, b.from, b.to)
	}
	for _, pattern := range named {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(pkg string) bool { return matches(pattern, pkg) }) {
			t.Errorf("a rule names %s, which is no package", pattern)
		}
	}
}

// TestForbiddenImportsAreFound adds imports to those of the repository.
func TestForbiddenImportsAreFound(t *testing.T) {
	t.Parallel()
	all := packages(t)
	for name, c := range map[string]struct{ pkg, target, want string }{
		"upward":                          {"internal/base/visible", "internal/policy/config", "internal/base is below internal/policy"},
		"upward to the facade":            {"internal/runtime/dispatch", "host", "internal/runtime is below host"},
		"upward to the command":           {"internal/admin/install", "cmd/bulkhead", "internal/admin is below cmd"},
		"upward to the root":              {"internal/policy/manifest", ".", "internal/policy is below ."},
		"a package without a district":    {"internal/new", "internal/base/visible", "internal/new is in no district"},
		"an import of one":                {"internal/runtime/dispatch", "internal/new", "internal/new is in no district"},
		"the SDK of plugins in the host":  {"internal/runtime/engine", "sdk", "the host uses only"},
		"the host in the SDK":             {"sdk/scan", "internal/base/visible", "sdk imports only"},
		"the SDK of plugins in hostSDK":   {"sdk/contain", "sdk", "the host uses only"},
		"internal in a plugin":            {"plugins/chant/workflow", "internal/base/visible", "plugins imports only"},
		"a plugin in another":             {"plugins/chant/workflow", "plugins/openspec/project", "plugins imports only"},
		"a plugin in the host":            {"internal/runtime/dispatch", "plugins/chant", "internal/runtime imports only districts below"},
		"the tests in the host":           {"host", "tests/bench/sample", "for tests"},
		"a package for tests":             {"host", "internal/authoring/hosttest", "for tests"},
		"within a district":               {"internal/sandbox/vfs", "internal/sandbox/fetch", "no connection can be"},
		"policy in the file tree":         {"internal/sandbox/vfs", "internal/policy/config", "only package sandbox knows grants"},
		"the gateway in the worker":       {"internal/runtime/worker/child", "internal/protocol/gateway", "a worker process neither"},
		"the same by way of the engine":   {"internal/runtime/extism", "internal/protocol/gateway", "a worker process neither"},
		"pages in their server":           {"internal/admin/ui", "internal/admin/ui/pages", "the web server decides"},
		"the main function of the worker": {"internal/runtime/dispatch", "internal/runtime/worker/child", "only host.RunChild"},
	} {
		t.Run(name, func(t *testing.T) {
			with := maps.Clone(all)
			with[c.pkg] = append(slices.Clone(with[c.pkg]), module+"/"+c.target)
			if c.target == "." {
				with[c.pkg][len(with[c.pkg])-1] = module
			}
			got := violations(with)
			if !slices.ContainsFunc(got, func(problem string) bool { return strings.Contains(problem, c.want) }) {
				t.Errorf("got %q, want one with %q", got, c.want)
			}
		})
	}
}

// violations returns a line for each import that the districts or a rule forbid, sorted.
func violations(all map[string][]string) []string {
	own := map[string][]string{}
	var found []string
	for pkg, imports := range all {
		if districtOf(pkg) == "" && pkg != "internal" {
			found = append(found, pkg+" is in no district: move it to one")
		}
		for _, path := range imports {
			target := directory(path)
			if target == path {
				continue
			}
			own[pkg] = append(own[pkg], target)
			if why := misplaced(pkg, target); why != "" {
				found = append(found, fmt.Sprintf("%s imports %s: %s", pkg, target, why))
			}
		}
	}
	for _, b := range rules {
		for pkg := range all {
			if !matchesAny(b.from, pkg) {
				continue
			}
			for _, target := range reached(own, pkg, b.transitive) {
				if matchesAny(b.to, target) && target != pkg {
					found = append(found, fmt.Sprintf("%s reaches %s: %s", pkg, target, b.why))
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// misplaced returns why the order of the districts forbids an import, empty if it does not.
func misplaced(pkg, target string) string {
	if matchesAny(forTests, target) && !matchesAny(forTests, pkg) {
		return "it is for tests"
	}
	from, to := districtOf(pkg), districtOf(target)
	if to == "" {
		return target + " is in no district"
	}
	if allowed, ok := beside[from]; ok {
		if from == "plugins" {
			self := strings.Join(strings.Split(pkg, "/")[:2], "/")
			allowed = append(slices.Clone(allowed), self+"/...")
		}
		switch {
		case matchesAny(forTests, target), matchesAny(allowed, target) && (!slices.Contains(hostSDK, pkg) || slices.Contains(hostSDK, target)):
			return ""
		case slices.Contains(hostSDK, pkg):
			return "the host uses only " + strings.Join(hostSDK, ", ") + ", which use each other only"
		}
		return from + " imports only " + strings.Join(allowed, ", ")
	}
	switch {
	case slices.Contains(hostSDK, target):
		return ""
	case to == "sdk":
		return "the host uses only " + strings.Join(hostSDK, ", ")
	case !slices.Contains(order, to):
		return from + " imports only districts below it"
	case slices.Index(order, from) < slices.Index(order, to):
		return from + " is below " + to
	}
	return ""
}

// districtOf returns the element of order or key of beside that contains a package, empty if there is none.
func districtOf(pkg string) string {
	for _, name := range slices.AppendSeq(slices.Clone(order), maps.Keys(beside)) {
		if pkg == name || strings.HasPrefix(pkg, name+"/") {
			return name
		}
	}
	return ""
}

// reached returns what a package imports; if transitive, also what that imports.
func reached(imports map[string][]string, pkg string, transitive bool) []string {
	all := slices.Clone(imports[pkg])
	for i := 0; transitive && i < len(all); i++ {
		for _, next := range imports[all[i]] {
			if !slices.Contains(all, next) {
				all = append(all, next)
			}
		}
	}
	return all
}

func matchesAny(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, pkg) })
}

func matches(pattern, pkg string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == below || strings.HasPrefix(pkg, below+"/")
	}
	if below, ok := strings.CutSuffix(pattern, "/*"); ok {
		return strings.HasPrefix(pkg, below+"/")
	}
	return pkg == pattern
}

// owners are the only packages that may import a library outside of tests, so that its API is used in one place.
var owners = map[string][]string{
	"github.com/BurntSushi/toml":             {"internal/base/tomlfile", "sdk/sdktest"},
	"github.com/pelletier/go-toml":           {"internal/base/tomlfile"},
	"github.com/tetratelabs/wazero":          {"internal/runtime/engine/...", "internal/sandbox", "internal/sandbox/vfs"},
	"github.com/mark3labs/mcp-go":            {"internal/protocol/gateway"},
	"github.com/go-git/go-git":               {"internal/sandbox/git/..."},
	"github.com/santhosh-tekuri/jsonschema":  {"sdk/sdktest"},
	"github.com/bmatcuk/doublestar":          {"internal/policy/manifest", "internal/sandbox"},
	"aead.dev/minisign":                      {"internal/base/signature"},
	"github.com/go-jose/go-jose":             {"internal/protocol/oauth", "internal/protocol/oauth/oauthtest"},
	"golang.org/x/net":                       {"internal/runtime/confine", "internal/runtime/metrics", "plugins/fetch/address"},
	"codeberg.org/readeck/go-readability":    {"plugins/fetch/page"},
	"github.com/JohannesKaufmann":            {"plugins/fetch/page"},
	"github.com/spf13/cobra":                 {"cmd/bulkhead"},
	"github.com/tailscale/hujson":            {"internal/base/jsonfile"},
	"github.com/fsnotify/fsnotify":           {"internal/base/watch"},
	"go.yaml.in/yaml":                        {"sdk/frontmatter"},
	"github.com/modelcontextprotocol/go-sdk": {},
}

func TestLibrariesAreImportedByOwnersOnly(t *testing.T) {
	used := map[string]bool{}
	for pkg, imports := range packages(t) {
		for _, path := range imports {
			for library, allowed := range owners {
				if !strings.HasPrefix(path, library) {
					continue
				}
				i := slices.IndexFunc(allowed, func(owner string) bool { return matches(owner, pkg) })
				if i < 0 {
					t.Errorf("%s imports %s, which only %q may import", pkg, path, allowed)
					continue
				}
				used[library+" "+allowed[i]] = true
			}
		}
	}
	for library, allowed := range owners {
		for _, owner := range allowed {
			if !used[library+" "+owner] {
				t.Errorf("%s does not import %s: remove it from owners", owner, library)
			}
		}
	}
}

func TestDomainPackagesImportNeitherPluginSDKNorUnsafe(t *testing.T) {
	for pkg, imports := range packages(t) {
		name, sub, _ := strings.Cut(strings.TrimPrefix(pkg, "plugins/"), "/")
		if !strings.HasPrefix(pkg, "plugins/") || sub == "" || sub == "tools" {
			continue
		}
		for _, path := range imports {
			if path == "unsafe" || strings.HasPrefix(path, module+"/sdk") && !slices.Contains(pureSDK, directory(path)) {
				t.Errorf("%s of plugin %s imports %s", sub, name, path)
			}
		}
	}
}

// TestHostDoesNotPrintToStdout checks that no package of the host prints to stdout, which carries the protocol. On Windows the
// connection of a worker process to the host is its stdin and stdout. A compiler reports its confinement on its stdout.
func TestHostDoesNotPrintToStdout(t *testing.T) {
	t.Parallel()
	childProcesses := []string{"../internal/runtime/worker/child/connection_windows.go", "../internal/runtime/engine/code/report.go"}
	files := 0
	check := func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata") ||
			slices.Contains(childProcesses, filepath.ToSlash(file)) {
			return err
		}
		files++
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			from, ok := s.X.(*ast.Ident)
			printing := ok && (from.Name == "fmt" && slices.Contains([]string{"Print", "Printf", "Println"}, s.Sel.Name) ||
				from.Name == "os" && s.Sel.Name == "Stdout")
			if printing {
				t.Errorf("%s uses %s.%s", set.Position(s.Pos()), from.Name, s.Sel.Name)
			}
			return true
		})
		return nil
	}
	for _, dir := range []string{"../host", "../internal"} {
		files = 0
		if err := filepath.WalkDir(dir, check); err != nil {
			t.Fatal(err)
		}
		if files == 0 {
			t.Fatalf("found no files in %s", dir)
		}
	}
}
