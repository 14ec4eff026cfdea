package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scenario"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

func TestReportHasTextOfPanic(t *testing.T) {
	const text = "panic: assignment to entry in nil map"
	module := wasmtest.Plugin(wasmtest.Code(wasmtest.Invoke(wasmtest.Log, 5, 0, int32(len(text))), 0x00), text).Bytes()
	dir := t.TempDir()
	for name, content := range hosttest.Plugin("it", module, hosttest.Reads("it_reads")) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, problems := manifest.Load(filepath.Join(dir, "plugins", "it"))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	plugin := scenario.Plugin{Dir: m.Dir, Manifest: m, Compiled: filepath.Join(dir, "cache", "bulkhead")}
	for expected, want := range map[string]string{
		"":                      "(trap): bulkhead: it_reads crashed: wasm error: unreachable: " + text,
		"failure = 'timeout'\n": `the failure "trap", want "timeout": bulkhead: it_reads crashed: wasm error: unreachable: ` + text,
		"failure = 'trap'\ntext = 'bulkhead: it_reads crashed: wasm error: unreachable'\n": "", // clients of serve get no more
	} {
		f, ps := scenario.Parse(filepath.Join(m.Dir, "tests", "it.toml"), []byte("[[scenario]]\nname = 'it'\n[[scenario.step]]\ntool = 'it_reads'\n"+expected))
		if err := ps.Err(); err != nil {
			t.Fatal(err)
		}
		results, err := scenario.Run(t.Context(), plugin, []scenario.File{f})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, failure := range results[0].Failures {
			got += failure.Problem
		}
		if !strings.HasSuffix(got, want) || (got == "") != (want == "") {
			t.Errorf("with %q the report is %q, want %q", expected, got, want)
		}
	}
}
