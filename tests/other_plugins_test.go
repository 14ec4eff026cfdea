//go:build unix

package tests

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// otherPlugins are the built plugins that are not in Go.
type otherPlugins struct {
	dir     string
	leftOut map[string]string // why, by name
	err     error
}

// buildOtherPlugins builds them with the tool chains of .ci/toolchains and those in PATH.
var buildOtherPlugins = sync.OnceValue(func() otherPlugins {
	built := otherPlugins{dir: filepath.Join(scratch, "other-plugins"), leftOut: map[string]string{}}
	cache, _ := os.UserCacheDir() // without it no tool chains are set up
	toolchains := cmp.Or(os.Getenv("BULKHEAD_TOOLCHAINS"), filepath.Join(cache, "bulkhead-toolchains"))
	command := exec.Command(cachedProgram(), "plugin", "build", "../plugins/ripgrep", "../plugins/sqlite", "../plugins/script", "-o", built.dir, "--json")
	command.Env = append(os.Environ(), "RUSTUP_AUTO_INSTALL=0", "PATH="+filepath.Join(toolchains, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := command.Output()
	if exit, ok := err.(*exec.ExitError); ok { // Output returns no other type for it
		err = fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	var report struct {
		LeftOut []struct{ Name, Reason string } `json:"left_out"`
	}
	if err == nil {
		err = json.Unmarshal(out, &report)
	}
	built.err = err
	for _, plugin := range report.LeftOut {
		built.leftOut[plugin.Name] = plugin.Reason
	}
	return built
})

// otherPlugin returns the directory that contains a plugin that is not in Go, below its name. The test is left out if this machine lacks
// its tool chain. BULKHEAD_OTHER_PLUGINS names a directory of built plugins, such as that of a release, to test instead.
func otherPlugin(t testing.TB, name string) string {
	t.Helper()
	testcache.DependOn(t, "../plugins/"+name)
	if dir := os.Getenv("BULKHEAD_OTHER_PLUGINS"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, name, "plugin.toml")); err != nil {
			t.Skipf("NOT TESTED: the plugin %s: %v", name, err)
		}
		return dir
	}
	testenv.All(t, "compiles "+name)
	testcache.DependOn(t, "..")
	built := buildOtherPlugins()
	if built.err != nil {
		t.Fatal(built.err)
	}
	if reason := built.leftOut[name]; reason != "" {
		t.Skipf("NOT TESTED: the plugin %s is not built: %s", name, reason)
	}
	return built.dir
}

// TestModuleOfScriptsIsTheSameWithEachNode compares the built module, which may be that of a release, with one that another version of Node.js
// makes: releases do not pin the version.
func TestModuleOfScriptsIsTheSameWithEachNode(t *testing.T) {
	t.Parallel()
	built := readFile(t, filepath.Join(otherPlugin(t, "script"), "script", "script.wasm"))
	for _, node := range []string{"node", clientProgram(t, "node", "")} {
		module := filepath.Join(t.TempDir(), "script.wasm")
		command := exec.Command(node, "../../sdk/javascript/bin/bulkhead-js.js", "build", "src/index.js", "--out", module, "--minify", "--no-system") // as in the plugin's build
		command.Dir = "../plugins/script"
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", node, err, out)
		}
		if readFile(t, module) != built {
			t.Errorf("%s makes another module than %s", node, "plugins/script/build")
		}
	}
}

func TestScenariosOfOtherPluginsPass(t *testing.T) {
	t.Parallel()
	for name, least := range map[string]int{"ripgrep": 3, "sqlite": 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passed(t, []string{"../plugins/" + name, "--plugins", otherPlugin(t, name)}, least)
		})
	}
}
