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

// packages returns the repository's packages with their imports, without those of tests.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		all[strings.TrimPrefix(fields[0], module+"/")] = fields[1:]
	}
	if len(all) < 20 {
		t.Fatalf("found only %d packages", len(all))
	}
	return all
}

// arrows lists which packages of this repository each part may import. The longest matching part applies; "x/..."
// matches x and everything below it.
var arrows = map[string][]string{
	"cmd":                        {"cmd/...", "host", "host/admin", "host/build", "host/review", "host/tomlfile", "host/visible", "internal/demo", "sdk/abi"},
	"host":                       {"host/audit", "host/config", "host/engine", "host/engine/code", "host/gateway", "host/internal/...", "host/manifest", "host/rawjson", "host/sandbox", "host/sandbox/...", "host/sandbox/git", "host/schema", "host/tomlfile", "host/visible", "sdk/abi"},
	"host/admin":                 {"host", "host/build", "host/config", "host/engine", "host/engine/code", "host/internal/...", "host/manifest", "host/review", "host/sandbox", "host/tomlfile", "host/visible", "sdk/atomicfile"},
	"host/build":                 {"host/engine", "host/engine/code", "host/internal/reexec", "host/internal/worker", "host/internal/worker/wire", "host/manifest", "host/tomlfile", "sdk/abi", "sdk/atomicfile", "sdk/filesystem"},
	"host/config":                {"host/internal/origin", "host/manifest", "host/tomlfile", "sdk/contain"},
	"host/audit":                 {"host/visible", "sdk/atomicfile"},
	"host/engine":                {"host/engine/...", "host/internal/confine", "host/visible", "sdk/abi"},
	"host/gateway":               {"host/rawjson", "host/visible", "sdk/abi"},
	"host/manifest":              {"host/internal/origin", "host/schema", "host/tomlfile", "host/visible"},
	"host/rawjson":               {},
	"host/review":                {"host/config", "host/internal/origin", "host/manifest", "host/tomlfile", "sdk/contain"},
	"host/sandbox":               {"host/config", "host/manifest", "host/rawjson", "host/sandbox/...", "host/visible", "sdk/abi"},
	"host/sandbox/beneath":       {"host/sandbox/internal/seam"},
	"host/sandbox/dial":          {},
	"host/sandbox/fetch":         {"host/internal/origin", "host/sandbox/dial", "sdk/abi"},
	"host/sandbox/vfs":           {"host/sandbox/beneath"},
	"host/schema":                {"host/rawjson"},
	"host/tomlfile":              {"host/rawjson", "host/visible"},
	"internal/demo":              {"host", "host/build", "host/manifest"},
	"internal/fixtures":          {},                                    // for tests
	"internal/testcache":         {},                                    // for tests
	"internal/tmpdir":            {},                                    // for tests
	"internal/wasmtest":          {"host/engine/meter/wasm", "sdk/abi"}, // for tests
	"plugins/chant":              {"plugins/chant/...", "sdk/..."},
	"plugins/aam":                {"internal/fixtures", "plugins/aam/...", "sdk/..."},
	"plugins/agentpack":          {"plugins/agentpack/...", "sdk/..."},
	"plugins/agentpack/apply":    {"plugins/agentpack/disk", "plugins/agentpack/fault", "sdk/contain", "sdk/filesystem", "sdk/transaction"},
	"plugins/agentpack/disk":     {"plugins/agentpack/fault", "sdk/contain", "sdk/filesystem"},
	"plugins/mcpkg":              {"plugins/mcpkg/...", "sdk/..."},
	"plugins/openspec":           {"plugins/openspec/...", "sdk/..."},
	"sdk":                        {"sdk/..."},
	"sdk/abi":                    {},
	"sdk/atomicfile":             {"sdk/filesystem"},
	"sdk/contain":                {"sdk/filesystem"},
	"sdk/filesystem":             {"sdk/filesystem"},
	"sdk/transaction":            {"sdk/atomicfile", "sdk/contain", "sdk/filesystem"},
	"sdk/internal":               {"sdk/abi", "sdk/internal/..."},
	"sdk/internal/memfs":         {"sdk/filesystem"}, // for tests
	"tests":                      {"host/build", "sdk", "tests/..."},
	"tests/bench":                {"host", "host/build", "plugins/...", "sdk", "tests/bench/..."},
	"host/internal/grant":        {"host/config", "host/manifest", "sdk/contain"},
	"host/internal/answer":       {"host/engine", "host/rawjson", "host/schema", "sdk/abi"},
	"host/internal/network":      {"host/internal/worker/wire", "host/rawjson", "host/sandbox/fetch", "sdk/abi"},
	"host/internal/origin":       {},
	"host/internal/reexec":       {},
	"host/internal/trust":        {"host/internal/ownedpath", "host/rawjson", "sdk/atomicfile", "sdk/filesystem"},
	"host/internal/worker":       {"host/engine", "host/engine/code", "host/internal/confine", "host/internal/worker/wire", "host/rawjson", "host/visible", "sdk/abi"},
	"host/internal/worker/wire":  {"sdk/abi"},
	"host/internal/worker/child": {"host/audit", "host/engine", "host/internal/answer", "host/internal/confine", "host/internal/worker/wire", "host/manifest", "host/rawjson", "host/sandbox", "host/sandbox/...", "host/schema", "sdk/abi"},
	"host/internal/confine":      {},
	"host/internal":              {"host/internal/..."},
	"host/visible":               {},

	"host/sandbox/git":                  {"host/sandbox/beneath", "host/sandbox/git/...", "sdk/abi"},
	"host/sandbox/git/gitconfig":        {"host/sandbox/git/internal/hosterror"},
	"host/sandbox/git/internal":         {"sdk/abi"},
	"host/sandbox/git/internal/gittest": {"host/sandbox/git", "sdk/abi"}, // for tests
	"host/sandbox/git/objects":          {"host/sandbox/beneath", "host/sandbox/git/internal/hosterror", "host/sandbox/git/repo", "sdk/abi"},
	"host/sandbox/git/refs":             {"host/sandbox/beneath", "host/sandbox/git/internal/hosterror", "host/sandbox/git/objects", "host/sandbox/git/repo"},
	"host/sandbox/git/remote":           {"host/sandbox/git/internal/hosterror", "host/sandbox/git/objects", "host/sandbox/git/refs", "sdk/abi"},
	"host/sandbox/git/repo":             {"host/sandbox/beneath", "host/sandbox/git/gitconfig", "host/sandbox/git/internal/hosterror"},
	"host/sandbox/git/worktree":         {"host/sandbox/beneath", "host/sandbox/git/internal/hosterror", "host/sandbox/git/objects", "host/sandbox/git/refs", "host/sandbox/git/repo", "host/sandbox/git/worktree/ignore", "sdk/abi"},
	"host/sandbox/git/worktree/ignore":  {"host/sandbox/git/repo"},
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
	"github.com/BurntSushi/toml":             {"host/tomlfile", "sdk/sdktest"},
	"github.com/pelletier/go-toml":           {"host/tomlfile"},
	"github.com/tetratelabs/wazero":          {"host/engine", "host/sandbox"},
	"github.com/mark3labs/mcp-go":            {"host/gateway", "tests"},
	"github.com/go-git/go-git":               {"host/sandbox/git"},
	"github.com/santhosh-tekuri/jsonschema":  {"sdk/sdktest"},
	"github.com/bmatcuk/doublestar":          {"host/config", "host/sandbox"},
	"golang.org/x/net":                       {"host/internal/confine"},
	"github.com/spf13/cobra":                 {"cmd/bulkhead"},
	"github.com/mattn/go-isatty":             {"cmd/bulkhead"},
	"github.com/aymanbagabas/go-udiff":       {"plugins/agentpack"},
	"go.yaml.in/yaml":                        {"sdk/frontmatter", "plugins/aam", "plugins/openspec"},
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

// pureSDK are SDK packages that use neither the ABI nor the host, so that domain packages may import them.
var pureSDK = []string{
	module + "/sdk/atomicfile", module + "/sdk/contain", module + "/sdk/filesystem", module + "/sdk/filesystem/faultfs",
	module + "/sdk/frontmatter", module + "/sdk/transaction",
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

// TestHostDoesNotPrintToStdout: stdout carries the protocol.
func TestHostDoesNotPrintToStdout(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../host", func(file string, item fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata") {
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
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Fatal("found no files")
	}
}
