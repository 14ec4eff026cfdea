package objects

import (
	"bytes"
	"container/heap"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
)

const (
	maxCommits = 200_000 // most commits that one search visits
	maxShallow = 4 << 20 // most bytes of the file "shallow"
)

// FindCommit returns the abbreviated hash of the first commit, in the order of git log from head, whose message contains text. It returns an
// empty string if there is none.
func (s *Store) FindCommit(head plumbing.Hash, text string) (string, error) {
	boundary, err := s.readShallow()
	if err != nil {
		return "", err
	}
	w := historyWalk{store: s, shallow: boundary, text: []byte(text), seen: map[plumbing.Hash]struct{}{}}
	if err := w.push(head); err != nil {
		return "", err
	}
	for len(w.queue) > 0 {
		next := heap.Pop(&w.queue).(*queuedCommit)
		if next.matches {
			return s.Abbreviate(next.hash)
		}
		for _, parent := range next.parents {
			if err := w.push(parent); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}

// historyWalk visits commits as git log does by default: the commit with the newest committer date first, and among equal dates the commit
// that was seen first.
type historyWalk struct {
	store   *Store
	shallow map[plumbing.Hash]struct{} // the commits whose parents a shallow clone lacks
	text    []byte
	seen    map[plumbing.Hash]struct{}
	queue   commitQueue
}

// push queues the commit h unless it was queued before.
func (w *historyWalk) push(h plumbing.Hash) error {
	if _, ok := w.seen[h]; ok {
		return nil
	}
	if len(w.seen) == maxCommits {
		return fmt.Errorf("not found among the newest %d commits, and older ones are not searched", maxCommits)
	}
	c, err := w.store.commitOf(h, w.shallow)
	if err != nil {
		return err
	}
	q := &queuedCommit{hash: h, date: c.date, order: len(w.seen), parents: c.parents, matches: bytes.Contains(c.message, w.text)}
	w.seen[h] = struct{}{}
	heap.Push(&w.queue, q)
	return nil
}

type queuedCommit struct {
	hash    plumbing.Hash
	date    uint64
	order   int // number of commits that were seen before this one
	parents []plumbing.Hash
	matches bool
}

// commitQueue is a heap with the newest commit on top.
type commitQueue []*queuedCommit

func (q commitQueue) Len() int { return len(q) }
func (q commitQueue) Less(i, j int) bool {
	if q[i].date != q[j].date {
		return q[i].date > q[j].date
	}
	return q[i].order < q[j].order
}
func (q commitQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *commitQueue) Push(x any)   { *q = append(*q, x.(*queuedCommit)) }
func (q *commitQueue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return x
}

// readShallow returns the commits at which the history of a shallow clone is cut off.
func (s *Store) readShallow() (map[plumbing.Hash]struct{}, error) {
	root, name := s.repo.Root, s.repo.Common+"/shallow"
	data, err := root.Read(name, maxShallow)
	if repo.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	commits := map[plumbing.Hash]struct{}{}
	for line := range bytes.Lines(data) {
		h, err := ParseHash(string(bytes.TrimSpace(line)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", root.Abs(name), err)
		}
		commits[h] = struct{}{}
	}
	return commits, nil
}
