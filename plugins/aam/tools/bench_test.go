package tools_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

// benchWorld is a directory with a home directory, a project and a registry, and holds the plugin's handlers.
type benchWorld struct {
	b    *testing.B
	root string
	host *sdktest.Host
}

func newBenchWorld(b *testing.B) benchWorld {
	b.Helper()
	p := sdk.New()
	tools.Register(p)
	w := benchWorld{b, b.TempDir(), sdktest.New(b, p, filepath.Join(testDir, "..", "plugin.toml"))}
	w.host.Handle(abi.OpFSMode, fileMode)
	w.write("home/.aam/config.yaml", "registries: [{name: team, url: 'file://"+w.root+"/team'}]\n")
	w.write("project/.aam/config.yaml", "")
	w.write("team/registry.yaml", "name: team\n")
	b.Setenv("HOME", filepath.Join(w.root, "home"))
	w.enter("project")
	return w
}

func (w benchWorld) enter(folder string) {
	w.b.Setenv("BULKHEAD_PROJECT", filepath.Join(w.root, folder))
}

func (w benchWorld) write(name, text string) {
	w.b.Helper()
	path := filepath.Join(w.root, name)
	testenv.WriteFile(w.b, path, text)
}

// call calls a tool, which must succeed, and returns the text of the result.
func (w benchWorld) call(tool, arguments string) string {
	w.b.Helper()
	result, err := w.host.CallTool(tool, arguments)
	if err != nil || result.IsError {
		w.b.Fatalf("%v %s", err, result.Text())
	}
	return result.Text()
}

// BenchmarkSearch searches registries of different sizes for a word that one in ten packages contains. The time must
// grow linearly with the size.
func BenchmarkSearch(b *testing.B) {
	for _, packages := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(packages), func(b *testing.B) {
			w := newBenchWorld(b)
			var index strings.Builder
			index.WriteString("packages:\n")
			for i := range packages {
				name := fmt.Sprintf("package-%d-%d", i%10, i)
				fmt.Fprintf(&index, "- name: %s\n  description: Number %d of the packages that are there to be searched through\n  latest: 1.%d.0\n  keywords:\n  - review\n  - k%d\n  artifact_types:\n  - skill\n  updated_at: '2026-02-10T12:00:00.000000+00:00'\n", name, i, i%20, i)
				w.write("team/packages/"+name+"/metadata.yaml", fmt.Sprintf("name: %s\ndescription: d\nauthor: Jane\nversions:\n- {version: 1.%d.0, checksum: ''}\n", name, i%20))
			}
			w.write("team/index.yaml", index.String())
			b.ResetTimer()
			for b.Loop() {
				var found []json.RawMessage
				text := w.call("aam_search", `{"query": "package-3"}`)
				if err := json.Unmarshal([]byte(text), &found); err != nil || len(found) != 10 {
					b.Fatalf("%v %s", err, text)
				}
			}
		})
	}
}

// BenchmarkInstall installs a package of 10 MB that is mostly incompressible.
func BenchmarkInstall(b *testing.B) {
	const files, size = 40, 256 << 10
	w := newBenchWorld(b)
	w.write("pkg/aam.yaml", "name: large\nversion: 1.0.0\ndescription: d\nartifacts: {skills: [{name: s, path: s, description: d}]}\n")
	source := rand.NewChaCha8([32]byte{})
	for i := range files {
		data := make([]byte, size)
		_, _ = source.Read(data)
		w.write(fmt.Sprintf("pkg/s/%d.bin", i), string(data))
	}
	w.enter("pkg")
	w.call("aam_publish", "{}")
	w.enter("project")
	b.SetBytes(files * size)
	b.ResetTimer()
	for b.Loop() {
		w.call("aam_install", `{"packages": ["large"], "force": true}`)
	}
}
