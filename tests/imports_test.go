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
	"cmd":                           {"cmd/...", "host", "internal/admin/admin", "internal/runtime/audit", "internal/authoring/build", "internal/admin/client", "internal/authoring/conform", "internal/authoring/dev", "internal/policy/manifest", "internal/authoring/replay", "internal/authoring/scenario", "internal/admin/review", "internal/authoring/scaffold", "internal/base/tomlfile", "internal/base/visible", "internal/admin/demo", "internal/base/progress", "internal/base/term", "internal/policy/discovery", "internal/protocol/schema", "sdk/abi", "sdk/rawjson"},
	"host":                          {"internal/protocol/interaction", "internal/policy/catalog", "internal/policy/config", "internal/policy/discovery", "internal/runtime/dispatch", "internal/runtime/engine/code", "internal/protocol/gateway", "internal/runtime/grant", "internal/protocol/httpserver", "sdk/rawjson", "internal/base/reexec", "internal/base/tomlfile", "internal/base/watch", "internal/runtime/worker/child", "sdk/abi"},
	"internal/admin/admin":          {"internal/authoring/build", "internal/policy/catalog", "internal/policy/config", "internal/runtime/confine", "internal/policy/discovery", "internal/runtime/derived", "internal/runtime/dirtypages", "internal/runtime/engine/code", "internal/runtime/grant", "internal/protocol/httpserver", "internal/policy/manifest", "internal/base/origin", "internal/base/ownedpath", "internal/base/statedir", "internal/policy/ready", "internal/base/reexec", "internal/admin/review", "internal/sandbox", "internal/base/tomlfile", "internal/policy/trust", "internal/base/userfile", "sdk/contain", "internal/base/access"},
	"internal/authoring/agreement":  {},
	"internal/authoring/build":      {"internal/authoring/agreement", "internal/protocol/command", "internal/base/userfile", "sdk/rawjson", "internal/runtime/extism", "internal/authoring/importer", "internal/base/progress", "internal/runtime/engine", "internal/runtime/engine/code", "internal/runtime/engine/modinfo", "internal/base/reexec", "internal/runtime/worker", "internal/runtime/worker/wire", "internal/policy/manifest", "internal/base/tomlfile", "sdk/abi", "sdk/atomicfile", "sdk/filesystem", "internal/base/openflag", "internal/base/job"},
	"internal/policy/config":        {"internal/protocol/interaction", "internal/base/origin", "internal/policy/manifest", "internal/base/tomlfile", "internal/base/visible", "sdk/contain"},
	"internal/runtime/audit":        {"internal/base/ownedpath", "internal/base/visible", "sdk/atomicfile", "internal/base/openflag", "internal/base/filelock"},
	"internal/runtime/engine":       {"internal/runtime/extism", "internal/runtime/dirtypages", "internal/runtime/engine/...", "internal/runtime/confine", "internal/base/filelock", "internal/base/visible", "sdk/abi", "internal/base/openflag"},
	"internal/protocol/gateway":     {"internal/protocol/interaction", "internal/protocol/paramheader", "sdk/rawjson", "internal/base/visible", "sdk/abi"},
	"internal/protocol/httpserver":  {"internal/protocol/gateway", "internal/protocol/paramheader", "internal/base/visible", "sdk/abi"},
	"internal/protocol/interaction": {"sdk/abi", "sdk/rawjson"},
	"internal/protocol/command":     {"sdk/abi", "sdk/rawjson"},
	"internal/authoring/conform":    {"host", "internal/authoring/build", "internal/runtime/dispatch", "internal/runtime/engine/code", "internal/base/jsonmatch", "internal/authoring/scratch", "internal/base/tomlfile", "sdk/abi"},
	"internal/base/jsonmatch":       {},
	"internal/authoring/replay":     {"host", "internal/runtime/audit", "internal/policy/manifest", "internal/authoring/scratch", "internal/base/tomlfile", "sdk/abi"},
	"internal/authoring/scenario":   {"host", "internal/policy/catalog", "internal/policy/config", "internal/runtime/dispatch", "internal/base/jsonmatch", "internal/policy/manifest", "internal/authoring/scratch", "internal/base/tomlfile", "sdk/abi", "sdk/atomicfile", "sdk/rawjson"},
	"internal/authoring/scratch":    {"host", "internal/runtime/audit", "internal/policy/discovery", "internal/policy/manifest", "internal/base/tomlfile"},
	"internal/authoring/scaffold":   {"internal/policy/manifest"},
	"internal/authoring/dev":        {"internal/authoring/build", "internal/policy/discovery", "internal/base/filelock", "internal/policy/manifest", "internal/base/openflag", "internal/base/tomlfile", "internal/base/watch"},
	"internal/runtime/extism":       {"sdk/abi", "sdk/rawjson"},
	"internal/authoring/importer":   {"internal/runtime/extism", "internal/policy/manifest", "internal/base/visible", "sdk/rawjson"},
	"internal/base/jsonfile":        {},
	module:                          {}, // the sources of the SDKs, which only internal/authoring/scaffold uses
	"internal/base/progress":        {"internal/base/term", "internal/base/visible"},
	"internal/base/term":            {},
	"internal/base/userfile":        {"internal/policy/discovery", "sdk/atomicfile"},
	"internal/protocol/paramheader": {"sdk/rawjson"},
	"internal/policy/manifest":      {"internal/protocol/command", "internal/protocol/interaction", "internal/base/origin", "internal/protocol/paramheader", "internal/protocol/schema", "internal/base/tomlfile", "internal/base/visible"},
	"sdk/rawjson":                   {},
	"internal/admin/review":         {"internal/protocol/interaction", "internal/policy/config", "internal/base/origin", "internal/policy/manifest", "internal/base/tomlfile", "sdk/contain"},
	"internal/sandbox":              {"internal/policy/config", "internal/policy/manifest", "sdk/rawjson", "internal/sandbox/...", "internal/base/visible", "sdk/abi", "internal/base/filelock", "internal/base/ntfile", "internal/base/treepath"},
	"internal/sandbox/beneath":      {"internal/sandbox/internal/seam", "internal/base/ntfile"},
	"internal/sandbox/dial":         {},
	"internal/sandbox/fetch":        {"internal/base/origin", "internal/sandbox/dial", "sdk/abi"},
	"internal/sandbox/vfs":          {"internal/sandbox/beneath"},
	"internal/protocol/schema":      {"sdk/rawjson"},
	"internal/base/tomlfile":        {"sdk/rawjson", "internal/base/visible", "internal/base/openflag"},
	"internal/policy/catalog":       {"internal/policy/config", "internal/policy/discovery", "internal/protocol/gateway", "internal/policy/manifest", "internal/policy/ready", "sdk/rawjson", "internal/protocol/schema", "internal/base/tomlfile", "internal/base/visible", "sdk/abi", "internal/base/access"},
	"internal/runtime/dispatch":     {"internal/protocol/command", "internal/protocol/interaction", "internal/runtime/audit", "internal/policy/catalog", "internal/policy/config", "internal/runtime/confine", "internal/runtime/derived", "internal/policy/discovery", "internal/runtime/engine", "internal/runtime/engine/code", "internal/protocol/gateway", "internal/runtime/grant", "internal/policy/manifest", "internal/runtime/network", "internal/base/ownedpath", "sdk/rawjson", "internal/base/reexec", "internal/sandbox", "internal/sandbox/dial", "internal/sandbox/fetch", "internal/sandbox/git", "internal/sandbox/vfs", "internal/runtime/worker", "internal/runtime/worker/wire", "sdk/abi", "internal/base/treepath"},
	"internal/admin/client":         {"internal/policy/discovery", "internal/base/jsonfile", "internal/policy/manifest", "internal/base/ownedpath", "internal/base/tomlfile", "internal/base/userfile", "internal/base/visible", "sdk/atomicfile", "sdk/contain", "sdk/filesystem"},
	"internal/admin/demo":           {"internal/base/progress", "internal/base/term", "internal/authoring/build", "internal/admin/client", "internal/policy/discovery"},
	"internal/policy/discovery":     {"internal/policy/config", "internal/policy/manifest", "internal/base/ownedpath", "internal/base/statedir", "internal/sandbox/git", "internal/base/tomlfile", "internal/policy/trust", "internal/base/visible"},
	"internal/authoring/guide":      {},                                                                                                                      // for tests
	"internal/authoring/hosttest":   {"host", "internal/policy/config", "internal/policy/discovery", "internal/policy/trust", "internal/authoring/wasmtest"}, // for tests
	"internal/base/fixtures":        {},                                                                                                                      // for tests
	"internal/base/testcache":       {},                                                                                                                      // for tests
	"internal/base/tmpdir":          {},                                                                                                                      // for tests
	"internal/authoring/wasmtest":   {"internal/runtime/engine/meter/wasm", "sdk/abi"},                                                                       // for tests
	"examples/everything":           {"sdk/..."},
	"tests/conformance":             {"host", "internal/protocol/gateway", "internal/protocol/httpserver", "internal/base/testcache", "sdk/abi", "sdk/rawjson"}, // a test program
	"plugins/chant":                 {"plugins/chant/...", "sdk/..."},
	"plugins/aam":                   {"internal/base/fixtures", "plugins/aam/...", "sdk/..."},
	"plugins/agentpack":             {"plugins/agentpack/...", "sdk/..."},
	"plugins/agentpack/apply":       {"plugins/agentpack/disk", "plugins/agentpack/fault", "sdk/contain", "sdk/filesystem", "sdk/transaction"},
	"plugins/agentpack/disk":        {"plugins/agentpack/fault", "sdk/contain", "sdk/derive", "sdk/digest", "sdk/filesystem", "sdk/scan"},
	"plugins/mcpkg":                 {"plugins/mcpkg/...", "sdk/..."},
	"plugins/openspec":              {"plugins/openspec/...", "sdk/..."},
	"sdk":                           {"sdk/..."},
	"sdk/abi":                       {},
	"sdk/atomicfile":                {"sdk/filesystem"},
	"sdk/contain":                   {"sdk/filesystem"},
	"sdk/digest":                    {"sdk/abi", "sdk/internal/imports", "sdk/rawjson"},
	"sdk/filesystem":                {"sdk/filesystem"},
	"sdk/transaction":               {"sdk/atomicfile", "sdk/contain", "sdk/digest", "sdk/filesystem"},
	"sdk/internal":                  {"sdk/abi", "sdk/internal/...", "sdk/rawjson"},
	"sdk/internal/memfs":            {"sdk/filesystem"}, // for tests
	"tests":                         {"internal/authoring/build", "sdk", "sdk/abi", "sdk/scan", "tests/..."},
	"tests/bench":                   {"host", "internal/authoring/build", "plugins/...", "sdk", "tests/bench/..."},
	"internal/runtime/grant":        {"internal/policy/config", "internal/policy/manifest", "sdk/contain", "internal/base/ntfile"},
	"internal/runtime/answer":       {"internal/protocol/interaction", "internal/runtime/engine", "sdk/rawjson", "internal/protocol/schema", "sdk/abi"},
	"internal/runtime/network":      {"internal/runtime/worker/wire", "sdk/rawjson", "internal/sandbox/fetch", "sdk/abi"},
	"internal/runtime/derived":      {"internal/base/filelock", "internal/base/openflag", "internal/base/ntfile"},
	"internal/base/filelock":        {"internal/base/openflag"},
	"internal/base/ownedpath":       {},
	"internal/base/statedir":        {"internal/base/ownedpath"},
	"internal/base/origin":          {},
	"internal/policy/ready":         {"internal/policy/config", "internal/policy/manifest", "sdk/contain"},
	"internal/base/reexec":          {},
	"internal/policy/trust":         {"internal/base/ownedpath", "internal/base/statedir", "sdk/rawjson", "sdk/atomicfile", "sdk/filesystem", "internal/base/openflag"},
	"internal/runtime/worker":       {"internal/runtime/engine", "internal/runtime/engine/code", "internal/runtime/confine", "internal/runtime/worker/wire", "sdk/rawjson", "internal/base/visible", "sdk/abi"},
	"internal/runtime/worker/wire":  {"internal/protocol/command", "sdk/abi"},
	"internal/runtime/worker/child": {"internal/protocol/command", "internal/runtime/derived", "internal/runtime/extism", "internal/runtime/dirtypages", "internal/runtime/audit", "internal/runtime/engine", "internal/runtime/answer", "internal/runtime/confine", "internal/runtime/worker/wire", "internal/policy/manifest", "sdk/rawjson", "internal/sandbox", "internal/sandbox/...", "internal/protocol/schema", "sdk/abi"},
	"internal/runtime/confine":      {"internal/runtime/dirtypages", "internal/base/job"},
	"internal/runtime/dirtypages":   {},
	"internal/base/visible":         {},
	"internal/base/watch":           {},
	"internal/base/access":          {}, // these five are the differences between systems
	"internal/base/job":             {},
	"internal/base/ntfile":          {},
	"internal/base/openflag":        {},
	"internal/base/treepath":        {},

	"internal/sandbox/git":                  {"internal/sandbox/beneath", "internal/sandbox/git/...", "sdk/abi", "sdk/contain", "internal/base/openflag"},
	"internal/sandbox/git/gitconfig":        {"internal/sandbox/git/internal/hosterror"},
	"internal/sandbox/git/internal":         {"sdk/abi"},
	"internal/sandbox/git/internal/gittest": {"internal/sandbox/git", "sdk/abi"}, // for tests
	"internal/sandbox/git/objects":          {"internal/sandbox/beneath", "internal/sandbox/git/internal/hosterror", "internal/sandbox/git/repo", "sdk/abi"},
	"internal/sandbox/git/refs":             {"internal/sandbox/beneath", "internal/sandbox/git/internal/hosterror", "internal/sandbox/git/objects", "internal/sandbox/git/repo"},
	"internal/sandbox/git/remote":           {"internal/sandbox/git/internal/hosterror", "internal/sandbox/git/objects", "internal/sandbox/git/refs", "sdk/abi"},
	"internal/sandbox/git/repo":             {"internal/sandbox/beneath", "internal/sandbox/git/gitconfig", "internal/sandbox/git/internal/hosterror", "internal/base/treepath"},
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
	"github.com/BurntSushi/toml":             {"internal/base/tomlfile", "sdk/sdktest"},
	"github.com/pelletier/go-toml":           {"internal/base/tomlfile"},
	"github.com/tetratelabs/wazero":          {"internal/runtime/engine", "internal/sandbox"},
	"github.com/mark3labs/mcp-go":            {"internal/protocol/gateway", "tests"},
	"github.com/go-git/go-git":               {"internal/sandbox/git"},
	"github.com/santhosh-tekuri/jsonschema":  {"sdk/sdktest"},
	"github.com/bmatcuk/doublestar":          {"internal/policy/config", "internal/sandbox"},
	"golang.org/x/net":                       {"internal/runtime/confine"},
	"github.com/spf13/cobra":                 {"cmd/bulkhead"},
	"github.com/tailscale/hujson":            {"internal/base/jsonfile"},
	"github.com/fsnotify/fsnotify":           {"internal/base/watch"},
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
			filepath.ToSlash(file) == "../internal/runtime/worker/child/connection_windows.go" {
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
