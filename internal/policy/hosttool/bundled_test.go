package hosttool

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// bundled returns the Set of all tools of all bundled plugins.
func bundled(t *testing.T) *Set {
	t.Helper()
	dirs, err := filepath.Glob("../../../plugins/*")
	if err != nil {
		t.Fatal(err)
	}
	var plugins []Plugin
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, manifest.FileName)); err != nil {
			continue
		}
		m, problems := manifest.Load(dir)
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		p := Plugin{Name: m.Name}
		for _, tool := range m.Tools {
			p.Tools = append(p.Tools, gateway.Tool{Name: tool.Name, Title: tool.Title, Description: tool.Description, Input: tool.Input, Output: tool.Output, Returns: tool.Returns,
				ReadOnly: !tool.Write, Destructive: tool.Destructive, OpenWorld: tool.OpenWorld})
		}
		plugins = append(plugins, p)
	}
	s := NewSet(config.ToolsSearch, plugins, false)
	if len(s.tools) < 90 {
		t.Fatalf("found %d tools", len(s.tools))
	}
	return s
}

// answer returns the text of a result.
func answer(t *testing.T, s *Set, name, arguments string) string {
	t.Helper()
	result, err := s.Answer(name, json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	var decoded struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(result, &decoded); err != nil || len(decoded.Content) != 1 {
		t.Fatalf("%s: %v", result, err)
	}
	return decoded.Content[0].Text
}

// TestFindInBundledTools checks that words by which a model would search find the tool that it needs among the first three, for 19 of 20
// searches. The searches were written before the first result was seen; the index knows no synonyms.
func TestFindInBundledTools(t *testing.T) {
	s := bundled(t)
	searches := map[string]string{
		"commit staged changes":                          "git_commit",
		"what changed in the repository since a tag":     "git_diff",
		"show recent commits of a branch":                "git_log",
		"stage files for the next commit":                "git_add",
		"create a new branch":                            "git_create_branch",
		"working tree status":                            "git_status",
		"read a text file":                               "read_text_file",
		"find files by name pattern":                     "search_files",
		"replace a line in a file":                       "edit_file",
		"rename or move a file":                          "move_file",
		"size and modification time of a file":           "get_file_info",
		"directory tree":                                 "directory_tree",
		"fetch a web page":                               "fetch",
		"download url as markdown":                       "fetch",
		"current time in a time zone":                    "get_current_time",
		"convert time between timezones":                 "convert_time",
		"remember a fact about a person":                 "add_observations",
		"search the knowledge graph":                     "search_nodes",
		"run a SQL query":                                "sqlite_query",
		"insert rows into a database":                    "sqlite_execute",
		"which tables does the database have":            "sqlite_schema",
		"filter json with jq":                            "jq_text",
		"archive a finished change":                      "openspec_archive",
		"validate a change proposal":                     "openspec_validate",
		"list active changes":                            "openspec_list_changes",
		"list specs that are ready":                      "chant_spec_list",
		"search specs for a word":                        "chant_search",
		"add a new spec to chant":                        "chant_add",
		"deploy skills and agents to the targets":        "deploy",
		"roll back the last deployment":                  "rollback",
		"install a package from a registry":              "aam_install",
		"list installed packages":                        "aam_list",
		"add a registry":                                 "aam_registry_add",
		"search text in files with a regular expression": "ripgrep_search",
		"commits that changed since yesterday":           "git_log",
		"show the patch of a commit":                     "git_show",
		"unstage a file":                                 "git_reset",
		"write text to a new file":                       "write_file",
		"make a directory":                               "create_directory",
		"view an image":                                  "read_media_file",
		"delete a prompt from the library":               "delete_prompt",
		"publish a package":                              "aam_publish",
		"check the manifest of a package":                "aam_validate",
		"preview what a deployment would change":         "preview",
	}
	var missed []string
	for query, want := range searches {
		found := strings.Split(answer(t, s, Find, `{"query":"`+query+`","limit":3}`), "\n")
		for i, line := range found {
			found[i], _, _ = strings.Cut(line, "(")
		}
		if !slices.Contains(found, want) {
			missed = append(missed, fmt.Sprintf("%q finds %v, want %s", query, found, want))
		}
	}
	if 20*len(missed) > len(searches) {
		t.Errorf("%d of %d searches do not find the tool:\n%s", len(missed), len(searches), strings.Join(missed, "\n"))
	}
	t.Log(strings.Join(missed, "\n"))
}
