package guide

import "maps"

// Language assembles plugins of the blocks in a language other than Go.
type Language struct {
	Name  string // language of the blocks
	build string // line in [build]
	// Module is the file name of the module.
	Module string
	file   string            // name of the source file
	head   string            // source before the blocks, which pages leave out
	more   map[string]string // other files
}

// Languages are the languages other than Go in which pages show parts of plugins.
var Languages = []Language{
	{
		Name: "rust", Module: "target/wasm32-wasip1/release/notes.wasm",
		build: `command = ["cargo", "build", "--quiet", "--release", "--target", "wasm32-wasip1"]`,
		file:  "src/lib.rs",
		head:  "#![allow(unused_imports)]\nuse bulkhead::*;\nuse serde::{Deserialize, Serialize};\nuse serde_json::json;\nuse std::collections::BTreeMap;\n\nbulkhead::serve!(plugin);\n\n",
		more: map[string]string{"Cargo.toml": `[package]
name = "notes"
version = "0.1.0"
edition = "2021"

[lib]
crate-type = ["cdylib"]

[dependencies]
bulkhead-sdk = { path = "../../sdk/rust" }
serde = { version = "1", features = ["derive"] }
serde_json = { version = "1", features = ["raw_value"] }

[workspace]
`},
	},
	{
		Name: "c", Module: "notes.wasm",
		build: `command = ["clang", "--target=wasm32-wasi", "-mexec-model=reactor", "-Oz", "-Wall", "-Wextra", "-Werror", "-I../../sdk/c", "notes.c", "-o", "notes.wasm"]`,
		file:  "notes.c",
		head:  "#define BULKHEAD_IMPLEMENTATION\n#include \"bulkhead.h\"\n\n#include <errno.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n",
	},
	{
		Name: "ts", Module: "notes.wasm",
		build: `command = ["npm", "run", "--silent", "build"]`,
		file:  "assembly/index.ts",
		head: `import {
  Call, Completion, Contents, Json, JsonWriter, Level, Message, Plugin, Prompt, PromptResult, Prompts, ReadResult, Resource,
  Resources, RpcError, ToolResult, environment, hostCall, httpGet, listDirectory, lock, log, readFile, readText, resourceUpdated, serve, writeFile,
} from "bulkhead-sdk/assembly";
export { bulkhead_abi_1, bulkhead_call } from "bulkhead-sdk/assembly";

`,
		more: map[string]string{"package.json": `{
  "private": true,
  "scripts": {
    "build": "asc assembly/index.ts --use abort=bulkhead_abort --exportStart _initialize --optimizeLevel 0 --outFile notes.wasm"
  }
}
`},
	},
	{
		Name: "js", Module: "notes.wasm",
		build: `command = ["npm", "run", "--silent", "build"]`,
		file:  "src/index.js",
		head:  "import { PluginError, env, failed, fetch, git, log, message, plugin, projectDir, readText, writeFile } from \"bulkhead-js\";\n\n",
		more: map[string]string{"package.json": `{
  "private": true,
  "type": "module",
  "scripts": {
    "build": "bulkhead-js build src/index.js --out notes.wasm"
  }
}
`},
	},
}

// Assemble returns the files of the plugin that consists of a page's blocks in the language, with plugin.toml; nil if the page has none.
// The directory has to be two levels below that of the repository.
func (l Language) Assemble(blocks []Block) map[string]string {
	source := Source(blocks, l.Name)
	if source == "" {
		return nil
	}
	files := map[string]string{
		"plugin.toml": Manifest(blocks, l.Module, l.build, source),
		l.file:        l.head + source,
	}
	maps.Copy(files, l.more)
	return files
}
