//go:build unix

package languages

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
)

const casesManifest = `manifest = 1

[plugin]
name        = "cases"
version     = "0.1.0"
description = "Runs the cases of tools.ts."

[module]
file = "cases.wasm"

[build]
command = ["node", "bin/bulkhead-js.js", "build", "testdata/tools.ts", "--out", "cases.wasm"]

[[capabilities.fs]]
path   = "${project}"
access = "rw"
why    = "tests files"

[[tools]]
name        = "case"
description = "Runs a case"
access      = "write"
`

// TestJavaScriptInHost runs cases of the SDK's tests in the host, which bounds the stack and the memory, and has files.
func TestJavaScriptInHost(t *testing.T) {
	i := 0
	for languages[i].name != "JavaScript" {
		i++
	}
	dir := filepath.Join(source(t, languages[i]), languages[i].testsDir)
	if err := os.WriteFile(filepath.Join(dir, "plugin.toml"), []byte(casesManifest), 0o644); err != nil {
		t.Fatal(err)
	}
	w := hosttest.New(t, hosttest.Files{"work/a.md": ""})
	if _, err := build.Build(t.Context(), dir, build.Options{Out: w.Dir + "/plugins"}); err != nil {
		t.Fatal(err)
	}
	h := w.Open(t, w.Options())
	text := func(name string) string {
		var result struct {
			Content []struct{ Text string }
		}
		got := hosttest.Request(t, h, "tools/call", `{"name":"case","arguments":{"name":"`+name+`"}}`)
		if err := json.Unmarshal([]byte(got), &result); err != nil || len(result.Content) != 1 {
			t.Fatalf("%s: got %s", name, got)
		}
		return result.Content[0].Text
	}
	for _, c := range []struct{ name, want string }{
		{"recursion", "RangeError: Maximum call stack size exceeded"},
		{"asynchronousRecursion", "RangeError: Maximum call stack size exceeded"},
		{"callbacks", "RangeError: Maximum call stack size exceeded"},
		{"accessors", "RangeError: Maximum call stack size exceeded"},
		{"joined", "RangeError: Maximum call stack size exceeded"},
		{"nested", "RangeError: Maximum call stack size exceeded"},
		{"nestedResult", "RangeError: Maximum call stack size exceeded"},
		{"objects", "the handler threw null, which the engine does if its memory is exhausted: see limits.memory"},
		{"bytes", "InternalError: out of memory"},
		{"environment", "true,,,12"},
		{"waits", "true"},
		{"files", strings.Join([]string{
			`"grün!�"`, `[33,255]`, `["file",7,true]`, `[{"name":"b","kind":"directory"}]`,
			`"EEXIST"`, `"ENOENT"`, `"ENOTEMPTY"`, `"EISDIR"`, `"ENOENT"`, `"EINVAL"`, `"EACCES"`,
			`[false,true,false,true]`, `""`, `[1500,true]`,
		}, "\n")},
	} {
		if got := text(c.name); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	// The state of the engine is the same at the beginning of each call, but not its random numbers.
	if a, b := text("random"), text("random"); a == b {
		t.Errorf("two calls have the random numbers %s", a)
	}
}
