package conform

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// kit has a directory for each version of the ABI, with the manifest of its module and its scenario files.
//
//go:embed abi-1
var kit embed.FS

// kitDir is the directory of the ABI that the host implements.
const kitDir = "abi-1"

// manifestName is the name of the manifest in the directory of a kit.
const manifestName = "plugin.toml"

// file is a scenario file. Its scenarios run in one host.
type file struct {
	name      string
	time      string // the module's time limit; empty: that of the manifest
	scenarios []scenario
}

// scenario is one request, and what the response must be.
type scenario struct {
	name     string
	method   string
	params   json.RawMessage
	times    int  // how often the request is made
	parallel bool // the requests are made at the same time

	result   json.RawMessage   // the result contains it; nil: any result
	text     *string           // the text of the only content; nil: any text
	textJSON json.RawMessage   // the JSON that the text contains; nil: any text
	isError  bool              // the result is an error
	rpcError json.RawMessage   // the JSON-RPC error contains it; nil: there is no error
	failure  string            // the code of the host's failure; empty: there is no failure
	progress []json.RawMessage // the notifications of progress; nil: any notifications
	log      []string          // lines of the log, each with its level
	asked    json.RawMessage   // the parameters of the question contain it; nil: the client cannot be asked
	answer   json.RawMessage   // the client's answer
	fails    bool              // the request fails, in whatever way
}

// files returns the scenario files of the kit. In their strings ${project} stands for a directory, which its grants begin with.
func files(project string) ([]file, error) {
	names, err := fs.Glob(kit, kitDir+"/*.toml")
	if err != nil {
		return nil, err
	}
	var all []file
	for _, name := range names {
		if path.Base(name) == manifestName {
			continue
		}
		data, err := kit.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := parse(path.Base(name), data, project)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

func parse(name string, data []byte, project string) (file, error) {
	doc, ps := tomlfile.Parse(name, data)
	if doc == nil {
		return file{}, ps
	}
	root := doc.Root()
	f := file{name: strings.TrimSuffix(name, ".toml"), time: root.Table("limits").String("time")}
	for _, t := range root.Tables("scenario") {
		f.scenarios = append(f.scenarios, parseScenario(t, project))
	}
	return f, doc.Problems().Err()
}

func parseScenario(t *tomlfile.Table, project string) scenario {
	value := func(key string) json.RawMessage {
		if !t.Has(key) {
			return nil
		}
		raw := json.RawMessage(expand(t.String(key), project))
		if !json.Valid(raw) {
			t.Fault(key, "is not JSON", "")
		}
		return raw
	}
	s := scenario{
		name: t.Required("name", "write what it shows"), method: t.String("method"), params: value("params"), parallel: t.Bool("parallel", false),
		result: value("result"), textJSON: value("json"), isError: t.Bool("is_error", false), rpcError: value("error"), failure: t.String("failure"),
		log: t.Strings("log"), asked: value("asked"), answer: value("answer"), fails: t.Bool("fails", false), times: 1,
	}
	if n, ok := t.Int("times"); ok {
		s.times = int(n)
	}
	if tool := t.String("tool"); tool != "" {
		s.method, s.params = abi.MethodToolsCall, toolParams(tool, value("arguments"), !t.Bool("no_token", false))
	}
	if s.params == nil {
		s.params = json.RawMessage("{}")
	}
	if t.Has("text") {
		text := expand(t.String("text"), project)
		s.text = &text
	}
	if t.Has("progress") {
		s.progress = []json.RawMessage{}
		for _, want := range t.Strings("progress") {
			s.progress = append(s.progress, json.RawMessage(want))
		}
	}
	return s
}

// toolParams returns the parameters of a tool call. Its arguments follow the name byte for byte.
func toolParams(tool string, arguments json.RawMessage, token bool) json.RawMessage {
	params := fmt.Appendf(nil, `{"name":%q`, tool)
	if arguments != nil {
		params = append(append(params, `,"arguments":`...), arguments...)
	}
	if token {
		params = append(params, `,"_meta":{"progressToken":"a \"token\""}`...)
	}
	return append(params, '}')
}

var repeated = regexp.MustCompile(`(?s)\$\{repeat ([0-9]+) ([^}]+)\}`)

// expand replaces ${project} by a path and ${repeat N TEXT} by N times the text.
func expand(s, project string) string {
	s = strings.ReplaceAll(s, "${project}", project)
	return repeated.ReplaceAllStringFunc(s, func(match string) string {
		parts := repeated.FindStringSubmatch(match)
		n, err := strconv.Atoi(parts[1])
		if err != nil {
			return match
		}
		return strings.Repeat(parts[2], n)
	})
}
