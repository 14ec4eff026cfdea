package objects_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// For loose and for packed objects, FindCommit returns the same commit as git log, with the same abbreviation.
func TestFindCommitAgreesWithGit(t *testing.T) {
	testenv.NotShort(t, "starts git many times")
	for seed := range int64(2) {
		r := gittest.History(t, 300, seed)
		for _, layout := range []string{"loose", "packed by go-git", "packed by git"} {
			switch layout {
			case "packed by go-git":
				r.Pack(false)
			case "packed by git":
				gittest.Git(t, r.Dir, "gc", "-q", "--aggressive")
			}
			for group := range 17 {
				text := fmt.Sprintf("group-%d.", group)
				want := gittest.Git(t, r.Dir, "log", "-1", "--format=%h", "-F", "--grep="+text)
				got, err := gittest.Granted(r.Dir).FindCommit(t.Context(), abi.GitSearch{Repo: r.Dir, Text: text})
				if err != nil || got.Hash != want || want == "" {
					t.Errorf("seed %d, %s, group %d: got %q, %v; git says %q", seed, layout, group, got.Hash, err, want)
				}
			}
		}
	}
}

// Among commits with equal dates, commits of the first parent come first, as in git log.
func TestFindCommitOrdersEqualDates(t *testing.T) {
	r := gittest.New(t, t.TempDir())
	tree := r.Tree()
	root := r.Commit("root\n", 1, tree)
	var sides []plumbing.Hash
	for i := range 5 {
		sides = append(sides, r.Commit(fmt.Sprintf("findme %d\n", i), 7, tree, root))
	}
	for i := range sides {
		parents := append(append([]plumbing.Hash{}, sides[i:]...), sides[:i]...)
		r.Branch("main", r.Commit("merge\n", 7, tree, parents...))
		got, err := gittest.Granted(r.Dir).FindCommit(t.Context(), abi.GitSearch{Repo: r.Dir, Text: "findme"})
		if want := sides[i].String()[:7]; err != nil || got.Hash != want {
			t.Errorf("got %q, %v; want %q", got.Hash, err, want)
		}
		if want := gittest.Git(t, r.Dir, "log", "-1", "--format=%h", "--grep=findme"); got.Hash != want {
			t.Errorf("got %q; git says %q", got.Hash, want)
		}
	}
}

// Abbreviations have the same length as in git, for many objects and for long common prefixes.
func TestAbbreviationAgreesWithGit(t *testing.T) {
	r := gittest.New(t, t.TempDir())
	tree := r.Tree()
	var head plumbing.Hash
	for i := range 40 {
		parents := []plumbing.Hash{head}
		if i == 0 {
			parents = nil
		}
		head = r.Commit(fmt.Sprintf("c%02d.\n", i), int64(i), tree, parents...)
	}
	r.Branch("main", head)
	// Create files with names of loose objects, so that their hashes share a long prefix with those of the commits.
	for i, h := range strings.Fields(gittest.Git(t, r.Dir, "log", "--format=%H")) {
		other := h[:8+i%20] + flip(h[8+i%20:9+i%20]) + h[9+i%20:]
		gittest.Write(t, filepath.Join(r.Dot, "objects", other[:2], other[2:]), "")
	}
	for i := range 40 {
		text := fmt.Sprintf("c%02d.", i)
		want := gittest.Git(t, r.Dir, "log", "-1", "--format=%h", "-F", "--grep="+text)
		got, err := gittest.Granted(r.Dir).FindCommit(t.Context(), abi.GitSearch{Repo: r.Dir, Text: text})
		if err != nil || got.Hash != want || len(got.Hash) < 9 {
			t.Errorf("%s: got %q, %v; git says %q", text, got.Hash, err, want)
		}
	}
}

// FindCommit searches a large pack index by bisection. It must find the commit at any position, and distinguish it from its neighbours.
// The length of the abbreviation grows with the number of objects.
func TestFindCommitInLargeIndexes(t *testing.T) {
	const many = 20_000
	var data []byte
	var h plumbing.Hash
	for i := 0; h[4]&15 < 1 || h[4]&15 > 14; i++ { // until a hash that differs from h by one differs in the tenth digit only
		data = fmt.Appendf(nil, "tree %s\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nfindme %d\n", plumbing.ZeroHash, i)
		h = plumbing.ComputeHash(plumbing.CommitObject, data)
	}
	real := gittest.Packed{Hash: h, Bytes: gittest.EntryBytes(plumbing.CommitObject, len(data), nil, data)}
	junk := func(i uint32) gittest.Packed { // returns an object whose hash begins with the first byte of the commit's hash, and sorts by i
		name := plumbing.Hash{h[0]}
		binary.BigEndian.PutUint32(name[1:], i)
		return gittest.Packed{Hash: name, Bytes: []byte{0}}
	}
	middle := binary.BigEndian.Uint32(h[1:5])
	for _, c := range []struct {
		below, above int
		near         bool // whether the neighbours differ in the tenth character only
		want         int
	}{
		{0, 0, false, 7}, {0, 999, false, 7}, {999, 0, false, 7}, {499, 500, false, 7}, {500, 499, false, 7}, {501, 498, false, 7},
		{250, 749, false, 7}, {750, 249, false, 7}, {100, 99, false, 7}, {many, many, false, 8}, {500, 0, true, 10}, {0, 500, true, 10},
	} {
		t.Run(fmt.Sprintf("%d before, %d after, near: %v", c.below, c.above, c.near), func(t *testing.T) {
			step := uint32(1 << 16) // this step changes the fifth character
			if c.near {
				step = 1
			}
			entries := []gittest.Packed{real}
			for i := range uint32(c.below) {
				entries = append(entries, junk(spread(middle, c.below, step, i, false)))
			}
			for i := range uint32(c.above) {
				entries = append(entries, junk(spread(middle, c.above, step, i, true)))
			}
			r := gittest.New(t, t.TempDir())
			r.Branch("main", h)
			r.HandPack(entries...)
			got, err := gittest.Granted(r.Dir).FindCommit(t.Context(), abi.GitSearch{Repo: r.Dir, Text: "findme"})
			if err != nil || got.Hash != h.String()[:c.want] {
				t.Errorf("got %q, %v; want %q", got.Hash, err, h.String()[:c.want])
			}
		})
	}
}

// spread returns the i-th of n numbers above or below middle, at the distance step. If the numbers do not fit, the distance is smaller.
func spread(middle uint32, n int, step, i uint32, above bool) uint32 {
	room := middle
	if above {
		room = 1<<32 - 1 - middle
	}
	step = min(step, room/uint32(n+1))
	if above {
		return middle + (i+1)*step
	}
	return middle - (i+1)*step
}

// hookedContext calls hook in the n-th call of its method Err.
type hookedContext struct {
	context.Context
	left int
	hook func()
}

func (c *hookedContext) Err() error {
	if c.left--; c.left == 0 {
		c.hook()
	}
	return c.Context.Err()
}

func TestFindCommitSurvivesConcurrentRepack(t *testing.T) {
	r := gittest.History(t, 100, 1)
	ctx := &hookedContext{t.Context(), 40, func() { r.Pack(false) }}
	got, err := gittest.Granted(r.Dir).FindCommit(ctx, abi.GitSearch{Repo: r.Dir, Text: "commit 0 "})
	if err != nil || got.Hash == "" || ctx.left > 0 {
		t.Errorf("got %q, %v, with %d calls left before the repack", got.Hash, err, ctx.left)
	}
}

func flip(digit string) string {
	if digit == "0" {
		return "1"
	}
	return "0"
}

// The git program packs the files, with deltas that it computes, and the branches (git gc).
func TestReadFileAgreesWithGit(t *testing.T) {
	testenv.NotShort(t, "starts git many times")
	r := gittest.New(t, t.TempDir())
	var parents []plumbing.Hash
	text := strings.Repeat("a line of some length that stays as it is\n", 400)
	for i := range 60 {
		text = strings.Replace(text, "stays as it is", fmt.Sprintf("was changed by %d", i), 3)
		entries := []object.TreeEntry{gittest.File("big.txt", r.Blob(text))}
		for j := range 20 {
			entries = append(entries, gittest.File(fmt.Sprintf("f%02d", j), r.Blob(fmt.Sprint(i, j))))
		}
		h := r.Commit(fmt.Sprint(i), int64(i), r.Tree(entries...), parents...)
		parents = []plumbing.Hash{h}
		r.Branch(fmt.Sprintf("b%02d", i), h)
	}
	r.SetHead("b59")
	gittest.Git(t, r.Dir, "gc", "-q", "--aggressive")
	for i := range 60 {
		branch := fmt.Sprintf("b%02d", i)
		for _, path := range []string{"big.txt", "f07"} {
			want := gittest.Git(t, r.Dir, "show", branch+":"+path)
			got, err := gittest.Granted(r.Dir).ReadFile(t.Context(), abi.GitFile{Repo: r.Dir, Branch: branch, Path: path})
			if err != nil || strings.TrimSpace(string(got.Content)) != want {
				t.Fatalf("%s:%s: %d bytes, %v; git says %d bytes", branch, path, len(got.Content), err, len(want))
			}
		}
	}
}

func TestContextEndsHistoryWalk(t *testing.T) {
	r := gittest.History(t, 100, 1)
	ctx := gittest.EndAfter(t.Context(), 20)
	_, err := gittest.Granted(r.Dir).FindCommit(ctx, abi.GitSearch{Repo: r.Dir, Text: "not there"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkFindCommit(b *testing.B) {
	for _, layout := range []string{"loose", "packed"} {
		r := gittest.History(b, 2000, 1)
		if layout == "packed" {
			r.Pack(false)
		}
		ops := gittest.Granted(r.Dir)
		b.Run(layout+"/2000 commits", func(b *testing.B) {
			for b.Loop() {
				if got, err := ops.FindCommit(b.Context(), abi.GitSearch{Repo: r.Dir, Text: "not there"}); err != nil || got.Hash != "" {
					b.Fatal(got, err)
				}
			}
		})
	}
}

func BenchmarkReadFile(b *testing.B) {
	r := gittest.Sample(b, b.TempDir())
	r.Pack(false)
	ops := gittest.Granted(r.Dir)
	for b.Loop() {
		if got, err := ops.ReadFile(b.Context(), abi.GitFile{Repo: r.Dir, Branch: "main", Path: "dir/deep.txt"}); err != nil || !got.Found {
			b.Fatal(got, err)
		}
	}
}
