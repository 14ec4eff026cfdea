package scaffold

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/bulkhead-mcp/bulkhead"
)

// language is a language with an SDK, or one whose programs for WASI are wrapped. NAME in its texts stands for the name of the plugin. The templates of its files are in the
// directory templates/id.
type language struct {
	id, title string
	needs     string   // the tool chain, for the readme
	files     string   // rows of the readme's table
	module    string   // path of the module
	build     string   // the key of [build]
	steps     []string // commands before the build
	sdk       string   // path of the SDK in the plugin's directory; empty: the plugin is a program that needs none
	copied    bool     // the SDK is always copied, because no registry publishes it
	prepare   func(Options, *data) error
	addSDK    func(files map[string][]byte) error
}

var languages = []language{
	{
		id: "go", title: "Go", needs: "Go 1.26 or newer",
		files:  "| `main.go` | the handlers, and their registration |\n| `main_test.go` | a test of the handlers, which runs natively |\n",
		module: "NAME.wasm", build: `go = "."`, steps: []string{"go test ."},
		sdk: sdkDir, prepare: prepareGo, addSDK: addGoSDK,
	},
	{
		id: "go-command", title: "Go without an SDK, as a program for WASI", needs: "Go 1.24 or newer",
		files:  "| `main.go` | the program, which is built with `GOOS=wasip1`, and runs once for each call |\n",
		module: "NAME.wasm", build: `go = "."`, prepare: prepareNothing,
	},
	{
		id: "rust", title: "Rust", needs: "Rust 1.82 or newer with the target `wasm32-wasip1` (`rustup target add wasm32-wasip1`)",
		files:  "| `src/lib.rs` | the handlers, their registration, and a test, which runs natively |\n| `Cargo.toml` | the dependencies |\n",
		module: "target/wasm32-wasip1/release/plugin.wasm", build: `command = ["cargo", "build", "--release", "--target", "wasm32-wasip1"]`,
		steps: []string{"cargo test"},
		sdk:   sdkDir, prepare: prepareRust, addSDK: addRustSDK,
	},
	{
		id: "c", title: "C", needs: "clang with lld and wasi-libc (on Debian `clang`, `lld`, `wasi-libc` and `libclang-rt-dev-wasm32`)",
		files:  "| `plugin.c` | the handlers, and their registration |\n",
		module: "NAME.wasm",
		build:  `command = ["clang", "--target=wasm32-wasi", "-mexec-model=reactor", "-Oz", "-Wl,--strip-all", "plugin.c", "-o", "NAME.wasm"]`,
		sdk:    "bulkhead.h", copied: true, prepare: prepareNothing, addSDK: addCHeader,
	},
	{
		id: "assemblyscript", title: "AssemblyScript", needs: "Node.js 20 or newer with npm",
		files:  "| `assembly/index.ts` | the handlers, and their registration |\n| `package.json` | the dependencies, and the options of the compiler |\n",
		module: "NAME.wasm", build: `command = ["npm", "run", "--silent", "build"]`, steps: []string{"npm install"},
		sdk: sdkDir, prepare: preparePackage("sdk/assemblyscript"), addSDK: addPackage("sdk/assemblyscript"),
	},
	{
		id: "javascript", title: "JavaScript", needs: "Node.js 20 or newer with npm",
		files: "| `src/index.js` | the handlers, and their registration |\n| `test/index.test.js` | a test of the handlers, which runs in Node.js |\n" +
			"| `package.json` | the dependencies, and the build |\n",
		module: "NAME.wasm", build: `command = ["npm", "run", "--silent", "build"]`, steps: []string{"npm install --ignore-scripts", "npm test"},
		sdk: sdkDir, prepare: preparePackage("sdk/javascript"), addSDK: addPackage("sdk/javascript"),
	},
}

// sdkDir is the directory of an SDK with several files in the plugin's directory.
const sdkDir = "bulkhead"

// Languages returns the names of the languages.
func Languages() []string {
	var ids []string
	for _, l := range languages {
		ids = append(ids, l.id)
	}
	return ids
}

// prepareRust sets the version of the SDK that Cargo.toml requires.
func prepareRust(_ Options, d *data) error {
	text, err := bulkhead.Sources.ReadFile("sdk/rust/Cargo.toml")
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(text), "\nversion = \"")
	version, _, found := strings.Cut(rest, "\"\n")
	if !found {
		return errors.New("sdk/rust/Cargo.toml has no version")
	}
	d.Versions = map[string]string{"sdk": version}
	return nil
}

// workspace is the section of the Rust SDK's Cargo.toml that names a crate which is not copied.
const workspace = "[workspace]\nmembers = [\"conformance\"]\n\n"

func addRustSDK(files map[string][]byte) error {
	if err := copySources(files, sdkDir, "sdk/rust", func(string) bool { return true }); err != nil {
		return err
	}
	crate, rest, found := strings.Cut(string(files[sdkDir+"/Cargo.toml"]), workspace)
	if !found {
		return fmt.Errorf("sdk/rust/Cargo.toml lacks the section %q", workspace)
	}
	files[sdkDir+"/Cargo.toml"] = []byte(crate + rest)
	return addLicense(files)
}

func prepareNothing(Options, *data) error { return nil }

func addCHeader(files map[string][]byte) (err error) {
	files["bulkhead.h"], err = bulkhead.Sources.ReadFile("sdk/c/bulkhead.h")
	return err
}

// preparePackage returns a function that sets the version of an npm package of the SDK, which package.json requires.
func preparePackage(dir string) func(Options, *data) error {
	return func(_ Options, d *data) error {
		text, err := bulkhead.Sources.ReadFile(dir + "/package.json")
		if err != nil {
			return err
		}
		var sdk struct{ Version string }
		if err := json.Unmarshal(text, &sdk); err != nil {
			return fmt.Errorf("%s/package.json: %w", dir, err)
		}
		d.Versions = map[string]string{"sdk": sdk.Version}
		return nil
	}
}

// addPackage returns a function that adds an npm package of the SDK.
func addPackage(dir string) func(files map[string][]byte) error {
	return func(files map[string][]byte) error {
		if err := copySources(files, sdkDir, dir, func(string) bool { return true }); err != nil {
			return err
		}
		return addLicense(files)
	}
}

// addLicense adds the licence to an SDK that is a directory.
func addLicense(files map[string][]byte) (err error) {
	files[sdkDir+"/LICENSE"], err = bulkhead.Sources.ReadFile("LICENSE")
	return err
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
