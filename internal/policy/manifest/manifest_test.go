package manifest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
)

const small = `manifest = 1
[plugin]
name = "notes"
version = "1.2.3"
description = "Notes."
[module]
file = "notes.wasm"
[[tools]]
name = "add"
description = "Adds a note."
access = "write"
`

func TestParseReadsEveryKey(t *testing.T) {
	const text = `manifest = 1

[plugin]
name = "notes"
version = "1.2.3-rc.1+b7"
description = "Notes."
license = "MIT"
validate = "plugin"
write = "opt-in"
reads = "concurrent"

[module]
file = "out/notes.wasm"
kind = "abi-1"
sha256 = "ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef0123456789"

[build]
command = ["make", "notes.wasm"]

[server]
name = "notes-server"
version = "9"
protocol_versions = ["2025-06-18", "2024-11-05"]
instructions = "Ask first."
failure = '{"error": "{message}"}'

[capabilities]
git = [{ repo = "${project}", access = "r" }, { repo = "*", access = "rw", remotes = ["https://example.com/r.git"] }]
http = ["https://example.com:8443", "*", "public-web"]
env = ["USER", "*"]
ask = ["roots", "elicitation"]
[[capabilities.fs]]
path = "${home}/.notes//a/"
access = "rw"
optional = true
why = "keeps notes"

[limits]
memory = "128MiB"
time = "1m30s"
output = "512KiB"
fuel = 1_000
concurrency = 3
input = "1MiB"
operations = 4
log = "2KiB"
files = 5
queue = "6s"
ask = "10s"
http_request = "7KiB"
http_response = "8KiB"
http_concurrency = 9

[offers]
prompts = ["daily"]
resources = true
list_changed = true
subscribe = true
completions = true

[[tools]]
name = "add"
title = "Add"
description = "Adds."
access = "write"
destructive = false
idempotent = true
open_world = false
alone = false
failure = '{"error": "{tool} {code}"}'
input.type = "object"
input.properties.z.type = "string"
input.properties.a = { type = "integer", default = -1, enum = [1, 1.5], title = "<é\n>" }
output_json = '''
{ "type": "object", "b": null, "a": 9007199254740993 }'''
meta = { "example.com/x" = true }

[[tools]]
name = "list"
description = "Lists."
access = "read"
returns = { type = "array" }
`
	m, ps := manifest.Parse("notes/plugin.toml", []byte(text))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	want := &manifest.Manifest{
		Name: "notes", NameLine: 4, LimitsLine: 38, Version: "1.2.3-rc.1+b7", Description: "Notes.", License: "MIT",
		Validate: manifest.ValidatePlugin, Write: manifest.WriteOptIn, Reads: "concurrent",
		Module: manifest.Module{File: "out/notes.wasm", Line: 13, Kind: "abi-1",
			SHA256: "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"},
		Build: manifest.Build{Command: []string{"make", "notes.wasm"}},
		Server: manifest.Server{Name: "notes-server", Version: "9", ProtocolVersions: []string{"2025-06-18", "2024-11-05"},
			Instructions: "Ask first.", Failure: `{"error": "{message}"}`},
		Capabilities: manifest.Capabilities{
			FS: []manifest.FS{{Path: "${home}/.notes//a/", Access: "rw", Optional: true, Why: "keeps notes", Line: 32}},
			Git: []manifest.Git{{Repo: "${project}", Access: "r", Line: 28},
				{Repo: "*", Access: "rw", Remotes: []string{"https://example.com/r.git"}, Line: 28}},
			HTTP: []string{"https://example.com:8443", "*", "public-web"}, Env: []string{"USER", "*"}, HTTPLine: 29,
			Ask: []interaction.Kind{interaction.Roots, interaction.Elicitation}, AskLine: 31,
		},
		Limits: manifest.Limits{Memory: 128 << 20, Time: 90 * time.Second, Output: 512 << 10, Fuel: 1000, Concurrency: 3,
			Input: 1 << 20, Operations: 4, Log: 2 << 10, Files: 5, Queue: 6 * time.Second, Ask: 10 * time.Second,
			HTTPRequest: 7 << 10, HTTPResponse: 8 << 10, HTTPConcurrency: 9},
		Offers: manifest.Offers{Prompts: manifest.Claim{Names: []string{"daily"}, Line: 55}, Resources: manifest.Claim{Any: true},
			ListChanged: true, Subscribe: true, Completions: true},
		Tools: []manifest.Tool{
			{Name: "add", Title: "Add", Description: "Adds.", Write: true, Destructive: &no, Idempotent: &yes, OpenWorld: &no,
				Hidden: true, Failure: `{"error": "{tool} {code}"}`,
				Input:  []byte(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer","default":-1,"enum":[1,1.5],"title":"<é\n>"}}}`),
				Output: []byte(`{"type":"object","b":null,"a":9007199254740993}`),
				Meta:   []byte(`{"example.com/x":true}`), Line: 61},
			{Name: "list", Description: "Lists.", Input: []byte(`{"type":"object"}`), Returns: []byte(`{"type":"array"}`), Line: 78},
		},
	}
	if diff := cmp.Diff(want, m, cmpopts.IgnoreFields(manifest.Manifest{}, "Dir", "File", "Digest")); diff != "" {
		t.Error(diff)
	}
	if tool, ok := m.Tool("list"); !ok || tool.Name != "list" {
		t.Errorf("Tool(list) = %v, %v", tool, ok)
	}
	if len(ps) > 0 {
		t.Errorf("problems: %v", ps)
	}
}

func TestParseReadsServerChanges(t *testing.T) {
	m, ps := manifest.Parse("plugin.toml", []byte(small+"\n[offers]\nprompts = true\nlist_changed = true\n[server]\nchanges = false\n"))
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	if !m.Offers.ListChanged || !m.Server.NoChanges {
		t.Errorf("%+v %+v", m.Offers, m.Server)
	}
}

// A path that follows a variable of the environment does not have the system's form of an absolute path: on Windows it has no drive.
func TestParseReadsRequiredPathInVariable(t *testing.T) {
	text := strings.Replace(small, "[[tools]]", "[capabilities]\nenv = ['ROOT']\n[[requires]]\nwhy = 'x'\npaths = ['${env:ROOT}/a/b']\n[[tools]]", 1)
	if m, ps := manifest.Parse("plugin.toml", []byte(text)); len(ps) > 0 || len(m.Requires) != 1 {
		t.Errorf("got %+v, %v", m.Requires, ps)
	}
}

func TestParseSetsDefaults(t *testing.T) {
	m, ps := manifest.Parse("plugin.toml", []byte(small))
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	if m.Validate != "host" || m.Write != "default" || m.Reads != "ordered" || m.Module.Kind != "abi-1" || m.Server.Name != "notes" ||
		m.Server.Version != "1.2.3" || string(m.Tools[0].Input) != `{"type":"object"}` || m.Tools[0].Hidden {
		t.Errorf("got %+v", m)
	}
	if len(m.Digest) != 64 {
		t.Errorf("digest %q", m.Digest)
	}
}

// Each case replaces or inserts a part of the manifest called small, and names the problem that Parse must report.
func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ old, new, line, want string }{
		"a requirement of nothing":            {"[[tools]]", "[[requires]]\nwhy = 'x'\n[[tools]]", "8", "requires[0].paths: exactly one of env, grant and paths must be set"},
		"a requirement of two things":         {"[[tools]]", "[[requires]]\nwhy = 'x'\ngrant = '/a'\npaths = ['/a']\n[[tools]]", "11", "requires[0].paths: exactly one of"},
		"a requirement without a reason":      {"[[tools]]", "[[requires]]\ngrant = '/a'\n[[tools]]", "8", "requires[0].why: is missing"},
		"a requirement of no path":            {"[[tools]]", "[[requires]]\nwhy = 'x'\npaths = []\n[[tools]]", "10", "requires[0].paths: does not have 1 to 16 paths"},
		"a requirement of a relative path":    {"[[tools]]", "[[requires]]\nwhy = 'x'\npaths = ['/a', 'b']\n[[tools]]", "10", `requires[0].paths[1]: "b" is not absolute`},
		"a requirement of a parent":           {"[[tools]]", "[[requires]]\nwhy = 'x'\npaths = ['${project}/../b']\n[[tools]]", "10", `contains ".."`},
		"a requirement in a variable":         {"[[tools]]", "[[requires]]\nwhy = 'x'\npaths = ['${env:ROOT}/b']\n[[tools]]", "10", "begins with a variable that is not in capabilities.env"},
		"a requirement of a variable":         {"[[tools]]", "[[requires]]\nwhy = 'x'\nenv = 'ROOT'\n[[tools]]", "10", `requires[0].env: "ROOT" is not in capabilities.env`},
		"a requirement with another variable": {"[[tools]]", "[capabilities]\nenv = ['COLOR']\n[[requires]]\nwhy = 'x'\nenv = 'COLOR'\nvalue = '${env:TOKEN}'\n[[tools]]", "13", `requires[0].value: "${env:TOKEN}" contains a variable other than ${env:COLOR} alone`},
		"a requirement of an unknown tool":    {"[[tools]]", "[[requires]]\nwhy = 'x'\ngrant = '/a'\ntools = ['ad']\n[[tools]]", "11", `requires[0].tools[0]: "ad" is not a tool of this plugin`},
		"a requirement with and without":      {"[[tools]]", "[[requires]]\nwhy = 'x'\ngrant = '/a'\ntools = ['add']\nexcept = ['add']\n[[tools]]", "12", "requires[0].except: conflicts with tools"},
		"an optional path":                    {"[[tools]]", "[[requires]]\nwhy = 'x'\ngrant = '/a'\noptional = true\n[[tools]]", "11", "requires[0].optional: has no effect without env and value"},
		"an optional variable for a tool":     {"[[tools]]", "[capabilities]\nenv = ['COLOR']\n[[requires]]\nwhy = 'x'\nenv = 'COLOR'\nvalue = 'x'\noptional = true\ntools = ['add']\n[[tools]]", "15", "requires[0].tools: has no effect with optional"},
		"a value of no variable":              {"[[tools]]", "[[requires]]\nwhy = 'x'\ngrant = '/a'\nvalue = 'x'\n[[tools]]", "11", "requires[0].value: has no effect without env"},
		"a reason with invisible characters":  {"[[tools]]", "[[requires]]\nwhy = \"x\\u202e\"\ngrant = '/a'\n[[tools]]", "9", "requires[0].why: "},
		"a creation without paths":            {"[[tools]]", "[[requires]]\nwhy = 'x'\ngrant = '/a'\ncreate = [{ path = '/a' }]\n[[tools]]", "11", "requires[0].create: has no effect without paths"},
		"a creation that is not requested":    {"[[tools]]", "[[requires]]\nwhy = 'x'\npaths = ['${project}/a']\ncreate = [{ path = '${project}/a' }]\n[[tools]]", "11", `requires[0].create[0].path: "${project}/a" is not below a directory that capabilities.fs requests with access "rw"`},
		"a creation where it may only read":   {"[[tools]]", "[capabilities]\nfs = [{ path = '${project}', access = 'r' }]\n[[requires]]\nwhy = 'x'\npaths = ['${project}/a']\ncreate = [{ path = '${project}/a' }]\n[[tools]]", "13", "is not below a directory"},
		"a creation beside what it may write": {"[[tools]]", "[capabilities]\nfs = [{ path = '${project}/a', access = 'rw' }]\n[[requires]]\nwhy = 'x'\npaths = ['${project}/a']\ncreate = [{ path = '${project}/ab' }]\n[[tools]]", "13", "is not below a directory"},
		"too many requirements":               {"[[tools]]", strings.Repeat("[[requires]]\nwhy = 'x'\ngrant = '/a'\n", 17) + "[[tools]]", "56", "is one of more than 16 requirements"},
		"no format version":                   {"manifest = 1\n", "", "", "manifest: is missing"},
		"an unknown format version":           {"manifest = 1", "manifest = 2", "1", "manifest: is not 1"},
		"a format version that is a string":   {"manifest = 1", `manifest = "1"`, "1", "manifest: is a string, not an integer"},
		"an unknown table":                    {"[module]", "[modul]\n[module]", "6", `modul: is not a known key did you mean "module"?`},
		"an unknown key":                      {`name = "notes"`, "name = \"notes\"\nnmae = 1", "4", `plugin.nmae: is not a known key did you mean "name"?`},
		"a key in capitals":                   {`access = "write"`, "access = \"write\"\nTITLE = 'x'", "12", `tools[0].TITLE: is not a known key did you mean "title"?`},
		"an unknown key of a tool":            {`access = "write"`, "access = \"write\"\n[tools.inputt]", "12", `tools[0].inputt: is not a known key did you mean "input"?`},
		"a key unlike all others":             {`access = "write"`, "access = \"write\"\nzzz = 1", "12", "tools[0].zzz: is not a known key remove it; the keys here are name, "},
		"no name":                             {`name = "notes"`, "", "2", "plugin.name: is missing"},
		"an empty name":                       {`name = "notes"`, `name = ""`, "3", "plugin.name: is empty"},
		"a name with a capital":               {`name = "notes"`, `name = "Notes"`, "3", "plugin.name:"},
		"a name with ..":                      {`name = "notes"`, `name = "../x"`, "3", "plugin.name:"},
		"a name of 65 letters":                {`name = "notes"`, `name = "` + strings.Repeat("a", 65) + `"`, "3", "plugin.name:"},
		"a short version":                     {`"1.2.3"`, `"1.2"`, "4", "plugin.version:"},
		"a version with v":                    {`"1.2.3"`, `"v1.2.3"`, "4", "plugin.version:"},
		"an unknown validate":                 {"[module]", "validate = 'client'\n[module]", "6", `plugin.validate: is "client", which is not a valid value write "host" or "plugin"`},
		"an unknown write":                    {"[module]", "write = 'no'\n[module]", "6", `plugin.write: is "no", which is not a valid value write "default" or "opt-in"`},
		"an unknown order of reads":           {"[module]", "reads = 'any'\n[module]", "6", `plugin.reads: is "any", which is not a valid value write "ordered" or "concurrent"`},
		"another kind of module":              {`file = "notes.wasm"`, "file = \"notes.wasm\"\nkind = 'component'", "8", `module.kind: is "component"`},
		"an absolute module":                  {`"notes.wasm"`, `"/notes.wasm"`, "7", "module.file:"},
		"a module outside":                    {`"notes.wasm"`, `"../notes.wasm"`, "7", "module.file:"},
		"a module that is the directory":      {`"notes.wasm"`, `"."`, "7", "module.file:"},
		"an invalid digest":                   {`file = "notes.wasm"`, "file = \"notes.wasm\"\nsha256 = 'abc'", "8", "module.sha256: is not a SHA-256"},
		"a build of two kinds":                {"[module]", "[build]\ngo='.'\ncommand=['x']\n[module]", "7", "build.go: exactly one of go and command must be set"},
		"a build of nothing":                  {"[module]", "[build]\n[module]", "6", "build.go: exactly one of go and command must be set"},
		"a build of a package outside":        {"[module]", "[build]\ngo='../x'\n[module]", "7", "build.go:"},
		"a build command without program":     {"[module]", "[build]\ncommand=[]\n[module]", "7", "build.command: names no program"},
		"a protocol version that is no date":  {"[module]", "[server]\nprotocol_versions=['2025-13-01']\n[module]", "7", "server.protocol_versions[0]:"},
		"a duplicate protocol version":        {"[module]", "[server]\nprotocol_versions=['2025-06-18','2025-06-18']\n[module]", "7", "server.protocol_versions[1]: is a duplicate"},
		"an invisible server name":            {"[module]", "[server]\nname=\"x\\u3164\"\n[module]", "7", `server.name: "x\u3164" has an invisible character`},
		"a server version with a selector":    {"[module]", "[server]\nversion=\"1\\uFE0F\"\n[module]", "7", `server.version: "1\ufe0f" has an invisible character`},
		"a module file with a tag":            {`"notes.wasm"`, `"notes.wasm\U000E0041"`, "7", `module.file: "notes.wasm\U000e0041" has an invisible character`},
		"a directory with U+00A0":             {"[module]", "[[capabilities.fs]]\npath=\"/x\\u00A0\"\naccess='r'\n[module]", "7", `capabilities.fs[0].path: "/x\u00a0" has an invisible character`},
		"a repository with a joiner":          {"[module]", "[capabilities]\ngit=[{repo=\"/x\\u200D\",access='r'}]\n[module]", "7", `capabilities.git[0].repo: "/x\u200d" has an invisible character`},
		"a remote with a filler":              {"[module]", "[capabilities]\ngit=[{repo='*',access='r',remotes=[\"https://h/x\\u3164\"]}]\n[module]", "7", "capabilities.git[0].remotes[0]: has an invisible character"},
		"an origin with a selector":           {"[module]", "[capabilities]\nhttp=[\"https://h\\uFE0F\"]\n[module]", "7", "capabilities.http[0]:"},
		"a variable with a filler":            {"[module]", "[capabilities]\nenv=[\"A\\u3164\"]\n[module]", "7", "capabilities.env[0]:"},
		"a prompt with a filler":              {"[module]", "[offers]\nprompts=[\"a\\u3164\"]\n[module]", "7", `offers.prompts[0]: "a\u3164" has an invisible character`},
		"a resource with a braille blank":     {"[module]", "[offers]\nresources=[\"notes://\\u2800\"]\n[module]", "7", `offers.resources[0]: "notes://\u2800" has an invisible character`},
		"an unknown placeholder":              {"[module]", "[server]\nfailure='{code} {reason}'\n[module]", "7", `server.failure: has the unknown placeholder "{reason}" the placeholders are {code} {plugin} {tool} {message}`},
		"an unknown placeholder of a tool":    {`access = "write"`, "access = \"write\"\nfailure='{tool}: {command} {reason}'", "12", `tools[0].failure: has the unknown placeholder "{command}" the placeholders are {code} {plugin} {tool} {message}`},
		"a failure that is not a string":      {`access = "write"`, "access = \"write\"\nfailure={ok=false}", "12", "tools[0].failure: is a table, not a string in quotes"},
		"an empty server name":                {"[module]", "[server]\nname=''\n[module]", "7", "server.name: is empty"},
		"a relative directory":                {"[module]", "[[capabilities.fs]]\npath='x'\naccess='r'\n[module]", "7", `capabilities.fs[0].path: "x" is not absolute`},
		"a directory with ..":                 {"[module]", "[[capabilities.fs]]\npath='${home}/../x'\naccess='r'\n[module]", "7", `contains ".."`},
		"a directory with unknown variable":   {"[module]", "[[capabilities.fs]]\npath='${tmp}/x'\naccess='r'\n[module]", "7", `unknown variable`},
		"a variable without slash":            {"[module]", "[[capabilities.fs]]\npath='${home}x'\naccess='r'\n[module]", "7", `no slash after`},
		"a variable in the middle":            {"[module]", "[[capabilities.fs]]\npath='/a/${home}'\naccess='r'\n[module]", "7", `not at the beginning`},
		"a directory without access":          {"[module]", "[[capabilities.fs]]\npath='/x'\n[module]", "6", "capabilities.fs[0].access: is missing"},
		"an unknown access":                   {"[module]", "[[capabilities.fs]]\npath='/x'\naccess='w'\n[module]", "8", `capabilities.fs[0].access: is "w", which is not a valid value write "r" or "rw"`},
		"a deny pattern with a slash":         {"[module]", "[capabilities]\ndeny=['/.env']\n[module]", "7", "capabilities.deny[0]: \"/.env\" begins with a slash"},
		"a repository that is relative":       {"[module]", "[capabilities]\ngit=[{repo='x',access='r'}]\n[module]", "7", "capabilities.git[0].repo:"},
		"a remote that is no https":           {"[module]", "[capabilities]\ngit=[{repo='*',access='r',remotes=['file:///x']}]\n[module]", "7", "capabilities.git[0].remotes[0]:"},
		"a remote with a password":            {"[module]", "[capabilities]\ngit=[{repo='*',access='r',remotes=['https://u:p@h/x']}]\n[module]", "7", "capabilities.git[0].remotes[0]:"},
		"an origin with a path":               {"[module]", "[capabilities]\nhttp=['https://h/x']\n[module]", "7", "capabilities.http[0]:"},
		"an origin without scheme":            {"[module]", "[capabilities]\nhttp=['h:80']\n[module]", "7", "capabilities.http[0]:"},
		"an origin with a user":               {"[module]", "[capabilities]\nhttp=['https://u@h']\n[module]", "7", "capabilities.http[0]:"},
		"an origin of another kind":           {"[module]", "[capabilities]\nhttp=['ftp://h']\n[module]", "7", "capabilities.http[0]:"},
		"a duplicate origin":                  {"[module]", "[capabilities]\nhttp=['https://h','HTTPS://H:443']\n[module]", "7", "capabilities.http[1]: is a duplicate"},
		"the public web twice":                {"[module]", "[capabilities]\nhttp=['public-web','public-web']\n[module]", "7", "capabilities.http[1]: is a duplicate"},
		"an origin with an odd address":       {"[module]", "[capabilities]\nhttp=['http://127.1']\n[module]", "7", "capabilities.http[0]:"},
		"a duplicate remote":                  {"[module]", "[capabilities]\ngit=[{repo='*',access='r',remotes=['*','*']}]\n[module]", "7", "capabilities.git[0].remotes[1]: is a duplicate"},
		"a remote with a query":               {"[module]", "[capabilities]\ngit=[{repo='*',access='r',remotes=['https://h/x?y']}]\n[module]", "7", "capabilities.git[0].remotes[0]:"},
		"a remote with ..":                    {"[module]", "[capabilities]\ngit=[{repo='*',access='r',remotes=['https://h/x/../y']}]\n[module]", "7", "capabilities.git[0].remotes[0]:"},
		"a question of an unknown kind":       {"[module]", "[capabilities]\nask=['roots', 'password']\n[module]", "7", `capabilities.ask[1]: "password" is not something that a client can be asked for`},
		"a kind of questions twice":           {"[module]", "[capabilities]\nask=['roots', 'roots']\n[module]", "7", "capabilities.ask[1]: is a duplicate"},
		"a variable's name with =":            {"[module]", "[capabilities]\nenv=['A=B']\n[module]", "7", "capabilities.env[0]:"},
		"a variable of the host":              {"[module]", "[capabilities]\nenv=['BULKHEAD_STATE']\n[module]", "7", "capabilities.env[0]:"},
		"an item of another type":             {"[module]", "[capabilities]\nenv=['A', 1]\n[module]", "7", "capabilities.env[1]: is an integer, not a string"},
		"a table where an array belongs":      {"[module]", "[capabilities.fs]\n[module]", "6", "capabilities.fs: is a table, not an array of tables"},
		"memory in decimal units":             {"[module]", "[limits]\nmemory='64MB'\n[module]", "7", `limits.memory: "64MB" is not a size`},
		"memory as a number":                  {"[module]", "[limits]\nmemory=64\n[module]", "7", "limits.memory: is an integer, not a string"},
		"memory below a page":                 {"[module]", "[limits]\nmemory='1B'\n[module]", "7", "limits.memory: is 1B, which is out of range write a size from 64KiB to 4GiB"},
		"memory above 4 GiB":                  {"[module]", "[limits]\nmemory='5GiB'\n[module]", "7", "limits.memory: is 5GiB"},
		"memory that overflows":               {"[module]", "[limits]\nmemory='9999999999999GiB'\n[module]", "7", "limits.memory:"},
		"negative memory":                     {"[module]", "[limits]\nmemory='-1MiB'\n[module]", "7", "limits.memory:"},
		"a time without unit":                 {"[module]", "[limits]\ntime='30'\n[module]", "7", "limits.time:"},
		"a negative time":                     {"[module]", "[limits]\ntime='-3s'\n[module]", "7", "limits.time: is -3s"},
		"no concurrency":                      {"[module]", "[limits]\nconcurrency=0\n[module]", "7", "limits.concurrency: is 0"},
		"no fuel":                             {"[module]", "[limits]\nfuel=-1\n[module]", "7", "limits.fuel: is -1"},
		"input beyond what a client can send": {"[module]", "[limits]\ninput='17MiB'\n[module]", "7", "limits.input: is 17MiB, which is out of range write a size from 1KiB to 16MiB"},
		"no operations":                       {"[module]", "[limits]\noperations=0\n[module]", "7", "limits.operations: is 0"},
		"a queue without unit":                {"[module]", "[limits]\nqueue='1'\n[module]", "7", "limits.queue:"},
		"log as a number":                     {"[module]", "[limits]\nlog=1\n[module]", "7", "limits.log: is an integer"},
		"too many files":                      {"[module]", "[limits]\nfiles=65537\n[module]", "7", "limits.files: is 65537"},
		"an http_response of nothing":         {"[module]", "[limits]\nhttp_response='0B'\n[module]", "7", "limits.http_response: is 0B"},
		"a limit of results":                  {"[module]", "[limits]\nresult='8KiB'\n[module]", "7", "limits.result: is set by configs only"},
		"no http_concurrency":                 {"[module]", "[limits]\nhttp_concurrency=0\n[module]", "7", "limits.http_concurrency: is 0"},
		"a claim of another type":             {"[module]", "[offers]\nprompts='x'\n[module]", "7", "offers.prompts: is a string, not true or false"},
		"a claim twice":                       {"[module]", "[offers]\nprompts=['a','a']\n[module]", "7", "offers.prompts[1]: is a duplicate"},
		"a claim of no URI":                   {"[module]", "[offers]\nresources=['notes']\n[module]", "7", "offers.resources[0]:"},
		"list_changed without a list":         {"[module]", "[offers]\nlist_changed=true\n[module]", "7", "offers.list_changed: has no effect without prompts or resources"},
		"subscribe without resources":         {"[module]", "[offers]\nprompts=true\nsubscribe=true\n[module]", "8", "offers.subscribe: has no effect without resources"},
		"completions of nothing":              {"[module]", "[offers]\ncompletions=true\n[module]", "7", "offers.completions: has no effect without prompts or resources"},
		"a tool's name with a space":          {`"add"`, `"a b"`, "9", "tools[0].name:"},
		"a tool's name of 129 letters":        {`"add"`, `"` + strings.Repeat("a", 129) + `"`, "9", "tools[0].name:"},
		"a tool without description":          {`description = "Adds a note."`, "", "8", "tools[0].description: is missing"},
		"a tool without access":               {`access = "write"`, "", "8", "tools[0].access: is missing"},
		"a duplicate tool":                    {`access = "write"`, "access = \"write\"\n[[tools]]\nname='add'\ndescription='x'\naccess='read'", "13", `tools[1].name: "add" is already the name of the tool in line 9`},
		"an input that is not an object":      {`access = "write"`, "access = \"write\"\n[tools.input]\ntype='string'", "12", "tools[0].input: is not the schema of an object"},
		"an output that is not an object":     {`access = "write"`, "access = \"write\"\noutput_json='true'", "12", "tools[0].output_json: is not the schema of an object"},
		"input and input_json":                {`access = "write"`, "access = \"write\"\ninput_json='{\"type\":\"object\"}'\n[tools.input]\ntype='object'", "12", "tools[0].input_json: conflicts with input"},
		"an input that is not JSON":           {`access = "write"`, "access = \"write\"\ninput_json='{'", "12", "tools[0].input_json: is not JSON"},
		"instructions with hidden characters": {"[[tools]]", "[server]\ninstructions=\"be\\u200Bnice\"\n[[tools]]", "9", "server.instructions: \"be\\u200bnice\" has a character that is invisible or reorders text"},
		"a title that is reordered":           {`access = "write"`, "access = \"write\"\ntitle=\"Delete\\u202Eeteled\"", "12", `tools[0].title: "Delete\u202eeteled" has a character that is invisible or reorders text`},
		"a description with hidden text":      {`access = "write"`, "access = \"write\"\ntitle='a'\n[[tools]]\nname='b'\naccess='read'\ndescription=\"b\\U000E0041\"", "16", "tools[1].description: "},
		"a schema with hidden text":           {`access = "write"`, "access = \"write\"\n[tools.input]\ntype='object'\nproperties.a={type='string', description=\"a\\u200B\"}", "12", `tools[0].input: "a\u200b" has a character that is invisible or reorders text`},
		"returns beside output":               {`access = "write"`, "access = \"write\"\noutput_json='{\"type\":\"object\"}'\nreturns = { type = 'string' }", "13", "tools[0].returns: conflicts with output"},
		"returns that is not JSON":            {`access = "write"`, "access = \"write\"\nreturns_json='{'", "12", "tools[0].returns_json: is not JSON"},
		"returns that is no object":           {`access = "write"`, "access = \"write\"\nreturns_json='true'", "12", "tools[0].returns_json: cannot be read by all clients: it is not an object"},
		"returns with a hidden character":     {`access = "write"`, "access = \"write\"\nreturns = { description = \"a\\u202e\" }", "12", `tools[0].returns: "a\u202e" has a character that is invisible or reorders text`},
		"a property with a hidden character":  {`access = "write"`, "access = \"write\"\noutput_json='{\"type\":\"object\",\"properties\":{\"a\\u202e\":{}}}'", "12", `tools[0].output_json: "a\u202e" has a character that is invisible or reorders text`},
		"an input that is nested too deep":    {`access = "write"`, "access = \"write\"\ninput_json='{\"type\":\"object\",\"default\":" + strings.Repeat("[", 120) + strings.Repeat("]", 120) + "}'", "12", "tools[0].input_json: cannot be read by all clients: it is nested more than 120 deep"},
		"an output with a number too large":   {`access = "write"`, "access = \"write\"\noutput_json='{\"type\":\"object\",\"maximum\":1e999}'", "12", "tools[0].output_json: cannot be read by all clients: it has a number"},
		"a header of a wrong type":            {`access = "write"`, "access = \"write\"\n[tools.input]\ntype='object'\nproperties.a={type='number', 'x-mcp-header'='A'}", "12", `tools[0].input: x-mcp-header at "a" must be in a property whose type is string, integer or boolean`},
		"a header that is out of reach":       {`access = "write"`, "access = \"write\"\ninput_json='{\"type\":\"object\",\"anyOf\":[{\"x-mcp-header\":\"A\"}]}'", "12", "tools[0].input_json: x-mcp-header at the top level must be in a property"},
		"an input with a date":                {`access = "write"`, "access = \"write\"\n[tools.input]\ntype='object'\nx.y=[1, 2020-01-01]", "14", "tools[0].input.x.y[1]: cannot be represented in JSON"},
		"an input with inf":                   {`access = "write"`, "access = \"write\"\n[tools.input]\ntype='object'\nmaximum=inf", "14", "tools[0].input.maximum: cannot be represented in JSON"},
		"destructive as a string":             {`access = "write"`, "access = \"write\"\ndestructive='no'", "12", "tools[0].destructive: is a string, not true or false"},
		"not TOML":                            {"[module]", "[module", "6", "is not TOML"},
		"a duplicate key":                     {"[module]", "name = 'x'\n[module]", "6", "is not TOML"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(small, c.old, c.new, 1)
			if text == small {
				t.Fatal("the case does not change the manifest")
			}
			_, ps := manifest.Parse("plugin.toml", []byte(text))
			var all []string
			for _, p := range ps.Errors() {
				line := ""
				if p.Line > 0 {
					line = fmt.Sprint(p.Line)
				}
				got := strings.TrimPrefix(p.Key+": ", ": ") + p.What + " " + p.Remedy
				if line == c.line && strings.Contains(got, c.want) {
					return
				}
				all = append(all, line+" "+got)
			}
			t.Errorf("want line %s %s\ngot  %s", c.line, c.want, strings.Join(all, "\n     "))
		})
	}
}

func TestParseAcceptsLineEndingsOfWindows(t *testing.T) {
	text := strings.Replace(small, "[[tools]]", "[server]\ninstructions = \"\"\"\nRead.\nWrite.\"\"\"\n[[tools]]\ntitle = \"\"\"\nAdds\na note\"\"\"", 1)
	if _, ps := manifest.Parse("plugin.toml", []byte(strings.ReplaceAll(text, "\n", "\r\n"))); ps.Err() != nil {
		t.Error(ps.Err())
	}
}

func TestParseReportsAllProblems(t *testing.T) {
	text := strings.NewReplacer(`"notes"`, "1", `"1.2.3"`, `"x"`, "[module]", "[modul]", `"write"`, `"w"`).Replace(small)
	_, ps := manifest.Parse("plugin.toml", []byte(text))
	var got []string
	for _, p := range ps {
		got = append(got, p.Key)
	}
	want := []string{"module.file", "plugin.name", "plugin.version", "modul", "tools[0].access"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff, ps)
	}
}

func TestCheckCompilesSchemas(t *testing.T) {
	m, ps := manifest.Parse("plugin.toml", []byte(small+"[tools.input]\ntype='object'\nproperties.a.type='text'\n"))
	if err := ps.Err(); err != nil {
		t.Fatalf("structure: %v", err)
	}
	ps = m.Check()
	if len(ps) != 1 || ps[0].Key != "tools[0].input" || ps[0].Line != 8 || !strings.Contains(ps[0].What, "/properties/a/type") {
		t.Errorf("got %v", ps)
	}
	m, _ = manifest.Parse("plugin.toml", []byte(small))
	if ps := m.Check(); len(ps) > 0 {
		t.Errorf("got %v", ps)
	}
}

func TestCheckReportsToolNamesThatClientsRefuse(t *testing.T) {
	for name, portable := range map[string]bool{
		"notes_add": true, "Notes-1": true, strings.Repeat("a", 64): true,
		"notes.add": false, strings.Repeat("a", 65): false,
	} {
		m, ps := manifest.Parse("plugin.toml", []byte(strings.ReplaceAll(small, `"add"`, `"`+name+`"`)))
		if err := ps.Err(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := m.Check(); (len(got) == 0) != portable || !portable && (got[0].Key != "tools[0].name" || got[0].Line == 0) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestLoadReportsMissingFile(t *testing.T) {
	dir := t.TempDir()
	m, ps := manifest.Load(dir)
	if m != nil || len(ps) != 1 || ps[0].What != "there is no such file" || !strings.HasPrefix(ps[0].File, dir) {
		t.Errorf("got %v, %v", m, ps)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(small + "[tools.input]\ntype='object'\n[tools.output]\n"))
	f.Add([]byte("manifest = 1\nplugin = { name = 'a' }\ntools = [{ name = 'x', input_json = '{}' }]"))
	f.Add([]byte("[limits]\nmemory='1GiB'\nfuel=1\n[offers]\nprompts=['a']\n[[capabilities.fs]]\npath='${home}'"))
	f.Add([]byte(grep))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, ps := manifest.Parse("plugin.toml", data)
		if m == nil && ps.Err() == nil {
			t.Fatal("Parse returned neither a manifest nor a problem")
		}
		if ps.Err() != nil {
			return
		}
		if m.Name == "" || m.Version == "" || m.Description == "" || m.Module.File == "" || m.Module.Kind == "" ||
			m.Server.Name == "" || m.Validate == "" || m.Write == "" {
			t.Errorf("incomplete: %+v", m)
		}
		for _, tool := range m.Tools {
			if tool.Name == "" || tool.Description == "" || len(tool.Input) == 0 {
				t.Errorf("incomplete: %+v", tool)
			}
		}
	})
}

// BenchmarkParse parses a manifest with 14 tools. At its start, the host parses the manifest of each plugin.
func BenchmarkParse(b *testing.B) {
	var text strings.Builder
	head, _, _ := strings.Cut(small, "[[tools]]")
	text.WriteString(head)
	for i := range 14 {
		fmt.Fprintf(&text, `
[[tools]]
name = "tool_%d"
title = "Tool %d"
description = "Does one of the things that this plugin can do, with a text of the usual length."
access = "read"
[tools.input]
type = "object"
required = ["id"]
[tools.input.properties.id]
type = "string"
description = "Which one (a full id or the beginning of one)"
[tools.input.properties.limit]
type = "integer"
description = "How many at most"
[tools.input.properties.status]
type = "string"
enum = ["open", "done", "failed"]
`, i, i)
	}
	data := []byte(text.String())
	b.Run("parse", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, ps := manifest.Parse("plugin.toml", data); len(ps) > 0 {
				b.Fatal(ps)
			}
		}
	})
	m, _ := manifest.Parse("plugin.toml", data)
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			if ps := m.Check(); len(ps) > 0 {
				b.Fatal(ps)
			}
		}
	})
}
