package manifest_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/command"
)

const grep = `manifest = 1
[plugin]
name = "grep"
version = "1.2.3"
description = "Searches."
[module]
file = "grep.wasm"
kind = "command"
[[tools]]
name = "grep"
description = "Search"
access = "read"
success = [0, 1]
stdin = { arg = "text" }
stdout = "json"
args = [
    "-n",
    { arg = "fixed", flag = "-F" },
    { arg = "case", choose = { ignore = "-i", no = [] } },
    { arg = "context", flag = "--context=" },
    { arg = "globs", flag = "-g" },
    { arg = "any", leading_dash = true },
    "--",
    { arg = "paths" },
]
[tools.input]
type = "object"
[tools.input.properties]
fixed = { type = "boolean" }
case = { type = "string", enum = ["ignore", "no"], default = "no" }
context = { type = ["integer", "null"] }
globs = { type = "array", items = { type = "string" } }
any = { type = "string" }
paths = { type = "array", items = { type = "string" }, default = ["."] }
text = { type = "object" }
`

func TestParseReadsCommand(t *testing.T) {
	m, ps := manifest.Parse("plugin.toml", []byte(grep))
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	want := command.Tool{
		Args: []command.Item{
			{Literal: "-n"},
			{Arg: "fixed", Type: "boolean", Flag: "-F"},
			{Arg: "case", Type: "string", Choose: map[string][]string{"ignore": {"-i"}, "no": {}}, Default: json.RawMessage(`"no"`)},
			{Arg: "context", Type: "integer", Flag: "--context=", Dash: true},
			{Arg: "globs", Type: "string", Flag: "-g"},
			{Arg: "any", Type: "string", Dash: true},
			{Literal: "--"},
			{Arg: "paths", Type: "string", Dash: true, Default: json.RawMessage(`["."]`)},
		},
		Stdin: &command.Item{Arg: "text"}, Stdout: command.JSON, Success: []uint32{0, 1},
	}
	if got := m.Tools[0].Command; m.Module.Kind != manifest.KindCommand || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestParseRefusesCommand(t *testing.T) {
	line := func(part string) string {
		before, _, ok := strings.Cut(grep, part)
		if !ok {
			t.Fatalf("%q is not in the manifest", part)
		}
		return fmt.Sprint(1 + strings.Count(before, "\n"))
	}
	const fixed, context = `{ arg = "fixed", flag = "-F" }`, `{ arg = "context", flag = "--context=" }`
	const choose, any = `{ ignore = "-i", no = [] }`, `{ arg = "any", leading_dash = true }`
	for name, c := range map[string]struct{ old, new, want string }{
		"args of a plugin for ABI 1":    {`kind = "command"`, "", `tools[0].args: has no effect without kind = "command" in [module] remove the key, or write the kind`},
		"an unknown property":           {`arg = "any"`, `arg = "anny"`, `tools[0].args[5].arg: names "anny", which is not a property of the input schema did you mean "any"?`},
		"an item without argument":      {fixed, `{ flag = "-F" }`, "tools[0].args[1].arg: is missing"},
		"an unknown key":                {fixed, `{ arg = "fixed", flags = "-F" }`, `tools[0].args[1].flags: is not a known key did you mean "flag"?`},
		"a number":                      {`"-n"`, `1`, "tools[0].args[0]: is an integer: write a quoted string or a table"},
		"NUL":                           {`"-n"`, `"\u0000"`, "tools[0].args[0]: has a NUL character"},
		"NUL in a flag":                 {`"-F"`, `"-F\u0000"`, "tools[0].args[1].flag: is not an option"},
		"an empty flag":                 {`"-g"`, `""`, "tools[0].args[4].flag: is not an option"},
		"a boolean without flag":        {fixed, `{ arg = "fixed" }`, `tools[0].args[1].flag: needs the word that stands for true, as "fixed" is a boolean`},
		"a boolean joined":              {`"-F"`, `"-F="`, "tools[0].args[1].flag: needs the word"},
		"an object":                     {any, `{ arg = "text" }`, `tools[0].args[5].arg: names "text", which has the type object`},
		"no type":                       {`any = { type = "string" }`, `any = {}`, `tools[0].args[5].arg: names "any", which has no type give it one of`},
		"two types":                     {`any = { type = "string" }`, `any = { type = ["string", "integer"] }`, `which has the type string or integer`},
		"an array of arrays":            {`globs = { type = "array", items = { type = "string" } }`, `globs = { type = "array", items = { type = "array" } }`, "the type array in its items"},
		"a flag after --":               {`{ arg = "paths" }`, `{ arg = "paths", flag = "-p" }`, `tools[0].args[7].flag: follows "--"`},
		"flag and choose":               {`choose = ` + choose, `flag = "-x", choose = ` + choose, "tools[0].args[2].flag: has no effect beside choose"},
		"a choice that is missing":      {choose, `{ ignore = "-i" }`, `tools[0].args[2].choose: lacks the value "no" write its words, or [] for none`},
		"a choice that is not in enum":  {choose, `{ ignore = "-i", no = [], yes = "-y" }`, "tools[0].args[2].choose.yes: is not a value of the property"},
		"a choice of the wrong type":    {choose, `{ ignore = 1, no = [] }`, "tools[0].args[2].choose.ignore: is an integer"},
		"a choice with NUL":             {choose, `{ ignore = "\u0000", no = [] }`, "tools[0].args[2].choose.ignore: has a NUL"},
		"choices without enum":          {any, `{ arg = "any", choose = { a = "-a" } }`, "tools[0].args[5].choose: needs a boolean or a property with an enum of strings"},
		"a default of the wrong type":   {`default = ["."]`, `default = [1]`, `tools[0].args[7].arg: has a default that cannot be passed: the argument "paths" is not of the type string`},
		"a default with a dash":         {`globs = { type = "array", items = { type = "string" } }`, `globs = { type = "array", items = { type = "string" }, default = ["-x"] }`, `tools[0].args[4].arg: has a default that cannot be passed`},
		"a default that is no choice":   {`default = "no"`, `default = "yes"`, "tools[0].args[2].arg: has a default that cannot be passed"},
		"stdin that is a string":        {`{ arg = "text" }`, `"text"`, "tools[0].stdin: is a string, not a table"},
		"stdin of an unknown property":  {`{ arg = "text" }`, `{ arg = "txt" }`, `tools[0].stdin.arg: names "txt", which is not a property`},
		"an unknown format":             {`stdout = "json"`, `stdout = "xml"`, `tools[0].stdout: is "xml"`},
		"text with an output schema":    {`stdout = "json"`, `output = { type = "object" }`, "tools[0].stdout: is text, but the tool has an output schema"},
		"an exit code out of range":     {`success = [0, 1]`, `success = [0, -1]`, "tools[0].success[1]: is not an exit code"},
		"an exit code that is a string": {`success = [0, 1]`, `success = ["0"]`, "tools[0].success[0]: is a string, not an integer"},
		"no exit code":                  {`success = [0, 1]`, `success = []`, "tools[0].success: names no exit code"},
		"a property without effect":     {context + ",", "", `tools[0].input: has the property "context", which the program does not get`},
		"prompts":                       {"[[tools]]", "[offers]\nprompts = true\n[[tools]]", `offers.prompts: is not possible with kind = "command"`},
		"logging":                       {"[[tools]]", "[offers]\nlogging = true\n[[tools]]", `offers.logging: is not possible with kind = "command"`},
		"a git repository":              {"[[tools]]", "[capabilities]\ngit = [{ repo = '*', access = 'r' }]\n[[tools]]", `capabilities.git: is not possible with kind = "command"`},
		"an origin":                     {"[[tools]]", "[capabilities]\nhttp = ['https://example.com']\n[[tools]]", `capabilities.http: is not possible`},
		"its own validation":            {"[module]", "validate = 'plugin'\n[module]", `plugin.validate: is not possible`},
	} {
		at := line(c.old)
		_, ps := manifest.Parse("plugin.toml", []byte(strings.Replace(grep, c.old, c.new, 1)))
		found := false
		for _, p := range ps {
			found = found || strings.Contains(strings.TrimSpace(p.Key+": "+p.What+" "+p.Remedy), c.want) && p.Line > 0
		}
		if !found {
			t.Errorf("%s (line %s): want %s\ngot %v", name, at, c.want, ps)
		}
	}
}

func TestCommandProblemsHaveTheLineOfTheKey(t *testing.T) {
	_, ps := manifest.Parse("plugin.toml", []byte(strings.Replace(grep, `arg = "any"`, `arg = "anny"`, 1)))
	if len(ps) == 0 || ps[0].Line != 22 {
		t.Errorf("got %v, want line 22", ps)
	}
}
