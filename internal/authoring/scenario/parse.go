package scenario

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/jsonvalue"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// Parse parses a scenario file. name is its path; directories in the file are relative to it.
func Parse(name string, data []byte) (File, tomlfile.Problems) {
	doc, ps := tomlfile.Parse(name, data)
	if doc == nil {
		return File{Name: name}, ps
	}
	f := File{Name: name}
	root := doc.Root()
	shared := root.Table("grants")
	checkGrants(shared)
	before := parseFiles(root.Table("files"))
	names := map[string]bool{}
	for _, t := range root.Tables("scenario") {
		s := parseScenario(name, t)
		if names[s.Name] && s.Name != "" {
			t.Fault("name", "is also the name of another scenario of this file", "give each scenario a name of its own")
		}
		names[s.Name] = true
		s.before = append(before[:len(before):len(before)], s.before...)
		if !s.grants.Present() {
			s.grants = shared
		}
		f.Scenarios = append(f.Scenarios, s)
	}
	if !root.Has("scenario") {
		root.Fault("scenario", "is missing", "write at least one [[scenario]] with a name and a [[scenario.step]]")
	}
	return f, doc.Problems()
}

func parseScenario(file string, t *tomlfile.Table) *Scenario {
	s := &Scenario{file: file, table: t, Name: t.Required("name", "write what the scenario shows"), grants: t.Table("grants"), unchanged: t.Bool("unchanged", false)}
	checkGrants(s.grants)
	if from := t.String("from"); from != "" {
		if !filepath.IsLocal(filepath.FromSlash(from)) {
			t.Fault("from", "is not a directory beside the scenario file", "write its path relative to the scenario file, without ..")
		}
		s.from = from
	}
	s.before = parseFiles(t.Table("files"))
	s.after = parseAfter(t.Table("after"))
	for _, st := range t.Tables("step") {
		s.steps = append(s.steps, parseStep(st))
	}
	if !t.Has("step") {
		t.Fault("step", "is missing", "write at least one [[scenario.step]] with one of the keys "+strings.Join(kinds, ", "))
	}
	return s
}

// values returns the table at key as decoded JSON; nil if there is none.
func values(parent *tomlfile.Table, key string) map[string]any {
	object, _ := decoded(parent.JSON(key)).(map[string]any)
	return object
}

func decoded(raw []byte) any {
	if raw == nil {
		return nil
	}
	v, _ := jsonvalue.Decode(raw) // tomlfile writes valid JSON
	return v
}

// grantKeys are the keys that grants may have besides fs and git.
var grantKeys = []string{"allow_tools", "deny_tools", "allow_prompts", "deny_prompts", "allow_resources", "deny_resources", "read_only", "always_offer",
	"allow_write", "deny", "http", "env", "ask", "limits", "isolation", "prefix"}

// checkGrants reports grants that a scenario must not have. The config of the scenario's host is checked for all other problems.
func checkGrants(t *tomlfile.Table) {
	for _, key := range t.Keys() {
		switch key {
		case "path", "name", "sha256":
			t.Fault(key, "is not allowed in grants: the command sets it", "remove the key")
		case "fs", "git":
			for i, granted := range t.Tables(key) {
				field := map[string]string{"fs": "path", "git": "repo"}[key]
				if where := granted.String(field); !strings.HasPrefix(where, "${") || strings.HasPrefix(where, "${env:") {
					t.FaultItem(key, i, tomlfile.Quote(where)+" is not in the directories of the scenario", "begin it with ${project}, ${cwd}, ${home} or ${state}")
				}
				granted.Keys()
			}
		default:
			if !slices.Contains(grantKeys, key) {
				t.Fault(key, "is not a known key", "remove it, or correct its name: the keys are "+strings.Join(grantKeys, ", "))
			}
		}
	}
}

func parseFiles(t *tomlfile.Table) []content {
	var files []content
	for _, key := range t.Keys() {
		p, err := parsePath(key)
		if err != nil {
			t.Fault(key, err.Error(), "")
		}
		c := content{table: t, key: key, path: p}
		if t.IsTable(key) {
			c.data = parseBase64(t.Table(key))
		} else {
			c.data = []byte(t.String(key))
		}
		if strings.HasSuffix(key, "/") && len(c.data) > 0 {
			t.Fault(key, "is a directory, since its path ends in a slash", `write ""`)
		}
		files = append(files, c)
	}
	return files
}

func parseBase64(t *tomlfile.Table) []byte {
	data, err := base64.StdEncoding.DecodeString(t.Required("base64", "write the content of the file in base64, or as a string instead of the table"))
	if err != nil {
		t.Fault("base64", "is not base64: "+err.Error(), "write the content in standard base64 with padding")
	}
	if data == nil {
		data = []byte{}
	}
	return data
}

func parseAfter(t *tomlfile.Table) []expected {
	var all []expected
	for _, key := range t.Keys() {
		p, err := parsePath(key)
		if err != nil || strings.HasSuffix(key, "/") {
			t.Fault(key, "is not the path of a file in the project", "write it relative to the project, with slashes and without . and .., or begin it with ${home}/ or ${state}/")
		}
		e := expected{key: key, path: p}
		if !t.IsTable(key) {
			text := t.String(key)
			e.exact = &text
			all = append(all, e)
			continue
		}
		sub := t.Table(key)
		e.text, e.absent, e.unchanged = parseTexts(sub), sub.Bool("absent", false), sub.Bool("unchanged", false)
		conditions := 0
		for _, set := range []bool{len(e.text.contains) > 0 || e.text.matches != "", e.absent, e.unchanged, sub.Has("base64")} {
			if set {
				conditions++
			}
		}
		if sub.Has("base64") {
			e.bytes = parseBase64(sub)
		}
		if conditions != 1 {
			t.Fault(key, "does not have exactly one condition", "write contains or matches (or both), absent = true, unchanged = true, or base64")
		}
		all = append(all, e)
	}
	return all
}

// parseTexts parses the keys contains, a string or an array, and matches.
func parseTexts(t *tomlfile.Table) texts {
	var found texts
	switch {
	case !t.Has("contains"):
	case t.IsArray("contains"):
		found.contains = t.Strings("contains")
	default:
		found.contains = []string{t.String("contains")}
	}
	if found.matches = t.String("matches"); found.matches != "" {
		if _, err := regexp.Compile(found.matches); err != nil {
			t.Fault("matches", "is not a regular expression: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "use the syntax of Go (RE2)")
		}
	}
	return found
}

// object returns the object that a table has at key, or as JSON in a string at key_json; nil if there is none.
func object(t *tomlfile.Table, key string) any {
	table, text := t.JSON(key), t.String(key+"_json")
	switch {
	case table != nil && t.Has(key+"_json"):
		t.Fault(key+"_json", "is set beside "+key, "keep one of the two")
	case !t.Has(key + "_json"):
		return decoded(table)
	}
	v, err := jsonvalue.Decode([]byte(text))
	if err != nil {
		t.Fault(key+"_json", "is not JSON: "+err.Error(), "write one JSON object")
		return nil
	}
	if _, ok := v.(map[string]any); !ok {
		t.Fault(key+"_json", "is not a JSON object", "write {…}")
		return nil
	}
	return v
}

// isHolder reports whether an element of a path has a name that the host reserves and hides from plugins.
func isHolder(name string) bool {
	return strings.HasPrefix(name, config.HolderPrefix) || strings.Contains(name, "/"+config.HolderPrefix)
}

// position returns the file, line and key of a value, for a message.
func position(t *tomlfile.Table, key string) string {
	return fmt.Sprintf("%s:%d: %s", t.File(), t.LineOf(key), t.Path(key))
}
