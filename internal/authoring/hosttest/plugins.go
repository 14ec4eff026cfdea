package hosttest

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// Plugin returns the files of a plugin: a manifest that ends in more, and the module wasm, unless wasm is nil.
func Plugin(name string, wasm []byte, more string) Files {
	f := Files{"plugins/" + name + "/plugin.toml": fmt.Sprintf(`manifest = 1
[plugin]
name = %q
version = "0.1.0"
description = "Made by hand."
[module]
file = "it.wasm"
`, name) + more}
	if wasm != nil {
		f["plugins/"+name+"/it.wasm"] = string(wasm)
	}
	return f
}

// At returns the files of a plugin, moved to the directory dir.
func At(dir string, f Files) Files {
	moved := Files{}
	for name, content := range f {
		_, file, _ := strings.Cut(strings.TrimPrefix(name, "plugins/"), "/")
		moved[dir+"/"+file] = content
	}
	return moved
}

// Reads returns the table of a tool that reads.
func Reads(name string) string { return table(name, "read") }

// Writes returns the table of a tool that writes.
func Writes(name string) string { return table(name, "write") }

func table(name, access string) string {
	return fmt.Sprintf("[[tools]]\nname = %q\ndescription = \"does it\"\naccess = %q\n", name, access)
}

// Done is a module's response to a tool call.
const Done = `{"result":{"content":[{"type":"text","text":"done"}]}}`

// Offering returns a plugin whose module answers every request with body, and which offers something besides tools.
func Offering(name, offers, body string) Files {
	return Plugin(name, wasmtest.Answering(`{"result":`+body+`}`), "[offers]\n"+offers+"\n")
}

// ItemsOf returns lists of every kind, with items of these names.
func ItemsOf(names ...string) string {
	var prompts, resources, templates []string
	for _, name := range names {
		prompts = append(prompts, fmt.Sprintf(`{"name":%q}`, name))
		resources = append(resources, fmt.Sprintf(`{"uri":"%s","name":"n"}`, name))
		templates = append(templates, fmt.Sprintf(`{"uriTemplate":"%s","name":"n"}`, name))
	}
	return fmt.Sprintf(`{"prompts":[%s],"resources":[%s],"resourceTemplates":[%s]}`,
		strings.Join(prompts, ","), strings.Join(resources, ","), strings.Join(templates, ","))
}

// TextOf returns one object that is a valid result of prompts/get, resources/read and completion/complete.
func TextOf(text string) string {
	return `{"messages":[{"role":"user","content":{"type":"text","text":"` + text + `"}}],"contents":[{"uri":"` + text + `:x","text":""}],"completion":{"values":["` + text + `"]}}`
}

// Skill returns a skill with three files in the directory dir.
func Skill(dir, name string) Files {
	dir += "/" + name + "/"
	return Files{
		dir + "SKILL.md":           "---\nname: " + name + "\ndescription: Use " + name + ".\n---\n# " + name + "\n",
		dir + "references/more.md": "more of " + name + "\n",
		dir + "data.bin":           "\x00\x01",
	}
}
