package install_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
)

const reviewedDir = "state/bulkhead/.reviewed"

// proposed reviews the plugin "first", and writes the config if write is set.
func proposed(t *testing.T, w *admintest.Workspace, repin, write bool) *install.Proposal {
	t.Helper()
	p, err := install.Propose(w.Options(), install.Addition{Dir: "../plugins/first", Repin: repin})
	if err == nil && write {
		err = p.Write(t.Context())
	}
	if err != nil || p.NotKept != "" {
		t.Fatal(err, p.NotKept)
	}
	return p
}

func TestRepinComparesWithReviewedVersion(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", admintest.AskedFor)
	if p := proposed(t, w, false, true); p.Revision != nil {
		t.Errorf("a new plugin is compared: %+v", p.Revision)
	}
	// The config is edited: it grants less than the plugin asks for.
	w.Config(t, strings.Replace(w.Read(t, "work/bulkhead.toml"), `access = "rw"`, `access = "r"`, 1))
	w.Plugin(t, "first", strings.Replace(admintest.AskedFor, `"https://a.example"`, `"https://a.example", "https://b.example"`, 1)+"[limits]\ntime = \"20s\"\n[[tools]]\nname = \"first_new\"\ndescription = \"x\"\naccess = \"write\"\n")
	p := proposed(t, w, true, false)
	if p.Revision == nil || p.Revision.Unknown != "" {
		t.Fatalf("there is no comparison: %+v", p.Revision)
	}
	var changes []string
	for _, c := range p.Revision.Changes {
		changes = append(changes, fmt.Sprint(c.Key, " ", c.More))
	}
	if diff := cmp.Diff([]string{"capabilities.http true", "limits.time false", "tools.first_new true"}, changes); diff != "" || !p.Revision.More {
		t.Error(diff)
	}
	if p.Revision.Old != "first 1.0.0 (as it was reviewed)" {
		t.Errorf("old: %s", p.Revision.Old)
	}
	// The second web server is requested, and not granted.
	want := []string{
		" tool: first_read read", " tool: first_write write", "added tool: first_new write",
		" directory: " + w.Path("work") + " r", " directory: " + w.Path("state/bulkhead/first") + " rw", " web server: https://a.example",
		"removed limit: time 30s", "added limit: time 20s",
	}
	var grants []string
	for _, l := range p.Revision.Grants {
		grants = append(grants, l.Change+" "+l.Kind+": "+l.What)
	}
	if diff := cmp.Diff(want, grants); diff != "" {
		t.Error(diff)
	}
	if len(p.Revision.Before.Tools) != 2 || len(p.Revision.After.Tools) != 3 {
		t.Errorf("tools before: %v; after: %v", p.Revision.Before.Tools, p.Revision.After.Tools)
	}
	// The accepted version is the one with which the next is compared.
	proposed(t, w, true, true)
	w.Plugin(t, "first", admintest.AskedFor)
	if p := proposed(t, w, true, false); len(p.Revision.Changes) != 3 || !strings.HasPrefix(p.Revision.Changes[0].Words, "no longer asks") {
		t.Errorf("compared with the second version: %+v", p.Revision.Difference)
	}
}

func TestRepinSaysWhyThereIsNoComparison(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, w *admintest.Workspace)
		want    string
	}{
		"it is not pinned":   {func(t *testing.T, w *admintest.Workspace) { w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\n") }, "did not pin"},
		"it has not changed": {func(t *testing.T, w *admintest.Workspace) { w.Plugin(t, "first", "") }, "pins this version already"},
		"it was reviewed elsewhere": {func(t *testing.T, w *admintest.Workspace) {
			if err := os.RemoveAll(w.Path(reviewedDir)); err != nil {
				t.Fatal(err)
			}
		}, "not reviewed on this machine"},
		"the kept one was changed": {func(t *testing.T, w *admintest.Workspace) {
			w.Write(t, filepath.Join(reviewedDir, onlyReviewed(t, w)), "manifest = 1\n")
		}, "does not have the digest that is its name"},
	} {
		t.Run(name, func(t *testing.T) {
			w := admintest.New(t)
			w.Plugin(t, "first", "")
			proposed(t, w, false, true)
			w.Plugin(t, "first", "[limits]\ntime = \"20s\"\n")
			c.prepare(t, w)
			if p := proposed(t, w, true, false); p.Revision == nil || !strings.Contains(p.Revision.Unknown, c.want) || p.Revision.Difference != nil {
				t.Errorf("got %+v, want %q", p.Revision, c.want)
			}
		})
	}
}

// onlyReviewed returns the name of the only manifest that is kept.
func onlyReviewed(t *testing.T, w *admintest.Workspace) string {
	t.Helper()
	entries, err := os.ReadDir(w.Path(reviewedDir))
	if err != nil || len(entries) != 1 {
		t.Fatalf("got %v, %v; want one manifest", entries, err)
	}
	return entries[0].Name()
}

func TestTrustKeepsPinnedManifests(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	w.Plugin(t, "second", "")
	digest := userfile.Digest([]byte(w.Read(t, "plugins/first/plugin.toml")))
	w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\nsha256 = \""+digest+"\"\n[[plugins]]\npath = \"../plugins/second\"\n")
	if p := trustIn(t, w, ""); p.NotKept != nil {
		t.Fatal(p.NotKept)
	}
	name := onlyReviewed(t, w)
	info, err := os.Stat(w.Path(filepath.Join(reviewedDir, name)))
	if name != digest+".toml" || err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("got %s, %v, %v", name, info.Mode(), err)
	}
	if got, want := w.Read(t, filepath.Join(reviewedDir, name)), w.Read(t, "plugins/first/plugin.toml"); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

func TestKeptManifestsAreBounded(t *testing.T) {
	w := admintest.New(t)
	const most = 200
	for i := range most + 5 {
		content := fmt.Sprint(i)
		path := filepath.Join(reviewedDir, userfile.Digest([]byte(content))+".toml")
		w.Write(t, path, content)
		old := time.Unix(int64(i), 0)
		if err := os.Chtimes(w.Path(path), old, old); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"state", "state/bulkhead", reviewedDir} {
		if err := os.Chmod(w.Path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.Plugin(t, "first", "")
	proposed(t, w, false, true)
	entries, err := os.ReadDir(w.Path(reviewedDir))
	if err != nil || len(entries) != most {
		t.Errorf("%d manifests are kept, want %d (%v)", len(entries), most, err)
	}
	for i, want := range map[int]bool{5: false, 6: true, most: true} {
		if _, err := os.Stat(w.Path(filepath.Join(reviewedDir, userfile.Digest([]byte(fmt.Sprint(i)))+".toml"))); (err == nil) != want {
			t.Errorf("manifest %d is kept: %v, want %v", i, err == nil, want)
		}
	}
}

// A directory that others can write is not used, and the plugin is added nevertheless.
func TestUnsafeDirectoryOfReviewedManifestsIsNotUsed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	w := admintest.New(t)
	w.Write(t, filepath.Join(reviewedDir, "x"), "")
	if err := os.Chmod(w.Path(reviewedDir), 0o777); err != nil {
		t.Fatal(err)
	}
	w.Plugin(t, "first", "")
	p, err := install.Propose(w.Options(), install.Addition{Dir: "../plugins/first"})
	if err == nil {
		err = p.Write(t.Context())
	}
	if err != nil || !strings.Contains(p.NotKept, reviewedDir) {
		t.Errorf("got %v, not kept because %q", err, p.NotKept)
	}
}
