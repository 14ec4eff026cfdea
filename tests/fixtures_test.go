//go:build unix

package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// expected is the entry of one .chant directory in EXPECTED.json.
type expected struct {
	Initialized bool             `json:"initialized"`
	Summary     expectedSummary  `json:"archive_aware"`
	Unloadable  []string         `json:"unloadable"`
	Specs       []expectedDetail `json:"specs"`
}

type expectedSummary struct {
	Status  map[string]int `json:"status"`
	Brief   string         `json:"brief"`
	Ready   []string       `json:"ready"`
	Blocked []string       `json:"blocked"`
}

type expectedDetail struct {
	ID          string         `json:"id"`
	Title       *string        `json:"title"`
	Type        string         `json:"type"`
	Status      string         `json:"status_on_disk"`
	DependsOn   []string       `json:"depends_on"`
	UnknownKeys []string       `json:"unknown_keys"`
	Verify      expectedVerify `json:"verify"`
}

type expectedVerify struct {
	Total     int  `json:"total"`
	Checked   int  `json:"checked"`
	Unchecked int  `json:"unchecked"`
	Verified  bool `json:"verified"`
	Items     int  `json:"items"`
}

// TestChantFixtures compares answers of the built server with EXPECTED.json. It uses real projects if they exist beside the
// repository, else chant's test data.
func TestChantFixtures(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "shared", "fixtures", "chant")
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		t.Logf("%s does not exist: using chant's test data", root)
		root = filepath.Join("..", "plugins", "chant", "testdata")
	}
	t.Logf("projects from %s", root)
	var all map[string]*expected
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(root, "EXPECTED.json"))), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("EXPECTED.json names no project")
	}
	for name, want := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "self-2026-01-26-unloadable/.chant" {
				acceptScalarOrigin(want)
			}
			// Copy the project, since the test writes to it and it must not be inside a repository.
			project := newDir(t, nil)
			if err := os.CopyFS(project, os.DirFS(filepath.Join(root, filepath.Dir(name)))); err != nil {
				t.Fatal(err)
			}
			s := serveChant(t, project)
			s.compareProject(want)
			s.compareSaves(project, want.Specs)
			s.end()
		})
	}
}

// acceptScalarOrigin adjusts the table for a spec that the recorded program rejects because it has a scalar instead of a list.
func acceptScalarOrigin(want *expected) {
	want.Unloadable = nil
	want.Summary.Status["total"]++
	want.Summary.Status["pending"]++
	want.Summary.Brief = strings.Replace(want.Summary.Brief, "8 pending", "9 pending", 1)
	want.Summary.Ready = append(want.Summary.Ready, "2026-01-26-00q-thn")
	slices.Sort(want.Summary.Ready)
}

func (s *server) compareProject(want *expected) {
	s.t.Helper()
	if !want.Initialized {
		for _, tool := range []string{"chant_spec_list", "chant_status", "chant_ready"} {
			s.wantToolError(tool, `{}`, "Chant not initialized. Run `chant init` first.")
		}
		return
	}
	var got expectedSummary
	s.decode("chant_status", `{}`, &got.Status)
	got.Brief = s.mustCall("chant_status", `{"brief":true}`)
	got.Ready = s.ids("chant_ready", `{"limit":1000}`)
	got.Blocked = s.ids("chant_spec_list", `{"limit":1000,"status":"blocked"}`)
	if diff := cmp.Diff(want.Summary, got); diff != "" {
		s.t.Errorf("(-want +got)\n%s", diff)
	}
	for _, id := range want.Unloadable {
		s.wantToolError("chant_spec_get", fmt.Sprintf(`{"id":%q}`, id), id+".md:")
	}
	ids := []string{}
	for _, one := range want.Specs {
		ids = append(ids, one.ID)
		if diff := cmp.Diff(one, s.detail(one)); diff != "" {
			s.t.Errorf("%s (-want +got)\n%s", one.ID, diff)
		}
	}
	// Sort the lists, since the table is sorted by name. The table is incomplete for some directories.
	listed := s.ids("chant_spec_list", `{"limit":1000}`)
	for _, id := range ids {
		if !slices.Contains(listed, id) {
			s.t.Errorf("%s is not listed", id)
		}
	}
}

// detail collects what the server reports of one spec; fields that no tool returns are copied from want.
func (s *server) detail(want expectedDetail) expectedDetail {
	s.t.Helper()
	id := fmt.Sprintf(`{"id":%q}`, want.ID)
	got := expectedDetail{UnknownKeys: want.UnknownKeys}
	var details struct {
		ID        string   `json:"id"`
		Title     *string  `json:"title"`
		Type      string   `json:"type"`
		DependsOn []string `json:"depends_on"`
	}
	s.decode("chant_spec_get", id, &details)
	got.ID, got.Title, got.Type, got.DependsOn = details.ID, details.Title, details.Type, details.DependsOn
	var diagnosis struct {
		Status string `json:"status"`
	}
	s.decode("chant_diagnose", id, &diagnosis)
	got.Status = diagnosis.Status
	var verified struct {
		Verified bool           `json:"verified"`
		Criteria expectedVerify `json:"criteria"`
		Items    []string       `json:"unchecked_items"`
	}
	s.decode("chant_verify", id, &verified)
	got.Verify = verified.Criteria
	got.Verify.Verified, got.Verify.Items = verified.Verified, len(verified.Items)
	return got
}

// compareSaves updates every spec and checks that nothing else changed.
func (s *server) compareSaves(project string, specs []expectedDetail) {
	s.t.Helper()
	for _, one := range specs {
		id := fmt.Sprintf(`{"id":%q}`, one.ID)
		var before, after map[string]any
		s.decode("chant_spec_get", id, &before)
		s.mustCall("chant_spec_update", fmt.Sprintf(`{"id":%q,"status":"failed","output":"the end"}`, one.ID))
		s.decode("chant_spec_get", id, &after)
		before["status"] = "failed"
		before["body"] = strings.TrimSpace(fmt.Sprintf("%s\n\n## Output\n\nthe end", before["body"]))
		if diff := cmp.Diff(before, after); diff != "" {
			s.t.Errorf("%s: saving changed other fields (-before +after)\n%s", one.ID, diff)
		}
		content := readFile(s.t, filepath.Join(project, ".chant", "specs", one.ID+".md"))
		for _, key := range one.UnknownKeys {
			if !strings.Contains(content, "\n"+key+":") {
				s.t.Errorf("%s: saving lost the key %s", one.ID, key)
			}
		}
	}
}

// decode makes a call and decodes its text as JSON.
func (s *server) decode(tool, arguments string, into any) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.mustCall(tool, arguments)), into); err != nil {
		s.t.Fatalf("%s %s: %v", tool, arguments, err)
	}
}

func (s *server) ids(tool, arguments string) []string {
	s.t.Helper()
	var page struct {
		Specs []struct {
			ID string `json:"id"`
		} `json:"specs"`
	}
	s.decode(tool, arguments, &page)
	ids := []string{}
	for _, row := range page.Specs {
		ids = append(ids, row.ID)
	}
	return ids
}
