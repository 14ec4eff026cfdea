package build

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

func TestRemedySpeaksToLanguageOfAuthor(t *testing.T) {
	const unexported = "the plugin cannot run m.wasm: it does not implement ABI 1: it does not export the function bulkhead_abi_1"
	for _, test := range []struct{ message, command, want string }{
		{unexported, "cargo build --release", "cdylib"},
		{unexported, "/usr/bin/clang-14 x.c", "-mexec-model=reactor"},
		{unexported, "wasm32-wasi-clang x.c", "-mexec-model=reactor"},
		{unexported, "npm run build", "bulkhead_call"},
		{unexported, "npm run build", "docs/javascript.md"},
		{unexported, "npx asc assembly/index.ts", "export bulkhead_abi_1 and bulkhead_call"},
		{unexported, "npx bulkhead-js build", "bulkhead-js build SCRIPT"},
		{unexported, "npx other", "docs/assemblyscript.md"},
		{unexported, "go build", "c-shared"},
		{unexported, "", "docs/rust.md for Rust"},
		{unexported, "wat2wasm x.wat", "docs/abi.md"},
		{unexported + "; it exports _start, as a program for WASI does", "cargo build", `kind = "command" in [module]`},
		{unexported + "; it exports _start, as a program for WASI does", "cargo build", "to have handlers instead: set crate-type"},
		{"the plugin cannot run m.wasm: it is not a WASI command: it does not export the function _start", "cargo build", `remove kind = "command"`},
		{`it imports "env"."abort", which the host does not provide`, "npm run build", "--use abort=bulkhead_abort"},
		{`it imports "wbg"."__wbg_now_1", which the host does not provide`, "cargo build", "wasm-bindgen"},
		{`it imports "env"."curl_easy_init", which the host does not provide`, "clang x.c", "link the functions"},
		{"offset 0x0: it is a component, not a core module", "cargo component build", "wasm32-wasip2"},
		{"offset 0x0: it is a component, not a core module", "go build", "GOOS=wasip1"},
		{"offset 0x0: it is a component, not a core module", "clang x.c", "--target=wasm32-wasip1"},
		{"offset 0x0: it is a component, not a core module", "npx jco componentize x.js", "bulkhead-js instead of jco"},
		{"offset 0x0: it is a component, not a core module", "", "WASI preview 1"},
	} {
		if got := invalidRemedy(test.message, strings.Fields(test.command)); !strings.Contains(got, test.want) {
			t.Errorf("%s (%s): got %q, want it to say %q", test.message, test.command, got, test.want)
		}
	}
}

func TestCheckExplainsComponent(t *testing.T) {
	dir := t.TempDir()
	manifest := "manifest = 1\n[plugin]\nname = \"c\"\nversion = \"0.1.0\"\ndescription = \"d\"\n[module]\nfile = \"c.wasm\"\n[[tools]]\nname = \"t\"\ndescription = \"d\"\naccess = \"read\"\n"
	for name, content := range map[string]string{"plugin.toml": manifest, "c.wasm": "\x00asm\x0d\x00\x01\x00"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ps := Check(t.Context(), dir, Options{})
	if len(ps) != 1 || !strings.Contains(ps[0].What, "it is a component, not a core module") || !strings.Contains(ps[0].Remedy, "build a core module") {
		t.Errorf("got %v", ps)
	}
}

// A compiler of an npm package is missing until the packages are installed.
func TestMissingCompilerOfPackageIsInstalledByNpm(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are scripts of a shell")
	}
	bin := t.TempDir()
	for name, script := range map[string]string{
		"npm": "echo '> build'; echo \"sh: 1: $1: not found\" >&2; exit 127",
		"npx": "echo 'npm error could not determine executable to run' >&2; exit 1",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	const install = "run `npm install`"
	for command, want := range map[string]string{
		`"npm", "run", "--silent", "build"`:      "",
		`"npm", "asc"`:                           install,
		`"npm", "bulkhead-js"`:                   install,
		`"npx", "asc", "assembly/index.ts"`:      install,
		`"bulkhead-js", "build", "src/index.js"`: install,
		`"asc-of-nobody"`:                        "install the program",
		`"sh", "-c", "asc-of-nobody"`:            "",
	} {
		dir := t.TempDir()
		manifest := "manifest = 1\n[plugin]\nname = \"c\"\nversion = \"0.1.0\"\ndescription = \"d\"\n[module]\nfile = \"c.wasm\"\n[build]\ncommand = [" + command + "]\n[[tools]]\nname = \"t\"\ndescription = \"d\"\naccess = \"read\"\n"
		if err := os.WriteFile(filepath.Join(dir, "plugin.toml"), []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Build(t.Context(), dir, Options{Out: t.TempDir()})
		var ps tomlfile.Problems
		if !errors.As(err, &ps) || len(ps) != 1 || !strings.HasPrefix(ps[0].Remedy, want) || want == "" && ps[0].Remedy != "" {
			t.Errorf("[%s]: %v, want the remedy %q", command, err, want)
		}
	}
}
