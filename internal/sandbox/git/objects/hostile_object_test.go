package objects_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestHostileLooseObjectsFail(t *testing.T) {
	testenv.NotShort(t, "makes and reads large repositories")
	zeros := func(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }
	cases := []struct {
		rule    string
		content io.Reader // uncompressed content; nil for data that is not zlib
		why     string
	}{
		{"not compressed", nil, "zlib"},
		{"empty", strings.NewReader(""), "truncated"},
		{"without a header", strings.NewReader(strings.Repeat("x", 100)), "no header"},
		{"a header without end", io.MultiReader(strings.NewReader("commit 1"), &oneReader{1 << 28}), "no header"},
		{"of an unknown type", strings.NewReader("secret 1\x00x"), "invalid object type"},
		{"of a negative size", strings.NewReader("commit -1\x00x"), "no size"},
		{"of a size beyond numbers", strings.NewReader("commit 99999999999999999999\x00x"), "no size"},
		{"that claims a terabyte", strings.NewReader("commit 1099511627776\x00x"), "more than the limit"},
		{"that claims more than it has", strings.NewReader("commit 1000\x00x"), "the stated 1000 bytes"},
		{"that inflates beyond its claim", io.MultiReader(strings.NewReader("commit 10\x00"), zeros(1<<28)), "the stated 10 bytes"},
		{"with the content of another", strings.NewReader("commit 1\x00x"), "does not match its hash"},
		{"of another type", strings.NewReader("blob 1\x00x"), "is a blob, not a commit"},
	}
	for _, c := range cases {
		t.Run("an object "+c.rule, func(t *testing.T) {
			r := gittest.New(t, t.TempDir())
			h := plumbing.NewHash(strings.Repeat("ab", 20))
			r.Branch("main", h)
			var out bytes.Buffer
			if c.content == nil {
				out.WriteString("plain text, not compressed")
			} else {
				z := zlib.NewWriter(&out)
				_, err := io.Copy(z, c.content)
				gittest.Must(t, err)
				gittest.Must(t, z.Close())
			}
			gittest.Write(t, filepath.Join(r.Dot, "objects", "ab", strings.Repeat("ab", 19)), out.String())
			gittest.FailsWith(t, c.why, gittest.Find(r))
		})
	}
	t.Run("an object that does not exist", func(t *testing.T) {
		r := gittest.New(t, t.TempDir())
		r.Branch("main", plumbing.NewHash(strings.Repeat("ab", 20)))
		gittest.FailsWith(t, "missing from the repository", gittest.Find(r))
	})
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type oneReader struct{ left int }

func (o *oneReader) Read(p []byte) (int, error) {
	if o.left <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), o.left)
	copy(p[:n], bytes.Repeat([]byte("1"), n))
	o.left -= n
	return n, nil
}

func TestHostileCommitsAndTreesFail(t *testing.T) {
	zero := strings.Repeat("0", 40)
	cases := []struct{ rule, commit, why string }{
		{"an empty commit", "", "has no tree"},
		{"the commit has no tree", "parent " + zero + "\n\nm", "has no tree"},
		{"a commit whose tree is no hash", "tree x\n\nm", "is not a hash"},
		{"a commit whose parent is no hash", "tree " + zero + "\nparent x\n\nm", "is not a hash"},
		{"a commit of too many parents", "tree " + zero + "\n" + manyParents(300) + "\nm", "more than 256 parents"},
		{"a commit whose parent is not there", "tree " + zero + "\nparent " + strings.Repeat("cd", 20) + "\n\nm", "missing"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.New(t, t.TempDir())
			r.Branch("main", r.Raw(plumbing.CommitObject, []byte(c.commit)))
			gittest.FailsWith(t, c.why, gittest.Find(r))
		})
	}
	trees := []struct{ rule, tree, why string }{
		{"a truncated tree", "100644 notes.txt\x00abc", "truncated"},
		{"a tree without modes", "notes.txt\x00" + strings.Repeat("x", 20), "truncated"},
		{"a tree without names", strings.Repeat("x", 1000), "truncated"},
		{"a file that does not exist", "100644 notes.txt\x00" + strings.Repeat("x", 20), "missing"},
	}
	for _, c := range trees {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.New(t, t.TempDir())
			r.Branch("main", r.Commit("m", 1, r.Raw(plumbing.TreeObject, []byte(c.tree))))
			gittest.FailsWith(t, c.why, gittest.Read(r))
		})
	}
}

func manyParents(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "parent %040x\n", i)
	}
	return s.String()
}

// A search ends after 200,000 commits. Reading so many takes seconds on an idle machine.
func TestHistorySearchIsBounded(t *testing.T) {
	testenv.All(t, "makes 200,001 commits")
	r := gittest.New(t, t.TempDir())
	tree := r.Tree()
	var entries []gittest.Packed
	var out bytes.Buffer
	z, err := zlib.NewWriterLevel(nil, zlib.NoCompression)
	gittest.Must(t, err)
	parent := ""
	var head plumbing.Hash
	for i := range 200_001 {
		data := fmt.Appendf(nil, "tree %s\n%sauthor A <a> %d +0000\ncommitter A <a> %d +0000\n\nm\n", tree, parent, i, i)
		head = plumbing.ComputeHash(plumbing.CommitObject, data)
		parent = "parent " + head.String() + "\n"
		out.Reset()
		out.Write([]byte{0x90 | byte(len(data)&15), byte(len(data) >> 4)}) // header of a commit of less than 2,048 bytes
		z.Reset(&out)
		_, err := z.Write(data)
		gittest.Must(t, err)
		gittest.Must(t, z.Close())
		entries = append(entries, gittest.Packed{Hash: head, Bytes: bytes.Clone(out.Bytes())})
	}
	r.Branch("main", head)
	r.HandPack(entries...)
	start := time.Now()
	_, err = gittest.Granted(r.Dir).FindCommit(t.Context(), abi.GitSearch{Repo: r.Dir, Text: "not there"})
	if gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), "newest 200000 commits") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 2*time.Minute {
		t.Errorf("took %v", took)
	} else {
		t.Logf("took %v", took)
	}
}

func TestHostileTreesFail(t *testing.T) {
	testenv.NotShort(t, "makes and reads large repositories")
	hash := strings.Repeat("x", 20)
	cases := []struct {
		rule string
		tree func(r *gittest.Repo) []byte
		why  string
	}{
		{"a name with a slash", func(*gittest.Repo) []byte { return []byte("100644 a/b\x00" + hash) }, "the name"},
		{"two dots", func(*gittest.Repo) []byte { return []byte("100644 ..\x00" + hash) }, "the name"},
		{"a name without letters", func(*gittest.Repo) []byte { return []byte("100644 \x00" + hash) }, "the name"},
		{"names out of order", func(*gittest.Repo) []byte { return []byte("100644 b\x00" + hash + "100644 a\x00" + hash) }, "not in order"},
		{"a name twice", func(*gittest.Repo) []byte { return []byte("100644 a\x00" + hash + "100644 a\x00" + hash) }, "not in order"},
		{"an invalid mode", func(*gittest.Repo) []byte { return []byte("777777777 a\x00" + hash) }, "the mode"},
		{"directories without end", func(r *gittest.Repo) []byte {
			h := r.Raw(2, []byte("100644 a\x00"+hash))
			for range 3000 {
				h = r.Raw(2, []byte("40000 d\x00"+string(h[:])))
			}
			return []byte("40000 d\x00" + string(h[:]))
		}, "a path is longer than 4096 bytes"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.New(t, t.TempDir())
			r.Branch("main", r.Commit("m", 1, r.Raw(2, c.tree(r))))
			gittest.FailsWith(t, c.why, func(ctx context.Context) error {
				_, err := gittest.Granted(r.Dir).Status(ctx, abi.GitStatusQuery{Repo: r.Dir})
				return err
			})
		})
	}
}

// Twelve nested trees describe 10^12 files, since each contains the next tree ten times. The walk must end after a million files, or when
// its context ends.
func TestRecursiveTreeIsBounded(t *testing.T) {
	testenv.NotShort(t, "makes and reads large repositories")
	r := gittest.New(t, t.TempDir())
	h := r.Blob("x")
	level := []byte("100644 a\x00" + string(h[:]))
	for range 12 {
		h = r.Raw(2, level)
		level = nil
		for i := range 10 {
			level = append(level, fmt.Sprintf("40000 %c\x00%s", 'a'+i, h[:])...)
		}
	}
	r.Branch("main", r.Commit("m", 1, r.Raw(2, level)))
	r.Pack(false)
	start := time.Now()
	_, err := gittest.Granted(r.Dir).Status(t.Context(), abi.GitStatusQuery{Repo: r.Dir})
	if gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), "more than 1000000 files") || time.Since(start) > 2*gittest.Timeout {
		t.Errorf("got %v after %v", err, time.Since(start))
	}
	_, err = gittest.Granted(r.Dir).Status(gittest.EndAfter(t.Context(), 1000), abi.GitStatusQuery{Repo: r.Dir})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
