package install_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
)

// aliasRefusal is the reason why a symbolic link to the home directory is refused.
const aliasRefusal = `: it resolves to "$W/home", the whole home directory: if that is intended, add "$W/home" itself to the plugin's key `

// linkedWorkspace returns a workspace with a plugin that requests symbolic links in the project and in the home directory.
func linkedWorkspace(t *testing.T) (*admintest.Workspace, string) {
	t.Helper()
	w := admintest.New(t)
	dir := w.Plugin(t, "notes", `[capabilities]
fs = [
  { path = "${project}/docs", access = "r" },
  { path = "${home}/work", access = "rw" },
  { path = "${home}/all", access = "r" },
  { path = "${project}", access = "r" },
]
git = [{ repo = "${home}/all", access = "r" }]
`)
	w.Write(t, "disk/a", "")
	for link, target := range map[string]string{"work/docs": "..", "home/work": "../disk", "home/all": "."} {
		if err := os.Symlink(target, w.Path(link)); err != nil {
			t.Fatal(err)
		}
	}
	return w, dir
}

func refusedLink(kind, link, target string) string {
	return fmt.Sprintf(`granted %s %s: %q is a symbolic link to %q, below the project: if that is intended, add %q itself to the plugin's key fs in bulkhead.toml, or replace the link by a directory`, kind, link, link, target, target)
}

func TestProposalShowsResolvedPaths(t *testing.T) {
	w, dir := linkedWorkspace(t)
	p, err := install.Propose(w.Options(), install.Addition{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range p.Plugin.Items {
		if item.Kind == review.Folder || item.Kind == review.Repository {
			got = append(got, strings.ReplaceAll(item.Words+" | "+item.Caution+" | "+item.NotGiven, w.Dir, "$W"))
		}
	}
	want := []string{
		"read everything in ${project}/docs (here $W/work/docs → $W, holds the whole home directory) | this is everything that you have | " +
			strings.ReplaceAll(refusedLink("directory", w.Path("work/docs"), w.Dir), w.Dir, "$W"),
		"read, change and delete everything in ${home}/work (here $W/home/work → $W/disk, outside the project) | it is the same directory in every project | ",
		"read everything in ${home}/all (here $W/home/all → $W/home, the whole home directory) | this is everything that you have | " +
			"granted directory $W/home/all" + aliasRefusal + "fs in bulkhead.toml",
		"read everything in ${project} (here $W/work) |  | ",
		"read the whole history of the git repository ${home}/all (here $W/home/all → $W/home, the whole home directory) | this is every repository that you have | " +
			"granted repository $W/home/all" + aliasRefusal + "git in bulkhead.toml",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if table := p.Table; strings.Contains(table, "docs") || strings.Contains(table, "all") || !strings.Contains(table, "${home}/work") {
		t.Errorf("consent grants\n%s", table)
	}
}

func TestPolicyAndToolsShowResolvedPaths(t *testing.T) {
	w, dir := linkedWorkspace(t)
	w.Config(t, fmt.Sprintf("[[plugins]]\npath = %q\n", dir))
	found, err := explain.Grants(w.Options(), explain.Question{})
	if err != nil {
		t.Fatal(err)
	}
	policy := found.Plugins[0].Policy
	var got []string
	for _, g := range slices.Concat(policy.Folders, policy.Repositories) {
		got = append(got, strings.ReplaceAll(fmt.Sprintf("%s: %s, %s; %s", g.What, g.Resolved, g.Breadth, g.Refused), w.Dir, "$W"))
	}
	want := []string{
		"$W/work/docs: $W, holds the whole home directory; " + strings.ReplaceAll(refusedLink("directory", w.Path("work/docs"), w.Dir), w.Dir, "$W"),
		"$W/home/work: $W/disk, outside the project; ",
		"$W/home/all: $W/home, the whole home directory; granted directory $W/home/all" + aliasRefusal + "fs in bulkhead.toml",
		"$W/work: $W/work, in the project; ",
		"$W/state/bulkhead/notes: , ; ",
		"$W/home/all: $W/home, the whole home directory; granted repository $W/home/all" + aliasRefusal + "git in bulkhead.toml",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	h, err := host.Open(w.Options())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	got = nil
	for _, g := range h.Plugins()[0].Grants {
		got = append(got, strings.ReplaceAll(fmt.Sprintf("%s: %s, %s; %s", g.Path, g.Resolved, g.Breadth, g.Refused), w.Dir, "$W"))
	}
	if diff := cmp.Diff(slices.Delete(want, 4, 5), got); diff != "" {
		t.Error(diff)
	}
}
