package hosttool

import (
	"encoding/json"
	"fmt"
	"maps"
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
		p := Plugin{Name: m.Name, Description: m.Description}
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

// searchBundled returns which searches do not find one of the wanted tools among the first three.
func searchBundled(t *testing.T, searches map[string]string) (missed []string) {
	t.Helper()
	s := bundled(t)
	for _, query := range slices.Sorted(maps.Keys(searches)) {
		found := strings.Split(answer(t, s, Find, `{"query":"`+query+`","limit":3}`), "\n")
		for i, line := range found {
			found[i], _, _ = strings.Cut(line, "(")
		}
		if want := strings.Fields(searches[query]); !slices.ContainsFunc(want, func(name string) bool { return slices.Contains(found, name) }) {
			missed = append(missed, fmt.Sprintf("%q finds %v, want %s", query, found, want))
		}
	}
	return missed
}

// TestFindInBundledTools checks that words by which a model would search find the tool that it needs among the first three, for 19 of 20
// searches. The searches were written before the first result was seen; the index knows no synonyms.
func TestFindInBundledTools(t *testing.T) {
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
	if missed := searchBundled(t, searches); 20*len(missed) > len(searches) {
		t.Errorf("%d of %d searches do not find the tool:\n%s", len(missed), len(searches), strings.Join(missed, "\n"))
	}
}

// TestFindByOtherWords is TestFindInBundledTools with searches in the words of users, who do not know those of the tools. They were written
// after the index, before it was changed for the first time, and none of its rules is for one of them.
func TestFindByOtherWords(t *testing.T) {
	searches := map[string]string{
		"undo my staged files":                           "git_reset",
		"who wrote the latest commits":                   "git_log",
		"show differences between two branches":          "git_diff",
		"list all branches of the repository":            "git_branch",
		"contents of several files at once":              "read_multiple_files",
		"first lines of a log file":                      "read_text_file",
		"find all markdown files in a folder":            "search_files ripgrep_files",
		"which folders am I allowed to access":           "list_allowed_directories",
		"list files with their sizes":                    "list_directory_with_sizes",
		"create a folder":                                "create_directory",
		"grep for a function name":                       "ripgrep_search",
		"read a website":                                 "fetch",
		"what time is it in Tokyo":                       "get_current_time",
		"time difference between Berlin and New York":    "convert_time",
		"store that Alice works at Acme":                 "create_relations create_entities add_observations",
		"forget everything about a person":               "delete_entities",
		"show everything that is remembered":             "read_graph",
		"look up known facts about a project":            "search_nodes open_nodes",
		"count rows in a table":                          "sqlite_query",
		"update records in the database":                 "sqlite_execute",
		"show columns of a table":                        "sqlite_schema",
		"extract a field from a JSON document":           "jq_text jq_files",
		"convert YAML to JSON":                           "jq_text jq_files",
		"start a new change proposal":                    "openspec_create_change",
		"next step for a change":                         "openspec_status",
		"how should I write the tasks file of a change":  "openspec_instructions",
		"requirements of a capability":                   "openspec_show openspec_list",
		"set up spec-driven development in this project": "openspec_init",
		"mark a spec as done":                            "chant_finalize chant_spec_update",
		"why is my spec stuck":                           "chant_diagnose",
		"how many specs are pending":                     "chant_status",
		"execution output of a spec":                     "chant_log",
		"retry a failed spec":                            "chant_resume",
		"which deployed files were modified locally":     "status",
		"apply the planned deployment":                   "deploy_apply",
		"check the health of the environment":            "doctor aam_doctor",
		"remove an installed package":                    "aam_uninstall",
		"details and dependencies of a package":          "aam_info",
		"change a setting of the package manager":        "aam_config_set",
		"save a prompt for later":                        "create_prompt",
		"back up all prompts and resources":              "export_project",
		"restore prompts from a backup":                  "import_project",
		"where does this deployed file come from":        "explain",
		"attach a document as a resource":                "create_resource",
	}
	if missed := searchBundled(t, searches); 8*len(missed) > len(searches) {
		t.Errorf("%d of %d searches do not find the tool:\n%s", len(missed), len(searches), strings.Join(missed, "\n"))
	} else {
		t.Log(strings.Join(missed, "\n"))
	}
}
