package scaffold

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/bulkhead-mcp/bulkhead"
)

const goModule = "github.com/bulkhead-mcp/bulkhead"

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
	files[sdkDir+"/go.mod"] = fmt.Appendf(nil, "module %s\n\ngo %s\n\nrequire (\n\t%s\n)\n", goModule, mod.Go.Version,
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
	return copySources(files, sdkDir, "", func(name string) bool {
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
