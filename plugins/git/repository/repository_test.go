package repository_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/git/repository"
)

// fake is a host with the objects of one repository. Methods that it lacks panic.
type fake struct {
	repository.Host
	refs    map[string]string
	objects map[string]repository.Object
}

func (f fake) State(string) (repository.State, error) {
	return repository.State{Found: true, TopLevel: "/r"}, nil
}

func (f fake) Resolve(_, name string) (string, error) { return f.refs[name], nil }

func (f fake) Objects(_ string, take func(repository.Object) error, hashes ...string) error {
	for _, hash := range hashes {
		o := f.objects[hash]
		o.Hash = hash
		if err := take(o); err != nil {
			return err
		}
	}
	return nil
}

// sample has two commits, a merge of them, an annotated tag of the merge, and a tree with a file, a directory and a submodule.
func sample(t *testing.T) *repository.Repository {
	t.Helper()
	object := func(kind, content string) repository.Object {
		return repository.Object{Type: kind, Content: []byte(content)}
	}
	commit := func(parents ...string) repository.Object {
		text := "tree " + id('t') + "\n"
		for _, p := range parents {
			text += "parent " + p + "\n"
		}
		return object("commit", text+"author A <a@b> 1 +0000\n\nx\n")
	}
	entry := func(mode, name, hash string) string {
		raw, err := hex.DecodeString(hash)
		if err != nil {
			t.Fatal(err)
		}
		return mode + " " + name + "\x00" + string(raw)
	}
	r, err := repository.Open(fake{
		refs: map[string]string{"HEAD": id('3'), "main": id('3'), "v1": id('4')},
		objects: map[string]repository.Object{
			id('1'): commit(), id('2'): commit(), id('3'): commit(id('1'), id('2')), id('4'): object("tag", "object "+id('3')+"\ntype commit\n"),
			id('t'): object("tree", entry("100644", "a", id('b'))+entry("40000", "d", id('e'))+entry("160000", "sub", id('f'))+entry("100644", "gone", id('9'))),
			id('e'): object("tree", entry("100644", "x", id('b'))), id('b'): object("blob", "text"),
		},
	}, "/r/.git")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// id returns the hash of an object of the sample.
func id(c byte) string {
	if c == 't' {
		c = 'c'
	}
	return strings.Repeat(string(c), 40)
}

func TestRevisionsNameObjects(t *testing.T) {
	r := sample(t)
	for revision, want := range map[string]string{
		"main": id('3'), "@": id('3'), "main~0": id('3'), "main~": id('1'), "main^": id('1'), "main^2": id('2'), "main^^{tree}": id('t'), "v1": id('4'),
		"v1^{}": id('3'), "v1^{commit}": id('3'), "v1~1": id('1'), "v1^0": id('3'), "main^{object}": id('3'), "main:a": id('b'), "main:d/x": id('b'), "main:": id('t'),
	} {
		if got, err := r.Resolve(revision); err != nil || got.Hash != want {
			t.Errorf("%s: got %s, %v, want %s", revision, got.Hash, err, want)
		}
	}
}

func TestRevisionsThatNameNothingAreRefused(t *testing.T) {
	r := sample(t)
	for revision, want := range map[string]string{
		"nope": "Ref 'nope' did not resolve to an object", "": "did not resolve", "^main": "must start with an object name", ":a": "are not supported", "main@{1}": "are not supported",
		"main^3": "not enough parent commits", "main~2": "not enough parent commits", "main^{tree": "Missing closing brace", "main^{blob}": "Could not accommodate requested object type 'blob', got commit",
		"main~1x": "Invalid token: 'x'", "main~100001": "exceeds 100000", "main~99999999999999999999": "exceeds 100000", "main:b": "Blob or Tree named 'b' not found",
		"main:a/x": "Blob or Tree named 'x' not found", "main:sub": "a submodule",
	} {
		_, err := r.Resolve(revision)
		if refused := (*repository.RequestError)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", revision, err, want)
		}
	}
	_, err := r.Resolve("main:gone")
	if refused := (*repository.RequestError)(nil); err == nil || errors.As(err, &refused) {
		t.Errorf("an object that is missing from the repository: got %v", err)
	}
}

func TestCommitsAreParsed(t *testing.T) {
	c, err := repository.ParseCommit("h", []byte("tree t\nparent p\nparent q\nauthor A. B <a@b> 1700000000 -0130\ncommitter x\nauthor no\n\nfirst \xe2\x82x\n\nauthor y"))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{c.Hash, c.Tree, strings.Join(c.Parents, " "), c.Name, c.Email, c.Authored.Format("2006-01-02 15:04:05 -0700"), c.Message}
	if diff := cmp.Diff([]string{"h", "t", "p q", "A. B", "a@b", "2023-11-14 20:43:20 -0130", "first \uFFFDx\n\nauthor y"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, damaged := range []string{"", "tree t\n\nx", "author A <a> 1 +0000\n\nx", "tree t\nauthor A\n\nx", "tree t\nauthor A <a>\n\n", "tree t\nauthor A >a< 1 +0000\n\n",
		"tree t\nauthor A <a> x +0000\n\n", "tree t\nauthor A <a> 1 zone\n\n", "tree t\nauthor A <a> 999999999999999 +0000\n\n"} {
		if _, err := repository.ParseCommit("h", []byte(damaged)); err == nil || !strings.Contains(err.Error(), "the commit h is damaged") {
			t.Errorf("%q: got %v", damaged, err)
		}
	}
}

func TestTruncatedTreesAreRefused(t *testing.T) {
	whole := "100644 a\x00" + strings.Repeat("x", 20)
	entries, err := repository.ParseTree([]byte(whole + "40000 d\x00" + strings.Repeat("y", 20)))
	if err != nil || len(entries) != 2 || entries[0].IsTree() || !entries[1].IsTree() || entries[1].Name != "d" {
		t.Errorf("got %+v, %v", entries, err)
	}
	for n := 1; n < len(whole); n++ {
		if entries, err := repository.ParseTree([]byte(whole[:n])); err == nil {
			t.Errorf("%q: got %+v", whole[:n], entries)
		}
	}
}

func TestInvalidUTF8IsReplaced(t *testing.T) {
	for raw, want := range map[string]string{"a\xffb": "a\uFFFDb", "\xe2\x82": "\uFFFD", "\xe2\x82\xe2\x82\xac": "\uFFFD€", "\xf0\x9f\x98x": "\uFFFDx", "\xed\xa0\x80": "\uFFFD\uFFFD\uFFFD", "ü": "ü"} {
		if got := repository.ToUTF8([]byte(raw)); got != want {
			t.Errorf("%q: got %q, want %q", raw, got, want)
		}
	}
}

func TestHashesAreThoseOfGit(t *testing.T) {
	if got := repository.HashBlob([]byte("what is up, doc?")); got != "bd9dbf5aae1a3862dd1526723246b20206e5fc37" { // the example of the book Pro Git
		t.Errorf("got %s", got)
	}
}

func TestOpenDoesNotSearchParents(t *testing.T) {
	if _, err := repository.Open(fake{}, "/r/below"); err == nil || err.Error() != "/r/below" {
		t.Errorf("got %v", err)
	}
}
