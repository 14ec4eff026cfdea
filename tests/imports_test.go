//go:build unix

package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/bulkhead-mcp/bulkhead"

// packages returns the repository's packages with their imports on all systems, without imports of tests.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "../...")
		list.Env = append(list.Environ(), "GOOS="+system)
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			fields := strings.Fields(line)
			name := strings.TrimPrefix(fields[0], module+"/")
			all[name] = append(all[name], fields[1:]...)
		}
	}
	if len(all) < 20 {
		t.Fatalf("found only %d packages", len(all))
	}
	return all
}

// arrows lists which packages of this repository each part may import. The longest matching part applies; "x/..."
// matches x and everything below it.
var arrows = map[string][]string{
	"cmd":                      {"cmd/...", "host", "internal/admin", "internal/audit", "internal/build", "internal/client", "internal/conform", "internal/dev", "internal/manifest", "internal/replay", "internal/scenario", "internal/review", "internal/scaffold", "internal/tomlfile", "internal/visible", "internal/demo", "internal/progress", "internal/term", "internal/discovery", "internal/schema", "sdk/abi", "sdk/rawjson"},
	"host":                     {"internal/interaction", "internal/catalog", "internal/config", "internal/discovery", "internal/dispatch", "internal/engine/code", "internal/gateway", "internal/grant", "internal/httpserver", "sdk/rawjson", "internal/reexec", "internal/tomlfile", "internal/watch", "internal/worker/child", "sdk/abi"},
	"internal/admin":           {"internal/build", "internal/catalog", "internal/config", "internal/confine", "internal/discovery", "internal/derived", "internal/dirtypages", "internal/engine/code", "internal/grant", "internal/httpserver", "internal/manifest", "internal/origin", "internal/ownedpath", "internal/statedir", "internal/ready", "internal/reexec", "internal/review", "internal/sandbox", "internal/tomlfile", "internal/trust", "internal/userfile", "sdk/contain", "internal/access"},
	"internal/agreement":       {},
	"internal/build":           {"internal/agreement", "internal/command", "internal/userfile", "sdk/rawjson", "internal/extism", "internal/importer", "internal/progress", "internal/engine", "internal/engine/code", "internal/engine/modinfo", "internal/reexec", "internal/worker", "internal/worker/wire", "internal/manifest", "internal/tomlfile", "sdk/abi", "sdk/atomicfile", "sdk/filesystem", "internal/openflag", "internal/job"},
	"internal/config":          {"internal/interaction", "internal/origin", "internal/manifest", "internal/tomlfile", "internal/visible", "sdk/contain"},
	"internal/audit":           {"internal/ownedpath", "internal/visible", "sdk/atomicfile", "internal/openflag", "internal/filelock"},
	"internal/engine":          {"internal/extism", "internal/dirtypages", "internal/engine/...", "internal/confine", "internal/filelock", "internal/visible", "sdk/abi", "internal/openflag"},
	"internal/gateway":         {"internal/interaction", "internal/paramheader", "sdk/rawjson", "internal/visible", "sdk/abi"},
	"internal/httpserver":      {"internal/gateway", "internal/paramheader", "internal/visible", "sdk/abi"},
	"internal/interaction":     {"sdk/abi", "sdk/rawjson"},
	"internal/command":         {"sdk/abi", "sdk/rawjson"},
	"internal/conform":         {"host", "internal/build", "internal/dispatch", "internal/engine/code", "internal/jsonmatch", "internal/scratch", "internal/tomlfile", "sdk/abi"},
	"internal/jsonmatch":       {},
	"internal/replay":          {"host", "internal/audit", "internal/manifest", "internal/scratch", "internal/tomlfile", "sdk/abi"},
	"internal/scenario":        {"host", "internal/catalog", "internal/config", "internal/dispatch", "internal/jsonmatch", "internal/manifest", "internal/scratch", "internal/tomlfile", "sdk/abi", "sdk/atomicfile", "sdk/rawjson"},
	"internal/scratch":         {"host", "internal/audit", "internal/discovery", "internal/manifest", "internal/tomlfile"},
	"internal/scaffold":        {"internal/manifest"},
	"internal/dev":             {"internal/build", "internal/discovery", "internal/filelock", "internal/manifest", "internal/openflag", "internal/tomlfile", "internal/watch"},
	"internal/extism":          {"sdk/abi", "sdk/rawjson"},
	"internal/importer":        {"internal/extism", "internal/manifest", "internal/visible", "sdk/rawjson"},
	"internal/jsonfile":        {},
	module:                     {}, // the sources of the SDKs, which only internal/scaffold uses
	"internal/progress":        {"internal/term", "internal/visible"},
	"internal/term":            {},
	"internal/userfile":        {"internal/discovery", "sdk/atomicfile"},
	"internal/paramheader":     {"sdk/rawjson"},
	"internal/manifest":        {"internal/command", "internal/interaction", "internal/origin", "internal/paramheader", "internal/schema", "internal/tomlfile", "internal/visible"},
	"sdk/rawjson":              {},
	"internal/review":          {"internal/interaction", "internal/config", "internal/origin", "internal/manifest", "internal/tomlfile", "sdk/contain"},
	"internal/sandbox":         {"internal/config", "internal/manifest", "sdk/rawjson", "internal/sandbox/...", "internal/visible", "sdk/abi", "internal/filelock", "internal/ntfile", "internal/treepath"},
	"internal/sandbox/beneath": {"internal/sandbox/internal/seam", "internal/ntfile"},
	"internal/sandbox/dial":    {},
	"internal/sandbox/fetch":   {"internal/origin", "internal/sandbox/dial", "sdk/abi"},
	"internal/sandbox/vfs":     {"internal/sandbox/beneath"},
	"internal/schema":          {"sdk/rawjson"},
	"internal/tomlfile":        {"sdk/rawjson", "internal/visible", "internal/openflag"},
	"internal/catalog":         {"internal/config", "internal/discovery", "internal/gateway", "internal/manifest", "internal/ready", "sdk/rawjson", "internal/schema", "internal/tomlfile", "internal/visible", "sdk/abi", "internal/access"},
	"internal/dispatch":        {"internal/command", "internal/interaction", "internal/audit", "internal/catalog", "internal/config", "internal/confine", "internal/derived", "internal/discovery", "internal/engine", "internal/engine/code", "internal/gateway", "internal/grant", "internal/manifest", "internal/network", "internal/ownedpath", "sdk/rawjson", "internal/reexec", "internal/sandbox", "internal/sandbox/dial", "internal/sandbox/fetch", "internal/sandbox/git", "internal/sandbox/vfs", "internal/worker", "internal/worker/wire", "sdk/abi", "internal/treepath"},
	"internal/client":          {"internal/discovery", "internal/jsonfile", "internal/manifest", "internal/ownedpath", "internal/tomlfile", "internal/userfile", "internal/visible", "sdk/atomicfile", "sdk/contain", "sdk/filesystem"},
	"internal/demo":            {"internal/progress", "internal/build", "internal/client", "internal/discovery", "internal/manifest"},
	"internal/discovery":       {"internal/config", "internal/manifest", "internal/ownedpath", "internal/statedir", "internal/sandbox/git", "internal/tomlfile", "internal/trust", "internal/visible"},
	"internal/guide":           {},                                                                                       // for tests
	"internal/hosttest":        {"host", "internal/config", "internal/discovery", "internal/trust", "internal/wasmtest"}, // for tests
	"internal/fixtures":        {},                                                                                       // for tests
	"internal/testcache":       {},                                                                                       // for tests
	"internal/tmpdir":          {},                                                                                       // for tests
	"internal/wasmtest":        {"internal/engine/meter/wasm", "sdk/abi"},                                                // for tests
	"examples/everything":      {"sdk/..."},
	"tests/conformance":        {"host", "internal/gateway", "internal/httpserver", "internal/testcache", "sdk/abi", "sdk/rawjson"}, // a test program
	"plugins/chant":            {"plugins/chant/...", "sdk/..."},
	"plugins/aam":              {"internal/fixtures", "plugins/aam/...", "sdk/..."},
	"plugins/agentpack":        {"plugins/agentpack/...", "sdk/..."},
	"plugins/agentpack/apply":  {"plugins/agentpack/disk", "plugins/agentpack/fault", "sdk/contain", "sdk/filesystem", "sdk/transaction"},
	"plugins/agentpack/disk":   {"plugins/agentpack/fault", "sdk/contain", "sdk/derive", "sdk/digest", "sdk/filesystem", "sdk/scan"},
	"plugins/mcpkg":            {"plugins/mcpkg/...", "sdk/..."},
	"plugins/openspec":         {"plugins/openspec/...", "sdk/..."},
	"sdk":                      {"sdk/..."},
	"sdk/abi":                  {},
	"sdk/atomicfile":           {"sdk/filesystem"},
	"sdk/contain":              {"sdk/filesystem"},
	"sdk/digest":               {"sdk/abi", "sdk/internal/imports", "sdk/rawjson"},
	"sdk/filesystem":           {"sdk/filesystem"},
	"sdk/transaction":          {"sdk/atomicfile", "sdk/contain", "sdk/digest", "sdk/filesystem"},
	"sdk/internal":             {"sdk/abi", "sdk/internal/...", "sdk/rawjson"},
	"sdk/internal/memfs":       {"sdk/filesystem"}, // for tests
	"tests":                    {"internal/build", "sdk", "sdk/abi", "sdk/scan", "tests/..."},
	"tests/bench":              {"host", "internal/build", "plugins/...", "sdk", "tests/bench/..."},
	"internal/grant":           {"internal/config", "internal/manifest", "sdk/contain", "internal/ntfile"},
	"internal/answer":          {"internal/interaction", "internal/engine", "sdk/rawjson", "internal/schema", "sdk/abi"},
	"internal/network":         {"internal/worker/wire", "sdk/rawjson", "internal/sandbox/fetch", "sdk/abi"},
	"internal/derived":         {"internal/filelock", "internal/openflag", "internal/ntfile"},
	"internal/filelock":        {"internal/openflag"},
	"internal/ownedpath":       {},
	"internal/statedir":        {"internal/ownedpath"},
	"internal/origin":          {},
	"internal/ready":           {"internal/config", "internal/manifest", "sdk/contain"},
	"internal/reexec":          {},
	"internal/trust":           {"internal/ownedpath", "internal/statedir", "sdk/rawjson", "sdk/atomicfile", "sdk/filesystem", "internal/openflag"},
	"internal/worker":          {"internal/engine", "internal/engine/code", "internal/confine", "internal/worker/wire", "sdk/rawjson", "internal/visible", "sdk/abi"},
	"internal/worker/wire":     {"internal/command", "sdk/abi"},
	"internal/worker/child":    {"internal/command", "internal/derived", "internal/extism", "internal/dirtypages", "internal/audit", "internal/engine", "internal/answer", "internal/confine", "internal/worker/wire", "internal/manifest", "sdk/rawjson", "internal/sandbox", "internal/sandbox/...", "internal/schema", "sdk/abi"},
	"internal/confine":         {"internal/dirtypages", "internal/job"},
	"internal/dirtypages":      {},
	"internal/visible":         {},
	"internal/watch":           {},
	"internal/access":          {}, // these five are the differences between systems
	"internal/job":             {},
	"internal/ntfile":          {},
	"internal/openflag":        {},
	"internal/treepath":        {},

	"internal/sandbox/git":                  {"internal/sandbox/beneath", "internal/sandbox/git/...", "sdk/abi", "sdk/contain", "internal/openflag"},
	"internal/sandbox/git/gitconfig":        {"internal/sandbox/git/internal/hosterror"},
	"internal/sandbox/git/internal":         {"sdk/abi"},
	"internal/sandbox/git/internal/gittest": {"internal/sandbox/git", "sdk/abi"}, // for tests
	"internal/sandbox/git/objects":          {"internal/sandbox/beneath", "internal/sandbox/git/internal/hosterror", "internal/sandbox/git/repo", "sdk/abi"},
	"internal/sandbox/git/refs":             {"internal/sandbox/beneath", "internal/sandbox/git/internal/hosterror", "internal/sandbox/git/objects", "internal/sandbox/git/repo"},
	"internal/sandbox/git/remote":           {"internal/sandbox/git/internal/hosterror", "internal/sandbox/git/objects", "internal/sandbox/git/refs", "sdk/abi"},
	"internal/sandbox/git/repo":             {"internal/sandbox/beneath", "internal/sandbox/git/gitconfig", "internal/sandbox/git/internal/hosterror", "internal/treepath"},
	"internal/sandbox/git/worktree":         {"internal/sandbox/beneath", "internal/sandbox/git/internal/hosterror", "internal/sandbox/git/objects", "internal/sandbox/git/refs", "internal/sandbox/git/repo", "internal/sandbox/git/worktree/ignore", "sdk/abi"},
	"internal/sandbox/git/worktree/ignore":  {"internal/sandbox/git/repo"},
}

func TestImportArrowsPointOneWay(t *testing.T) {
	for pkg, imports := range packages(t) {
		part := longestPart(pkg)
		if part == "" {
			t.Errorf("%s matches no part: add it to arrows", pkg)
			continue
		}
		for _, path := range imports {
			target, own := strings.CutPrefix(path, module+"/")
			if own && target != pkg && !slices.ContainsFunc(arrows[part], func(allowed string) bool { return matches(allowed, target) }) {
				t.Errorf("%s imports %s", pkg, target)
			}
		}
	}
}

func longestPart(pkg string) string {
	found := ""
	for part := range arrows {
		if matches(part+"/...", pkg) && len(part) > len(found) {
			found = part
		}
	}
	return found
}

func matches(pattern, pkg string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == below || strings.HasPrefix(pkg, below+"/")
	}
	return pkg == pattern
}

// owners are the only packages that may import a library, so that its API is used in one place.
var owners = map[string][]string{
	"github.com/BurntSushi/toml":             {"internal/tomlfile", "sdk/sdktest"},
	"github.com/pelletier/go-toml":           {"internal/tomlfile"},
	"github.com/tetratelabs/wazero":          {"internal/engine", "internal/sandbox"},
	"github.com/mark3labs/mcp-go":            {"internal/gateway", "tests"},
	"github.com/go-git/go-git":               {"internal/sandbox/git"},
	"github.com/santhosh-tekuri/jsonschema":  {"sdk/sdktest"},
	"github.com/bmatcuk/doublestar":          {"internal/config", "internal/sandbox"},
	"golang.org/x/net":                       {"internal/confine"},
	"github.com/spf13/cobra":                 {"cmd/bulkhead"},
	"github.com/tailscale/hujson":            {"internal/jsonfile"},
	"github.com/fsnotify/fsnotify":           {"internal/watch"},
	"github.com/mattn/go-isatty":             {"cmd/bulkhead"},
	"go.yaml.in/yaml":                        {"sdk/frontmatter", "plugins/aam"},
	"github.com/modelcontextprotocol/go-sdk": {"tests"},
}

func TestLibrariesAreImportedByOwnersOnly(t *testing.T) {
	for pkg, imports := range packages(t) {
		for _, path := range imports {
			for library, allowed := range owners {
				if strings.HasPrefix(path, library) && !slices.ContainsFunc(allowed, func(owner string) bool { return matches(owner+"/...", pkg) }) {
					t.Errorf("%s imports %s, which only %s may import", pkg, path, strings.Join(allowed, ", "))
				}
			}
		}
	}
}

// pureSDK has the SDK packages that need no host. Domain packages may import them.
var pureSDK = []string{
	module + "/sdk/atomicfile", module + "/sdk/contain", module + "/sdk/derive", module + "/sdk/digest", module + "/sdk/filesystem",
	module + "/sdk/filesystem/faultfs", module + "/sdk/frontmatter", module + "/sdk/rawjson", module + "/sdk/scan",
	module + "/sdk/transaction",
}

func TestDomainPackagesImportNeitherPluginSDKNorUnsafe(t *testing.T) {
	for pkg, imports := range packages(t) {
		name, sub, _ := strings.Cut(strings.TrimPrefix(pkg, "plugins/"), "/")
		if !strings.HasPrefix(pkg, "plugins/") || sub == "" || sub == "tools" {
			continue
		}
		for _, path := range imports {
			if path == "unsafe" || strings.HasPrefix(path, module+"/sdk") && !slices.Contains(pureSDK, path) {
				t.Errorf("%s of plugin %s imports %s", sub, name, path)
			}
		}
	}
}

// TestHostDoesNotPrintToStdout checks that no package of the host prints to stdout, which carries the protocol. On Windows the
// connection of a worker process to the host is its stdin and stdout.
func TestHostDoesNotPrintToStdout(t *testing.T) {
	files := 0
	check := func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata") ||
			filepath.ToSlash(file) == "../internal/worker/child/connection_windows.go" {
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
