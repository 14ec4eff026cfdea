package build

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/modinfo"
)

// symptoms tell by a part of the host's error what the author of a module can do, whatever the language. The first one applies.
var symptoms = []struct{ part, remedy string }{
	{"it is not a WASI command: it does not export the function _start", `build a program with a main function, or remove kind = "command" from [module] if the module has handlers (docs/commands.md)`},
	{`"env"."abort"`, "pass --use abort=bulkhead_abort to asc (docs/assemblyscript.md)"},
	{`"env"."seed"`, "do not use Math.random: it has no WASI implementation (docs/assemblyscript.md)"},
	{`"wbg"`, "build for the target wasm32-wasip1, without crates that need wasm-bindgen (docs/rust.md)"},
	{`"__wbindgen`, "build for the target wasm32-wasip1, without crates that need wasm-bindgen (docs/rust.md)"},
	{`"extism:host/`, "the module is for a host of Extism: `bulkhead plugin import` writes the manifest of a plugin of hyper-mcp, with kind = \"extism\" in [module] (docs/extism.md)"},
	{"by which hyper-mcp knows a plugin", notImportable},
	{`it imports "env".`, "link the functions that the module lacks, or remove their calls: only WASI preview 1 and the functions of docs/abi.md can be imported"},
}

// marker is the part of the host's error for a module without the exports of the ABI.
const marker = "it does not export the function bulkhead_"

// toolchains says for the programs of build commands what makes a module export the functions of the ABI. language is that of the modules
// which the programs build; empty if there are several.
var toolchains = []struct {
	programs []string
	language modinfo.Language
	remedy   string
}{
	{[]string{"cargo", "rustc"}, modinfo.Rust, `set crate-type = ["cdylib"], build for the target wasm32-wasip1, and write bulkhead::serve!(plugin) (docs/rust.md)`},
	{[]string{"clang", "cc", "zig", "make"}, modinfo.C, "pass -mexec-model=reactor, and define BULKHEAD_IMPLEMENTATION in one file (docs/c.md)"},
	{[]string{"asc"}, modinfo.AssemblyScript, "export bulkhead_abi_1 and bulkhead_call from the file that is compiled (docs/assemblyscript.md)"},
	{[]string{"bulkhead-js", "jco", "javy"}, modinfo.JavaScript, "build it with bulkhead-js build SCRIPT --out MODULE (docs/javascript.md)"},
	{[]string{"npm", "npx", "pnpm", "yarn"}, "", "build it with bulkhead-js (docs/javascript.md), or in AssemblyScript export bulkhead_abi_1 and bulkhead_call from the file that is compiled (docs/assemblyscript.md)"},
	{[]string{"go"}, modinfo.Go, "write go = \".\" in [build], or pass -buildmode=c-shared with GOOS=wasip1 and GOARCH=wasm; call sdk.Serve from init (docs/getting-started.md)"},
}

// chainOf returns the language and remedy of the tool chain of a build command; empty if it is unknown. If the command is npx, the program
// that npx runs decides.
func chainOf(command []string) (language modinfo.Language, remedy string) {
	if len(command) > 1 && command[0] == "npx" {
		if language, remedy = chainOf(command[1:]); remedy != "" {
			return language, remedy
		}
	}
	if len(command) == 0 {
		return "", ""
	}
	program := strings.TrimSuffix(filepath.Base(command[0]), ".exe")
	for _, chain := range toolchains {
		for _, name := range chain.programs {
			if program == name || strings.HasSuffix(program, "-"+name) || strings.HasPrefix(program, name+"-") {
				return chain.language, chain.remedy
			}
		}
	}
	return "", ""
}

// chainRemedy returns how the tool chain of a build command makes a module export the functions of the ABI; "" if it is unknown.
func chainRemedy(command []string) string {
	_, remedy := chainOf(command)
	return remedy
}

// npmInstall is the remedy for a compiler of an npm package that is not installed.
const npmInstall = "run `npm install` in the plugin's directory: its package.json names the compiler, and npm scripts and npx find it in node_modules/.bin"

// packaged are the compilers that npm packages contain.
var packaged = []string{"bulkhead-js", "asc"}

// missingRemedy returns what the author can do if the program of a build command does not exist.
func missingRemedy(command []string) string {
	if len(command) > 0 && slices.Contains(packaged, filepath.Base(command[0])) {
		return npmInstall + "; write command = [\"npx\", …] or [\"npm\", \"run\", …] in [build]"
	}
	return "install the program, or name the one that builds the module"
}

// lacksPackages reports whether a command of npm failed because the packages that it needs are not installed. output is what shells, npx
// and Node.js print.
func lacksPackages(command []string, output string) bool {
	program := strings.TrimSuffix(filepath.Base(command[0]), filepath.Ext(command[0]))
	if !slices.Contains([]string{"npm", "npx", "pnpm", "yarn", "node"}, program) {
		return false
	}
	for _, name := range packaged {
		for _, symptom := range []string{name + ": not found", name + ": command not found", "'" + name + "' is not recognized", "could not determine executable to run", "ERR_MODULE_NOT_FOUND"} {
			if strings.Contains(output, symptom) {
				return true
			}
		}
	}
	return false
}

// guides is the remedy for a module whose tool chain is unknown.
const guides = "build a module that implements ABI 1: docs/getting-started.md is the guide for Go, docs/rust.md for Rust, docs/c.md for C, docs/assemblyscript.md for AssemblyScript, docs/javascript.md for JavaScript, docs/abi.md for other languages"

// invalidRemedy returns what the author of an invalid module can do. command builds the module: nil if it is built as [build] go
// says or is not built here.
func invalidRemedy(message string, command []string) string {
	if strings.Contains(message, "it is a component") {
		language, _ := chainOf(command)
		return kindRemedy(modinfo.Info{Kind: modinfo.Component, Language: language})
	}
	for _, s := range symptoms {
		if strings.Contains(message, s.part) {
			return s.remedy
		}
	}
	if strings.Contains(message, marker) && strings.Contains(message, "it exports _start") {
		return asCommand + "; to have handlers instead: " + cmp.Or(chainRemedy(command), guides)
	}
	if strings.Contains(message, marker) {
		return cmp.Or(chainRemedy(command), guides)
	}
	return guides
}
