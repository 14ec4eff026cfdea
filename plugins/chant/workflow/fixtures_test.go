package workflow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	specfile "github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/workflow"
)

// expected holds what EXPECTED.json states about one .chant directory.
type expected struct {
	Initialized bool           `json:"initialized"`
	Summary     expectedCounts `json:"archive_aware"`
	Unloadable  []string       `json:"unloadable"`
	Specs       []expectedSpec `json:"specs"`
}

type expectedCounts struct {
	Status  workflow.Summary `json:"status"`
	Brief   string           `json:"brief"`
	Ready   []string         `json:"ready"`
	Blocked []string         `json:"blocked"`
}

type expectedSpec struct {
	ID          string          `json:"id"`
	Title       *string         `json:"title"`
	Type        string          `json:"type"`
	Status      specfile.Status `json:"status_on_disk"`
	DependsOn   []string        `json:"depends_on"`
	UnknownKeys []string        `json:"unknown_keys"`
	Verify      struct {
		Total     int  `json:"total"`
		Checked   int  `json:"checked"`
		Unchecked int  `json:"unchecked"`
		Verified  bool `json:"verified"`
		Items     int  `json:"items"`
	} `json:"verify"`
}

func TestProjectsInTestdata(t *testing.T) { checkFixtures(t, filepath.Join("..", "testdata")) }

// TestRealProjects is skipped if the directory with real projects does not exist beside the repository.
func TestRealProjects(t *testing.T) {
	checkFixtures(t, testenv.Fixture(t, "chant"))
}

// checkFixtures compares every project that EXPECTED.json in the directory root lists with the statements there.
func checkFixtures(t *testing.T, root string) {
	data, err := os.ReadFile(filepath.Join(root, "EXPECTED.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]*expected
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("EXPECTED.json has no project")
	}
	for name, want := range all {
		t.Run(name, func(t *testing.T) {
			if name == "self-2026-01-26-unloadable/.chant" {
				acceptScalarOrigin(want)
			}
			checkProject(t, filepath.Join(root, filepath.Dir(name)), want)
		})
	}
}

// acceptScalarOrigin moves the file that the chant CLI refuses to the files that are loaded. The file has a string in
// place of a list as origin, which this plugin accepts.
func acceptScalarOrigin(want *expected) {
	want.Unloadable = nil
	want.Summary.Status.Total++
	want.Summary.Status.Pending++
	want.Summary.Brief = want.Summary.Status.Brief()
	want.Summary.Ready = append(want.Summary.Ready, "2026-01-26-00q-thn")
	slices.Sort(want.Summary.Ready)
}

func checkProject(t *testing.T, root string, want *expected) {
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := store.Find(root, root)
	if !want.Initialized {
		if !errors.Is(err, store.ErrNotInitialized) {
			t.Errorf("got %v, want ErrNotInitialized", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var unloadable []string
	note := func(text string) { unloadable = append(unloadable, text) }
	p := &workflow.Project{Dir: dir, Now: now, Warn: note, Debug: note}
	if got := summarize(t, p); !cmp.Equal(got, want.Summary) {
		t.Errorf("(-want +got)\n%s", cmp.Diff(want.Summary, got))
	}
	if len(want.Unloadable) == 0 && len(unloadable) > 0 {
		t.Errorf("these specs are not loaded: %q", unloadable)
	}
	for _, id := range want.Unloadable {
		if !strings.Contains(strings.Join(unloadable, "\n"), id) {
			t.Errorf("%s was loaded", id)
		}
	}
	for _, one := range want.Specs {
		checkSpec(t, p, one)
	}
	archived, err := filepath.Glob(filepath.Join(dir.Archive(), "*", "*.md"))
	flat, err2 := filepath.Glob(filepath.Join(dir.Archive(), "*.md"))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for _, path := range append(archived, flat...) {
		checkSave(t, path, expectedSpec{ID: filepath.Base(path)})
	}
}

func summarize(t *testing.T, p *workflow.Project) expectedCounts {
	t.Helper()
	status, err := p.Status(false)
	ready, err2 := p.Ready(1000)
	blocked, err3 := p.List(new("blocked"), 1000)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	return expectedCounts{status, status.Brief(), ids(ready), ids(blocked)}
}

func ids(page workflow.Page) []string {
	all := []string{}
	for _, row := range page.Specs {
		all = append(all, row.ID)
	}
	return all
}

func checkSpec(t *testing.T, p *workflow.Project, want expectedSpec) {
	t.Helper()
	details, err := p.Get(want.ID)
	verified, err2 := p.Verify(want.ID)
	diagnosis, err3 := p.Diagnose(want.ID)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Errorf("%s: %v", want.ID, err)
		return
	}
	got := want
	got.Title, got.Type, got.DependsOn, got.Status = details.Title, details.Type, details.DependsOn, diagnosis.Status
	got.Verify.Total, got.Verify.Checked, got.Verify.Unchecked = verified.Criteria.Total, verified.Criteria.Checked, verified.Criteria.Unchecked
	got.Verify.Verified, got.Verify.Items = verified.Verified, len(verified.Items)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", want.ID, diff)
	}
	checkSave(t, p.Dir.Spec(want.ID), want)
}

// checkSave opens and encodes the content of the file at path, and compares the keys and values before and after.
func checkSave(t *testing.T, path string, want expectedSpec) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	before, err := specfile.Open(string(data))
	if err != nil {
		t.Error(err)
		return
	}
	saved, err := before.Encode()
	if err != nil {
		t.Errorf("%s: %v", want.ID, err)
		return
	}
	after, err := specfile.Parse(saved)
	if diff := cmp.Diff(before.Spec, *after); err != nil || diff != "" {
		t.Errorf("%s: Encode changed the spec: %v (-before +after)\n%s", want.ID, err, diff)
	}
	for _, key := range want.UnknownKeys {
		if !strings.Contains(saved, fmt.Sprintf("\n%s:", key)) {
			t.Errorf("%s: Encode lost the key %s", want.ID, key)
		}
	}
}
