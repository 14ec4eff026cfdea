package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// deployed creates a directory with files of every kind, and returns its path.
func deployed(t *testing.T) string {
	t.Helper()
	root := filepath.Join(testenv.Tree(t, map[string]string{
		"root/a.md":           "a",
		"root/s/SKILL.md":     "skill",
		"root/s/ref/n.md":     "n",
		"root/s/.git/config":  "git",
		"root/empty/":         "",
		"root/link.md":        "-> a.md",
		"root/linked":         "-> s",
		"root/outside":        "-> ../elsewhere",
		"root/dangling.md":    "-> none",
		"root/large.md":       strings.Repeat("x", 100_000),
		"root/Upper.md":       "U",
		"root/.agentpack.x":   "x",
		"elsewhere/secret.md": "secret",
	}), "root")
	if err := os.WriteFile(filepath.Join(root, "closed.md"), nil, 0); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestSumsAnswerLikeTheDisk(t *testing.T) {
	root := deployed(t)
	foreign := filepath.Join(testenv.Tree(t, map[string]string{"root/ä.md": "ä", "root/a.md": "a"}), "root")
	sums := &disk.Sums{}
	for _, dir := range []string{root, foreign, filepath.Join(root, "none"), filepath.Join(root, "a.md"), filepath.Join(root, "dangling.md")} {
		sums.Scan(dir, 10, 10)
	}
	describe := func(sum *string, err error) string {
		if sum == nil {
			return fmt.Sprint(err)
		}
		return *sum
	}
	for _, name := range []string{
		"a.md", "s/SKILL.md", "s/ref/n.md", "s/.git/config", "s/.git/none", "empty", "empty/x", "link.md", "linked/SKILL.md", "linked/none",
		"outside/secret.md", "dangling.md", "dangling.md/x", "large.md", "upper.md", "UPPER.md", "closed.md", "none", "none/x/y", "a.md/x", "a.md/x/y", "ä.md",
		"A.MD", "./a.md", "s/../a.md", "",
	} {
		for _, dir := range []string{root, foreign} {
			path := dir + "/" + name
			want, got := describe(disk.SumPlace(path)), describe(sums.Place(path))
			if got != want {
				t.Errorf("Place(%s): got %s, want %s", path, got, want)
			}
			wantSum, wantErr := disk.SumFile(path)
			gotSum, gotErr := sums.File(path)
			if gotSum != wantSum || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
				t.Errorf("File(%s): got %s, %v, want %s, %v", path, gotSum, gotErr, wantSum, wantErr)
			}
		}
	}
	for _, dir := range []string{root, foreign, filepath.Join(root, "s")} {
		want, wantErr := disk.ListFiles(dir)
		got, err := sums.List(dir)
		if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("List(%s): %v (-want +got)\n%s", dir, err, diff)
		}
	}
}

func TestSumsAreOfTheTimeOfTheScan(t *testing.T) {
	root := deployed(t)
	sums := &disk.Sums{}
	sums.Scan(root, 10, 10)
	want := digest.Hex([]byte("a"))
	if err := errors.Join(os.Remove(filepath.Join(root, "a.md")), os.Mkdir(filepath.Join(root, "late"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if got, err := sums.File(filepath.Join(root, "a.md")); got != want || err != nil {
		t.Errorf("the file was read again: got %s, %v", got, err)
	}
	var none *disk.Sums
	if got, err := none.File(filepath.Join(root, "a.md")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("File of Sums without a scan: got %s, %v", got, err)
	}
}

func TestIsPlainExcludesSymbolicLinks(t *testing.T) {
	root := deployed(t)
	sums := &disk.Sums{}
	sums.Scan(root, 10, 10)
	sums.Scan(filepath.Join(root, "dangling.md"), 10, 10)
	for name, want := range map[string]bool{
		"a.md": true, "s/ref/n.md": true, "s/none": true, "none": true, "none/x": true, "large.md": true, "closed.md": true,
		"link.md": false, "linked/SKILL.md": false, "outside/secret.md": false, "outside/none": false, "dangling.md": false, "dangling.md/x": false,
		"A.md": false, "upper.md": false, "S/none": false, "s/.git/none": false, "linked/../a.md": false, "no-ascii-ä": false,
	} {
		if got := sums.IsPlain(root + "/" + name); got != want {
			t.Errorf("%s: got %t", name, got)
		}
	}
	if sums.IsPlain(filepath.Dir(root) + "/elsewhere/secret.md") {
		t.Error("IsPlain returns true for a path outside of all trees")
	}
}

func TestScanGivesUpInLargeDirectories(t *testing.T) {
	files := map[string]string{}
	for i := range 1100 {
		files[fmt.Sprintf("root/%04d.md", i)] = "x"
	}
	root := filepath.Join(testenv.Tree(t, files), "root")
	sums := &disk.Sums{}
	sums.Scan(root, 1, 1)
	if !sums.IsPlain(root+"/0000.md") || sums.IsPlain(root+"/1099.md") || sums.IsPlain(root+"/none") {
		t.Error("the scan does not end early, or reports a file after its end as absent")
	}
	if got, err := sums.List(root); len(got) != 1100 || err != nil {
		t.Errorf("List: got %d files, %v", len(got), err)
	}
}

func TestChildrenAreThoseReadCompletely(t *testing.T) {
	dir := testenv.Tree(t, map[string]string{
		"file.md": "f", "dir/b.md": "b", "dir/a/c.md": "c", "dir/.git/x": "x", "dir/link.md": "-> b.md", "dir/empty.md": "", "linked": "-> dir",
		"large/a.md": strings.Repeat("x", 60), "large/b.md": strings.Repeat("x", 60), "unwanted/u.md": "u",
		"deep/" + strings.Repeat("d/", 40) + "x.md": "x", ".git/config": "x",
	})
	names := map[string]bool{"file.md": true, "dir": true, "linked": true, "large": true, "deep": true, ".git": true, "none": true}
	got := disk.Children(dir, names, 100)
	want := map[string]*disk.Child{
		"file.md": {Content: []byte("f")},
		"dir": {IsDir: true, Entries: []disk.Entry{
			{Path: "a/c.md", Content: []byte("c")}, {Path: "b.md", Content: []byte("b")}, {Path: "empty.md", Content: []byte{}}, {Path: "link.md", Link: true},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result of Children (-want +got)\n%s", diff)
	}
}
