package gittest

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// History creates a repository of n commits with branches and merges. Some commits have equal dates, and some have older dates than their
// parents.
func History(tb testing.TB, n int, seed int64) *Repo {
	tb.Helper()
	r := New(tb, tb.TempDir())
	random := rand.New(rand.NewSource(seed))
	tree := r.Tree(File("f", r.Blob("content\n")))
	var all []plumbing.Hash
	for i := range n {
		var parents []plumbing.Hash
		for range 1 + random.Intn(2) {
			if len(all) > 0 {
				p := all[max(0, len(all)-1-random.Intn(4))]
				if len(parents) == 0 || parents[0] != p {
					parents = append(parents, p)
				}
			}
		}
		date := int64(1_700_000_000 + 60*(i/3-random.Intn(5)))
		all = append(all, r.Commit(fmt.Sprintf("commit %d group-%d.\n\nmore\n", i, i%17), date, tree, parents...))
	}
	r.Branch("main", all[len(all)-1])
	return r
}
