package build_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/modinfo"
)

// program returns a source whose module is a WASI command that traps if it runs.
func program() files {
	m := wasmtest.Module{Types: wasmtest.Plugin(nil, "").Types[:1], Memory: []byte{0, 1}, Funcs: []wasmtest.Func{{Name: "_start", Code: []byte{0x00, 0x0b}}}}
	return files{"plugin.toml": head + "kind = 'command'\n" + tools("one") + "args = ['-x']\n" + tools("two"), "hand.wasm": string(m.Bytes())}
}

func TestCheckAndBuildCommand(t *testing.T) {
	dir := program().write(t, t.TempDir())
	if ps := build.Check(t.Context(), dir, build.Options{}); len(ps) > 0 {
		t.Fatal(ps)
	}
	out := t.TempDir()
	if _, err := build.All(t.Context(), []string{dir}, build.Options{Out: out}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(out, "hand", "hand.wasm")
	r, err := build.Inspect(t.Context(), file, build.Options{})
	if err != nil || r.Problem != "" || r.ABI != 0 || r.Kind != modinfo.Command || r.Start == nil || r.Handlers == nil || !slices.Equal(r.Handlers.Tools, []string{"one", "two"}) {
		t.Errorf("got %+v, %v", r, err)
	}
	if r.Manifest == nil || r.Manifest.Problems != 0 {
		t.Errorf("got the manifest %+v", r.Manifest)
	}
}

func TestCheckReportsOtherKindOfModule(t *testing.T) {
	wantRemedy := func(source files, what, remedy string) {
		t.Helper()
		ps := build.Check(t.Context(), source.write(t, t.TempDir()), build.Options{})
		if len(ps) != 1 || !strings.HasPrefix(brief(ps[0]), "plugin.toml:7 module.file: "+what) || !strings.Contains(ps[0].Remedy, remedy) {
			t.Errorf("got %v, want %s and the remedy %s", ps, what, remedy)
		}
	}
	wantRemedy(program().with(files{"hand.wasm": good()["hand.wasm"]}),
		"the plugin cannot run hand.wasm: it is not a WASI command: it does not export the function _start", `remove kind = "command"`)
	wantRemedy(good().with(files{"hand.wasm": program()["hand.wasm"]}),
		"asked for its handlers, the plugin cannot run hand.wasm: it does not implement ABI 1: ", `write kind = "command" in [module]`)
}
