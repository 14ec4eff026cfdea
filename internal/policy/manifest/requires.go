package manifest

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// Requirement is one [[requires]] table: something without which tools of the plugin cannot work. Exactly one of Env, Grant and Paths
// is set.
type Requirement struct {
	Env   string   // name of a variable that must be granted and have a value that is not empty
	Grant string   // path that must be granted, but need not exist
	Paths []string // paths of which at least one must exist and be granted
	Why   string
	// Tools are the tools that need the requirement, Except those that do not. At most one of the two is set. If neither is set, all tools
	// need the requirement. Prompts and resources need the requirement unless Tools is set.
	Tools, Except []string
	Value         string     // value that `bulkhead init` writes to the config for the variable Env
	Optional      bool       // the variable Env is not required: bulkhead init grants it if its value is set, and tools work without it
	Create        []Creation // files and directories that `bulkhead init` creates if none of Paths exists
	Line          int        // line of the requirement in its file
}

// Creation is a file or directory that `bulkhead init` creates.
type Creation struct {
	Path    string
	Content string // content of the file, which may contain ProjectPlaceholder
	IsDir   bool
}

// ProjectPlaceholder stands for the name of the project's directory. It may occur in Creation.Content and Requirement.Value.
const ProjectPlaceholder = "{project}"

// EnvPath begins a required path that starts at the value of a granted variable: "${env:NAME}/rest".
const EnvPath = "${env:"

// Bounds of the requirements of one manifest.
const (
	maxRequirements = 16
	maxAlternatives = 16
	maxCreations    = 32
)

// readRequirements reads the [[requires]] tables. m must already have its capabilities and tools.
func (m *Manifest) readRequirements(root *tomlfile.Table) {
	tables := root.Tables("requires")
	if len(tables) > maxRequirements {
		tables[maxRequirements].Fault("", fmt.Sprintf("is one of more than %d requirements", maxRequirements), "remove some")
		return
	}
	for _, t := range tables {
		r := Requirement{Env: t.String("env"), Grant: t.String("grant"), Paths: t.Strings("paths"), Why: t.Required("why", `write why = "…": what it is for, in a few words`),
			Tools: t.Strings("tools"), Except: t.Strings("except"), Value: t.String("value"), Optional: t.Bool("optional", false), Line: t.Line()}
		checkVisible(t, "why", r.Why)
		checkVisible(t, "value", r.Value)
		m.checkSubject(t, r)
		m.checkToolNames(t, "tools", r.Tools)
		m.checkToolNames(t, "except", r.Except)
		if t.Has("tools") && t.Has("except") {
			t.Fault("except", "conflicts with tools", "keep one of the two")
		}
		r.Create = m.readCreations(t)
		m.Requires = append(m.Requires, r)
	}
}

// checkSubject checks the keys of t that state what r requires.
func (m *Manifest) checkSubject(t *tomlfile.Table, r Requirement) {
	has := 0
	for _, key := range []string{"env", "grant", "paths"} {
		if t.Has(key) {
			has++
		}
	}
	if has != 1 {
		t.Fault("paths", "exactly one of env, grant and paths must be set", `write paths = ["${project}/…"], grant = "${home}/…" or env = "NAME"`)
	}
	if t.Has("env") && !m.RequestsEnv(r.Env) {
		t.Fault("env", fmt.Sprintf("%s is not in capabilities.env", tomlfile.Quote(r.Env)), "add it to capabilities.env")
	}
	if t.Has("value") && !t.Has("env") {
		t.Fault("value", "has no effect without env", "remove it")
	}
	if r.Optional && r.Value == "" {
		t.Fault("optional", "has no effect without env and value", `write env = "NAME" and value = "${env:NAME}", or remove it`)
	}
	for _, key := range []string{"tools", "except"} {
		if r.Optional && t.Has(key) {
			t.Fault(key, "has no effect with optional", "remove it: all tools work without an optional variable")
		}
	}
	// If a user consents to the variable r.Env, the value must not grant another variable too.
	if strings.Contains(r.Value, "${") && r.Value != EnvPath+r.Env+"}" {
		t.Fault("value", fmt.Sprintf("%s contains a variable other than ${env:%s} alone", tomlfile.Quote(r.Value), r.Env), "write ${env:…} with the name in env, or text without ${")
	}
	if t.Has("grant") {
		if err := checkRequestedPath(r.Grant); err != nil {
			t.Fault("grant", fmt.Sprintf("%s %v", tomlfile.Quote(r.Grant), err), pathRemedy)
		}
	}
	if t.Has("paths") && (len(r.Paths) == 0 || len(r.Paths) > maxAlternatives) {
		t.Fault("paths", fmt.Sprintf("does not have 1 to %d paths", maxAlternatives), "")
	}
	for i, p := range r.Paths {
		if err := m.checkRequiredPath(p); err != nil {
			t.FaultItem("paths", i, fmt.Sprintf("%s %v", tomlfile.Quote(p), err), pathRemedy+", or with ${env:NAME}")
		}
	}
}

// RequestsEnv reports whether the plugin requests the variable called name.
func (m *Manifest) RequestsEnv(name string) bool {
	return slices.Contains(m.Capabilities.Env, name) || slices.Contains(m.Capabilities.Env, Any) && IsVariable(name)
}

// checkRequiredPath is checkRequestedPath for a path that may begin with ${env:NAME}.
func (m *Manifest) checkRequiredPath(p string) error {
	after, ok := strings.CutPrefix(p, EnvPath)
	if !ok {
		return checkRequestedPath(p)
	}
	name, rest, closed := strings.Cut(after, "}")
	switch {
	case !closed || !m.RequestsEnv(name):
		return errors.New("begins with a variable that is not in capabilities.env")
	case !strings.HasPrefix(rest, "/"):
		return errors.New("has no path after its variable")
	case !visible.Only(rest):
		return errors.New(invisible)
	}
	return CheckPath("${" + VarHome + "}" + rest) // VarHome stands for any variable here, since on Windows rest alone is not an absolute path
}

func (m *Manifest) checkToolNames(t *tomlfile.Table, key string, names []string) {
	for i, name := range names {
		if _, ok := m.Tool(name); !ok {
			t.FaultItem(key, i, fmt.Sprintf("%s is not a tool of this plugin", tomlfile.Quote(name)), "correct or remove it")
		}
	}
}

// readCreations reads the files and directories of the key create. Each must be below a directory that the plugin requests for writing.
func (m *Manifest) readCreations(t *tomlfile.Table) []Creation {
	if t.Has("create") && !t.Has("paths") {
		t.Fault("create", "has no effect without paths", "remove it")
		return nil
	}
	var out []Creation
	for _, f := range t.Tables("create") {
		c := Creation{Path: f.Required("path", `write path = "${project}/…"`), Content: f.String("content"), IsDir: !f.Has("content")}
		if c.Path != "" && !m.requestsWriting(c.Path) {
			f.Fault("path", fmt.Sprintf("%s is not below a directory that capabilities.fs requests with access \"rw\"", tomlfile.Quote(c.Path)), "create only files that belong to the plugin")
		}
		if out = append(out, c); len(out) > maxCreations {
			f.Fault("path", fmt.Sprintf("is one of more than %d paths to create", maxCreations), "remove some")
			return nil
		}
	}
	return out
}

// requestsWriting reports whether the path p is below a directory that the plugin requests for writing.
func (m *Manifest) requestsWriting(p string) bool {
	variable, rest, err := SplitPath(p)
	if err != nil || !visible.Only(p) {
		return false
	}
	for _, f := range m.Capabilities.FS {
		v, above, err := SplitPath(f.Path)
		if err == nil && v == variable && f.Access == ReadWrite && strings.HasPrefix(rest, strings.TrimSuffix(above, "/")+"/") && path.Clean(rest) != "/" {
			return true
		}
	}
	return false
}

// Needs reports whether the named tool needs the requirement r.
func (r Requirement) Needs(tool string) bool {
	if len(r.Tools) > 0 {
		return slices.Contains(r.Tools, tool)
	}
	return !slices.Contains(r.Except, tool)
}

// NeedsLists reports whether prompts and resources need the requirement r.
func (r Requirement) NeedsLists() bool { return len(r.Tools) == 0 }
