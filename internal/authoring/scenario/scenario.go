// Package scenario runs the scenario files of a plugin, tests/*.toml beside its manifest: Load reads them, Run makes their requests to the
// built plugin by a host, and Record makes requests and returns a scenario file for them. docs/testing.md describes the files.
package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// Dir is the directory of scenario files beside a manifest.
const Dir = "tests"

// File is a scenario file.
type File struct {
	Name      string // its path
	Scenarios []*Scenario
}

// Scenario is a sequence of requests in a new project, with the expected results.
type Scenario struct {
	Name  string
	file  string
	table *tomlfile.Table

	from      string // directory beside the scenario file that is copied into the project; empty: none
	before    []content
	grants    *tomlfile.Table // absent: what the manifest requests
	steps     []*step
	after     []expected
	unchanged bool // all files that after does not name must be as before the first request
}

// content is a file before the first request, or a directory if its path ends in a slash.
type content struct {
	table *tomlfile.Table
	key   string // in the table
	path  path
	data  []byte
}

// expected is a file after the last request.
type expected struct {
	key       string // in the table after
	path      path
	exact     *string // nil: any content; its placeholders are expanded
	bytes     []byte  // nil: any content
	text      texts
	absent    bool
	unchanged bool
}

// texts are conditions for a string.
type texts struct {
	contains []string
	matches  string // a regular expression; empty: any string
}

// step is a request with the expected response.
type step struct {
	table   *tomlfile.Table
	kind    string // the key that names the request: one of kinds
	name    string // tool, prompt, URI or list
	request request

	answers       map[string]any // the client's answers by the ID of the question; nil: the client cannot be asked
	asked         map[string]any // parameters that the questions contain
	text          *string
	texts         texts
	structured    any // nil: any
	result        any // what the result contains; nil: anything
	isError       bool
	rpcError      *rpcError // nil: there is no error
	failure       string
	denied        []string // nil: any operations
	log           []string
	notifications []notification // nil: any
}

// request has the values for the parameters of a request.
type request struct {
	arguments  any    // of a tool or prompt; nil: none
	ref        string // the prompt or the URI template of a completion
	isPrompt   bool
	argument   string
	value      string
	afterwards any // further arguments of a completion; nil: none
}

type rpcError struct {
	table   *tomlfile.Table
	code    *int64
	message *string
	texts   texts
}

type notification struct {
	method string
	params any // what the parameters contain; nil: anything
}

// The keys that name the request of a step.
const (
	kindTool     = "tool"
	kindPrompt   = "prompt"
	kindResource = "resource"
	kindList     = "list"
	kindComplete = "complete"
)

var kinds = []string{kindTool, kindPrompt, kindResource, kindList, kindComplete}

// Load reads the scenario files of the plugin in a directory. The error is tomlfile.Problems if there is none, or if one is invalid.
func Load(plugin string) ([]File, error) {
	dir := filepath.Join(plugin, Dir)
	names, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.toml"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, tomlfile.Problems{{File: dir, What: "has no scenario files", Remedy: "write one, such as " + filepath.Join(dir, "greet.toml") + ":\n\n" + example +
			"\n  or have it written: bulkhead plugin test " + plugin + " --record tests/greet.toml --call 'TOOL {\"name\": \"Ada\"}'"}}
	}
	slices.Sort(names)
	var files []File
	var problems tomlfile.Problems
	for _, name := range names {
		data, err := tomlfile.ReadFile(name)
		if err != nil {
			problems = append(problems, tomlfile.Problem{File: name, What: err.Error()})
			continue
		}
		f, ps := Parse(name, data)
		files, problems = append(files, f), append(problems, ps...)
	}
	return files, problems.Err()
}

// example is the smallest scenario file, as Load shows it.
const example = `    [[scenario]]
    name = "greets by name"

    [[scenario.step]]
    tool = "hello_greet"
    arguments = { name = "Ada" }
    text = "Hello, Ada!"
`

var globMeta = regexp.MustCompile(`[*?\[\\]`)

// escapeGlob escapes a directory in a pattern of filepath.Glob. On Windows there is no escape.
func escapeGlob(dir string) string {
	if os.PathSeparator == '\\' {
		return dir
	}
	return globMeta.ReplaceAllString(dir, `\$0`)
}

// Select returns the files with the scenarios whose names match, and without the files that have none.
func Select(files []File, name *regexp.Regexp) []File {
	var selected []File
	for _, f := range files {
		f.Scenarios = slices.DeleteFunc(slices.Clone(f.Scenarios), func(s *Scenario) bool { return !name.MatchString(s.Name) })
		if len(f.Scenarios) > 0 {
			selected = append(selected, f)
		}
	}
	return selected
}

// path is the path of a file in one of the directories of a scenario.
type path struct {
	root string // project, home or state
	name string // relative, with slashes
}

// String returns the path as scenario files write it.
func (p path) String() string {
	if p.root == "project" {
		return p.name
	}
	return "${" + p.root + "}/" + p.name
}

// parsePath parses a path. A directory ends in a slash.
func parsePath(text string) (path, error) {
	p := path{"project", text}
	for _, root := range []string{"project", "home", "state"} {
		if name, ok := strings.CutPrefix(text, "${"+root+"}/"); ok {
			p = path{root, name}
		}
	}
	clean := strings.TrimSuffix(p.name, "/")
	switch {
	case !filepath.IsLocal(clean) || clean == "." || strings.Contains(p.name, `\`) || filepath.ToSlash(filepath.Clean(clean)) != clean:
		return p, fmt.Errorf("is not a path in the project: write it relative to the project, with slashes and without . and .., or begin it with ${home}/ or ${state}/")
	case strings.Contains(p.name, "${"), strings.Contains(p.name, "\x00"):
		return p, fmt.Errorf("is not a path: begin it with ${home}/ or ${state}/, or write it relative to the project, without other placeholders and without NUL")
	case isHolder(p.name):
		return p, fmt.Errorf("has a name that the host reserves and hides from plugins: choose another one")
	}
	return p, nil
}
