package tools_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/render"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/token"
)

// readSample decodes a file of the sample data into the value to which into points.
func readSample(t *testing.T, into any, file string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(samples(t, "composed"), file))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// TestSampleNames compares names and hashes with those of the real agentpack in the sample data.
func TestSampleNames(t *testing.T) {
	type identity struct {
		Normalized string `json:"normalized"`
		ID         string `json:"project_id"`
	}
	var want struct {
		Keys     map[string]string   `json:"module_fs_key"`
		Sanitize map[string]string   `json:"sanitize"`
		Machine  map[string]string   `json:"machine_id"`
		Origin   map[string]identity `json:"project_id_from_origin"`
		Path     map[string]string   `json:"project_id_from_path"`
		Cache    map[string]string   `json:"git_cache_dir"`
		File     map[string]string   `json:"snapshot_file_key"`
		Trees    struct {
			Single struct {
				Path, Content string
				Sum           string `json:"module_sha256"`
			} `json:"single_file"`
		} `json:"hash_tree"`
		Plan struct {
			Data any
			Sum  string `json:"sha256"`
		} `json:"confirm_plan_hash"`
		Rule struct {
			ID      string `json:"module_id"`
			Body    string
			File    string
			Content string
		} `json:"cursor_rule"`
	}
	readSample(t, &want, "vectors.json")
	compare := func(what string, want map[string]string, of func(string) string) {
		got := map[string]string{}
		for text := range want {
			got[text] = of(text)
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("%s: %d of them (-want +got)\n%s", what, len(want), diff)
		}
	}
	compare("keys of modules", want.Keys, env.ModuleKey)
	compare("sanitized", want.Sanitize, env.Sanitize)
	compare("machines", want.Machine, env.NormalizeMachineID)
	compare("projects by their directory", want.Path, func(path string) string { return env.ProjectID("", path) })
	compare("keys of files", want.File, env.FileKey)
	compare("directories of checkouts", want.Cache, func(url string) string { return "cache/git/" + env.RemoteKey(url) + "/<commit>" })
	identities := map[string]identity{}
	for origin := range want.Origin {
		identities[origin] = identity{env.NormalizeOrigin(origin), env.ProjectID(origin, "/")}
	}
	if diff := cmp.Diff(want.Origin, identities); diff != "" || len(identities) == 0 {
		t.Errorf("projects by their origin (-want +got)\n%s", diff)
	}
	if got := (module.Tree{want.Trees.Single.Path: []byte(want.Trees.Single.Content)}).Hash(); got != want.Trees.Single.Sum {
		t.Errorf("the hash of a tree with one file: got %s", got)
	}
	if got, err := token.PlanHash(token.Binding{}, want.Plan.Data); err != nil || got != want.Plan.Sum {
		t.Errorf("the hash of a plan: got %s, %v", got, err)
	}
	rule := want.Rule
	if got := string(render.CursorHeader(rule.ID)) + rule.Body; got != rule.Content || env.ModuleKey(rule.ID)+".mdc" != rule.File {
		t.Errorf("a rule for Cursor: got %q", got)
	}
}

func TestSampleMarkers(t *testing.T) {
	var cases []struct {
		Text     string
		Sections map[string]string
		Error    string
	}
	readSample(t, &cases, "marker_cases.json")
	says := map[string]string{"nested": "nested", "unterminated": "not terminated", "duplicate": "two sections"}
	for _, test := range cases {
		found, err := render.ParseSections(test.Text)
		if test.Error != "" {
			if err == nil || says[test.Error] == "" || !strings.Contains(err.Error(), says[test.Error]) {
				t.Errorf("%q: got %v, want %s", test.Text, err, test.Error)
			}
			continue
		}
		got := map[string]string{}
		for _, section := range found {
			got[section.Module] = section.Content
		}
		if diff := cmp.Diff(test.Sections, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got)\n%s", test.Text, err, diff)
		}
	}
	if len(cases) == 0 {
		t.Error("the sample has no cases")
	}
}

// TestSampleLockfile checks that the tree hashes of the modules in the config repo equal the hashes in the lockfile.
func TestSampleLockfile(t *testing.T) {
	var lock struct {
		Modules []struct {
			ID       string `json:"id"`
			Sum      string `json:"sha256"`
			Resolved struct {
				Local struct {
					Path string `json:"path"`
				} `json:"local_path"`
			} `json:"resolved_source"`
		} `json:"modules"`
	}
	readSample(t, &lock, filepath.Join("lockfile_sample", "agentpack.lock.json"))
	repo := sampleFiles(t, samples(t, "composed", "repo_all_targets"))
	for _, locked := range lock.Modules {
		files := module.Tree{}
		for path, content := range repo {
			if path == locked.Resolved.Local.Path {
				files[filepath.Base(path)] = []byte(content)
			} else if below, ok := strings.CutPrefix(path, locked.Resolved.Local.Path+"/"); ok {
				files[below] = []byte(content)
			}
		}
		if got := files.Hash(); got != locked.Sum {
			t.Errorf("%s: got %s, want %s", locked.ID, got, locked.Sum)
		}
	}
	if len(lock.Modules) == 0 {
		t.Error("the lockfile has no modules")
	}
}
