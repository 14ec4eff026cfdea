package git_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/go-git/go-git/v5/plumbing"
)

// What a hostile repository may cost, generously.
const (
	hostileTime   = time.Minute // a busy machine is slow; a hang is for ever
	hostileMemory = 400 << 20
)

// survives demands that an operation on a hostile repository ends in time, within memory, and in a
// failure whose text says why.
func survives(t *testing.T, why string, f func(context.Context) error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan error, 1)
	start := time.Now()
	go func() { done <- f(t.Context()) }()
	select {
	case err := <-done:
		if code(err) != abi.HostFailed || !strings.Contains(err.Error(), why) {
			t.Errorf("got %v; want a failure that says %q", err, why)
		}
		if err != nil && (!utf8.ValidString(err.Error()) || len(err.Error()) > 4<<10) {
			t.Errorf("the message is not fit for the wire: %q", err)
		}
	case <-time.After(hostileTime):
		t.Fatalf("still running after %v", time.Since(start))
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > hostileMemory {
		t.Errorf("took %d MB of memory", used>>20)
	}
}

func findIn(r *repo) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := granted(r.dir).FindCommit(ctx, abi.GitSearch{Repo: r.dir, Text: "not there"})
		return err
	}
}

func branchIn(r *repo) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := granted(r.dir).BranchExists(ctx, abi.GitBranch{Repo: r.dir, Branch: "main"})
		return err
	}
}

func readIn(r *repo) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := granted(r.dir).ReadFile(ctx, abi.GitFile{Repo: r.dir, Branch: "main", Path: "notes.txt"})
		return err
	}
}

func TestFilesThatAreNoFiles(t *testing.T) {
	cases := []struct {
		part string // a named pipe
		ask  func(*repo) func(context.Context) error
	}{
		{"HEAD", findIn}, {"refs/heads/main", branchIn}, {"commondir", branchIn}, {"shallow", findIn},
		{"objects/info/alternates", branchIn}, {"objects/pack/pack-0.idx", findIn}, {"", branchIn},
	}
	for _, c := range cases {
		t.Run(".git/"+c.part+" is a named pipe", func(t *testing.T) {
			r := sample(t, t.TempDir())
			write(t, r.dot+"/objects/pack/pack-0.pack", "")
			pipe := filepath.Join(r.dot, c.part)
			must(t, os.RemoveAll(pipe))
			mkdir(t, filepath.Dir(pipe))
			must(t, syscall.Mkfifo(pipe, 0o644))
			survives(t, "not a regular file", c.ask(r))
		})
	}
	t.Run("packed-refs is a named pipe", func(t *testing.T) {
		r := newRepo(t, t.TempDir())
		must(t, syscall.Mkfifo(r.dot+"/packed-refs", 0o644))
		survives(t, "not a regular file", branchIn(r))
	})
}

func TestHostileReferences(t *testing.T) {
	ref := func(r *repo, name, content string) { write(r.tb, filepath.Join(r.dot, name), content) }
	hash := strings.Repeat("ab", 20)
	cases := []struct {
		rule    string
		arrange func(*repo)
		why     string
	}{
		{"a reference to itself", func(r *repo) { ref(r, "refs/heads/main", "ref: refs/heads/main") }, "circle"},
		{"references in a circle", func(r *repo) {
			ref(r, "refs/heads/main", "ref: refs/heads/b")
			ref(r, "refs/heads/b", "ref: refs/heads/main")
		}, "circle"},
		{"a chain of references deeper than git's", func(r *repo) {
			ref(r, "refs/heads/main", "ref: refs/heads/c0")
			for i := range 10 {
				ref(r, fmt.Sprintf("refs/heads/c%d", i), fmt.Sprintf("ref: refs/heads/c%d", i+1))
			}
			ref(r, "refs/heads/c10", hash)
		}, "deeper than 5"},
		{"a reference to a file of the repository", func(r *repo) { ref(r, "refs/heads/main", "ref: config") }, "no valid reference"},
		{"a reference out of the references", func(r *repo) { ref(r, "refs/heads/main", "ref: refs/../config") }, "no valid reference"},
		{"a reference to an absolute path", func(r *repo) { ref(r, "refs/heads/main", "ref: /etc/passwd") }, "no valid reference"},
		{"a reference to nothing", func(r *repo) { ref(r, "refs/heads/main", "ref: \n") }, "refers to nothing"},
		{"a reference that is no hash", func(r *repo) { ref(r, "refs/heads/main", "\xff\xfe"+hash) }, "is not a hash"},
		{"an empty reference", func(r *repo) { ref(r, "refs/heads/main", "") }, "is not a hash"},
		{"an endless reference", func(r *repo) { ref(r, "refs/heads/main", strings.Repeat("a", 1<<20)) }, "over 8192 bytes"},
		{"a SHA-256 repository", func(r *repo) { ref(r, "refs/heads/main", strings.Repeat("ab", 32)+"\n") }, "SHA-256"},
		{"a reftable repository", func(r *repo) { mkdir(r.tb, r.dot+"/reftable") }, "reftable"},
		{"a packed reference that is no hash", func(r *repo) { ref(r, "packed-refs", "# x\n"+hash+"0 refs/heads/main\n") }, "line 2"},
		{"packed references of one endless line", func(r *repo) { ref(r, "packed-refs", strings.Repeat("a", 1<<20)) }, "buffer full"},
		{"packed references of a terabyte", func(r *repo) {
			ref(r, "packed-refs", "")
			must(r.tb, os.Truncate(r.dot+"/packed-refs", 1<<40))
		}, "packed-refs: over"},
		{"a .git file without a pointer", func(r *repo) {
			must(r.tb, os.RemoveAll(r.dot))
			write(r.tb, r.dot, "gitdir:\n")
		}, `not of the form "gitdir: FOLDER"`},
		{"a .git file of two lines", func(r *repo) {
			must(r.tb, os.RemoveAll(r.dot))
			write(r.tb, r.dot, "gitdir: a\nb\n")
		}, `not of the form "gitdir: FOLDER"`},
		{"a .git file that points to itself", func(r *repo) {
			must(r.tb, os.RemoveAll(r.dot))
			write(r.tb, r.dot, "gitdir: .git\n")
		}, "not a git repository"},
		{"a .git file that points to a folder that is gone", func(r *repo) {
			must(r.tb, os.RemoveAll(r.dot))
			write(r.tb, r.dot, "gitdir: gone\n")
		}, "not a git repository"},
		{"an empty commondir", func(r *repo) { ref(r, "commondir", "\n") }, "does not name a folder"},
		{"alternates deeper than git's", func(r *repo) {
			ref(r, "objects/info/alternates", "../../s0\n")
			for i := range 10 {
				write(r.tb, fmt.Sprintf("%s/s%d/info/alternates", r.dir, i), fmt.Sprintf("../s%d\n", i+1))
			}
		}, "nest deeper than 5"},
		{"very many alternates", func(r *repo) {
			for i := range 100 {
				write(r.tb, fmt.Sprintf("%s/s%d/x", r.dir, i), "")
			}
			all := ""
			for i := range 100 {
				all += fmt.Sprintf("../../s%d\n", i)
			}
			ref(r, "objects/info/alternates", all)
		}, "over 16 object folders"},
		{"endless alternates", func(r *repo) { ref(r, "objects/info/alternates", strings.Repeat("x\n", 1<<20)) }, "over 65536 bytes"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := newRepo(t, t.TempDir())
			c.arrange(r)
			survives(t, c.why, branchIn(r))
		})
	}
}

func TestHostileLooseObjects(t *testing.T) {
	zeros := func(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }
	cases := []struct {
		rule    string
		content io.Reader // before zlib; nil: not zlib at all
		why     string
	}{
		{"not compressed", nil, "zlib"},
		{"empty", strings.NewReader(""), "ends too early"},
		{"without a header", strings.NewReader(strings.Repeat("x", 100)), "no header"},
		{"a header without end", io.MultiReader(strings.NewReader("commit 1"), &oneReader{1 << 28}), "no header"},
		{"of an unknown type", strings.NewReader("secret 1\x00x"), "invalid object type"},
		{"of a negative size", strings.NewReader("commit -1\x00x"), "no size"},
		{"of a size beyond numbers", strings.NewReader("commit 99999999999999999999\x00x"), "no size"},
		{"that claims a terabyte", strings.NewReader("commit 1099511627776\x00x"), "over the limit"},
		{"that claims more than it has", strings.NewReader("commit 1000\x00x"), "not the 1000 bytes"},
		{"that inflates beyond its claim", io.MultiReader(strings.NewReader("commit 10\x00"), zeros(1<<28)), "not the 10 bytes"},
		{"with the content of another", strings.NewReader("commit 1\x00x"), "another hash"},
		{"of another type", strings.NewReader("blob 1\x00x"), "a blob where a commit should be"},
	}
	for _, c := range cases {
		t.Run("an object "+c.rule, func(t *testing.T) {
			r := newRepo(t, t.TempDir())
			h := plumbing.NewHash(strings.Repeat("ab", 20))
			r.branch("main", h)
			var out bytes.Buffer
			if c.content == nil {
				out.WriteString("plain text, not compressed")
			} else {
				z := zlib.NewWriter(&out)
				_, err := io.Copy(z, c.content)
				must(t, err)
				must(t, z.Close())
			}
			write(t, filepath.Join(r.dot, "objects", "ab", strings.Repeat("ab", 19)), out.String())
			survives(t, c.why, findIn(r))
		})
	}
	t.Run("an object that is not there", func(t *testing.T) {
		r := newRepo(t, t.TempDir())
		r.branch("main", plumbing.NewHash(strings.Repeat("ab", 20)))
		survives(t, "missing from the repository", findIn(r))
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

func TestHostileCommitsAndTrees(t *testing.T) {
	zero := strings.Repeat("0", 40)
	cases := []struct{ rule, commit, why string }{
		{"an empty commit", "", "without a tree"},
		{"a commit without a tree", "parent " + zero + "\n\nm", "without a tree"},
		{"a commit whose tree is no hash", "tree x\n\nm", "is not a hash"},
		{"a commit whose parent is no hash", "tree " + zero + "\nparent x\n\nm", "is not a hash"},
		{"a commit of too many parents", "tree " + zero + "\n" + manyParents(300) + "\nm", "over 256 parents"},
		{"a commit whose parent is not there", "tree " + zero + "\nparent " + strings.Repeat("cd", 20) + "\n\nm", "missing"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := newRepo(t, t.TempDir())
			r.branch("main", r.raw(plumbing.CommitObject, []byte(c.commit)))
			survives(t, c.why, findIn(r))
		})
	}
	trees := []struct{ rule, tree, why string }{
		{"a tree that is cut short", "100644 notes.txt\x00abc", "cut short"},
		{"a tree without modes", "notes.txt\x00" + strings.Repeat("x", 20), "cut short"},
		{"a tree without names", strings.Repeat("x", 1000), "cut short"},
		{"a file that is not there", "100644 notes.txt\x00" + strings.Repeat("x", 20), "missing"},
	}
	for _, c := range trees {
		t.Run(c.rule, func(t *testing.T) {
			r := newRepo(t, t.TempDir())
			r.branch("main", r.commit("m", 1, r.raw(plumbing.TreeObject, []byte(c.tree))))
			survives(t, c.why, readIn(r))
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

// A search gives up after 200,000 commits, and gets there in seconds on an idle machine.
func TestSearchOfAnEndlessHistoryEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 200,001 commits")
	}
	r := newRepo(t, t.TempDir())
	tree := r.tree()
	var entries []packed
	var out bytes.Buffer
	z, err := zlib.NewWriterLevel(nil, zlib.NoCompression)
	must(t, err)
	parent := ""
	var head plumbing.Hash
	for i := range 200_001 {
		data := fmt.Appendf(nil, "tree %s\n%sauthor A <a> %d +0000\ncommitter A <a> %d +0000\n\nm\n", tree, parent, i, i)
		head = plumbing.ComputeHash(plumbing.CommitObject, data)
		parent = "parent " + head.String() + "\n"
		out.Reset()
		out.Write([]byte{0x90 | byte(len(data)&15), byte(len(data) >> 4)}) // a commit, under 2,048 bytes
		z.Reset(&out)
		_, err := z.Write(data)
		must(t, err)
		must(t, z.Close())
		entries = append(entries, packed{head, bytes.Clone(out.Bytes())})
	}
	r.branch("main", head)
	r.handPack(entries...)
	start := time.Now()
	_, err = granted(r.dir).FindCommit(t.Context(), abi.GitSearch{Repo: r.dir, Text: "not there"})
	if code(err) != abi.HostFailed || !strings.Contains(err.Error(), "newest 200000 commits") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 2*time.Minute {
		t.Errorf("took %v", took)
	} else {
		t.Logf("took %v", took)
	}
}
