package scaffold

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/bulkhead-mcp/bulkhead"
)

// language is a language with an SDK. NAME in its texts stands for the name of the plugin. The templates of its files are in the
// directory templates/id.
type language struct {
	id, title string
	needs     string   // the tool chain, for the readme
	files     string   // rows of the readme's table
	module    string   // path of the module
	build     string   // the key of [build]
	steps     []string // commands before the build
	sdk       string   // path of the SDK in the plugin's directory
	copied    bool     // the SDK is always copied, because no registry publishes it
	prepare   func(Options, *data) error
	addSDK    func(files map[string][]byte) error
}

var languages = []language{
	{
		id: "go", title: "Go", needs: "Go 1.26 or newer",
		files:  "| `main.go` | the handlers, and their registration |\n| `main_test.go` | a test of the handlers, which runs natively |\n",
		module: "NAME.wasm", build: `go = "."`, steps: []string{"go test ."},
		sdk: goSDK, prepare: prepareGo, addSDK: addGoSDK,
	},
}

// Languages returns the names of the languages.
func Languages() []string {
	var ids []string
	for _, l := range languages {
		ids = append(ids, l.id)
	}
	return ids
}

const (
	goSDK    = "bulkhead" // the directory of the Go SDK in the plugin's directory, and of other SDKs that consist of several files
	goModule = "github.com/bulkhead-mcp/bulkhead"
)

// Modules that the Go SDK needs.
var (
	goTestModules = []string{"github.com/BurntSushi/toml", "github.com/santhosh-tekuri/jsonschema/v6", "golang.org/x/text"} // of sdk/sdktest
	goModules     = append(slices.Clone(goTestModules), "go.yaml.in/yaml/v4")                                               // of all packages
	goTestSums    = append(slices.Clone(goTestModules), "github.com/dlclark/regexp2")                                       // in go.sum, as `go mod tidy` writes it
)

// prepareGo sets the versions of a Go plugin's go.mod.
func prepareGo(o Options, d *data) error {
	mod, err := readGoMod()
	if err != nil {
		return err
	}
	d.Versions = map[string]string{"go": mod.Go.Version, "sdk": "v0.0.0"}
	d.Indirect = requirements(mod, goTestModules)
	if o.Published {
		if !semver.IsValid(o.Version) {
			return fmt.Errorf("--sdk published: this program is not a release (its version is %s), so that it has no published Go SDK: leave out --sdk", o.Version)
		}
		d.Versions["sdk"] = o.Version
		d.Steps = slices.Insert(d.Steps, 0, "go mod tidy")
	}
	return nil
}

// addGoSDK adds the Go module of the SDK, without its tests, and the checksums of the modules that it needs.
func addGoSDK(files map[string][]byte) error {
	mod, err := readGoMod()
	if err != nil {
		return err
	}
	files[goSDK+"/go.mod"] = fmt.Appendf(nil, "module %s\n\ngo %s\n\nrequire (\n\t%s\n)\n", goModule, mod.Go.Version,
		strings.Join(requirements(mod, goModules), "\n\t"))
	sums, err := bulkhead.Sources.ReadFile("go.sum")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(sums)) {
		if slices.Contains(goTestSums, strings.Fields(line)[0]) {
			files["go.sum"] = append(files["go.sum"], line...)
		}
	}
	return copySources(files, goSDK, "", func(name string) bool {
		return name == "LICENSE" || strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
	})
}

func readGoMod() (*modfile.File, error) {
	text, err := bulkhead.Sources.ReadFile("go.mod")
	if err != nil {
		return nil, err
	}
	return modfile.Parse("go.mod", text, nil)
}

// requirements returns the lines of go.mod that require modules.
func requirements(mod *modfile.File, modules []string) []string {
	var lines []string
	for _, r := range mod.Require {
		if slices.Contains(modules, r.Mod.Path) {
			lines = append(lines, r.Mod.Path+" "+r.Mod.Version)
		}
	}
	return lines
}

// copySources adds the embedded files below from, which is empty for all, that are selected, to the directory to of files.
func copySources(files map[string][]byte, to, from string, selected func(name string) bool) error {
	return fs.WalkDir(bulkhead.Sources, path.Clean(from), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !selected(name) {
			return err
		}
		content, err := bulkhead.Sources.ReadFile(name)
		files[path.Join(to, strings.TrimPrefix(name, from))] = content
		return err
	})
}
