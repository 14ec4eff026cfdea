package patch_test

import (
	"bytes"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/git/patch"
	"github.com/bulkhead-mcp/bulkhead/plugins/git/repository"
)

// fake is a host with two versions of a tree. Methods that it lacks panic.
type fake struct{ repository.Host }

func (fake) State(string) (repository.State, error) {
	return repository.State{Found: true, TopLevel: "/r"}, nil
}

const (
	before  = "1111111111111111111111111111111111111111"
	after   = "2222222222222222222222222222222222222222"
	removed = "3333333333333333333333333333333333333333"
)

func (fake) Changes(string, string, string, int) ([]repository.Change, bool, error) {
	file := func(hash string) repository.Version { return repository.Version{Mode: "100644", Hash: hash} }
	return []repository.Change{
		{Path: []byte("changed"), Old: file(before), New: file(after)},
		{Path: []byte("mode"), Old: file(before), New: repository.Version{Mode: "100755", Hash: before}},
		{Path: []byte("new name"), New: file(removed)},
		{Path: []byte("old"), Old: file(removed)},
	}, false, nil
}

func (fake) Objects(_ string, take func(repository.Object) error, hashes ...string) error {
	contents := map[string]string{before: "a\nb\nc\n", after: "a\nB\nc", removed: "same\n"}
	for _, hash := range hashes {
		if err := take(repository.Object{Hash: hash, Type: "blob", Content: []byte(contents[hash])}); err != nil {
			return err
		}
	}
	return nil
}

func (fake) Abbreviate(_ string, hashes ...string) ([]string, error) {
	var short []string
	for _, hash := range hashes {
		short = append(short, hash[:7])
	}
	return short, nil
}

func TestPatchIsThatOfGit(t *testing.T) {
	r, err := repository.Open(fake{}, "/r")
	if err != nil {
		t.Fatal(err)
	}
	p, err := patch.New(r, before, after)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.Write(&out, 1); err != nil {
		t.Fatal(err)
	}
	const want = `diff --git a/changed b/changed
index 1111111..2222222 100644
--- a/changed
+++ b/changed
@@ -1,3 +1,3 @@
 a
-b
-c
+B
+c
\ No newline at end of file
diff --git a/mode b/mode
old mode 100644
new mode 100755
diff --git a/old b/new name
similarity index 100%
rename from old
rename to new name
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestNamesAreQuotedAsByGit(t *testing.T) {
	for name, want := range map[string]string{"a b": "a b", "ü": `"\303\274"`, "a\tb\n": `"a\tb\n"`, `a"b\c`: `"a\"b\\c"`, "\x01\x7f": `"\001\177"`} {
		if got := patch.Quote(name); got != want {
			t.Errorf("%q: got %s, want %s", name, got, want)
		}
	}
}
