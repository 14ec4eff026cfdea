package objects

import (
	"container/heap"
	"fmt"
	"math"

	"github.com/go-git/go-git/v5/plumbing"
)

// Range selects the commits that are reachable from From and not from Exclude.
type Range struct {
	From, Exclude []plumbing.Hash
	// Since and Until are the times of committers in seconds since 1970 between which commits are selected; 0 means no bound. As in git, the
	// ancestors of a commit before Since are not visited.
	Since, Until uint64
}

// StoredCommit is a commit with its hash and the content of its object.
type StoredCommit struct {
	Hash plumbing.Hash
	Data []byte
}

// slop is the number of excluded commits that are visited after the last one that was not known to be excluded, as in git. They find
// commits that are excluded, although their dates are later than those of their descendants.
const slop = 5

// Commits returns at most limit commits of a range, in the order of git log, and the number of all. If it has found limit commits, it may
// stop and return a smaller number, which then exceeds limit. With a limit of 0 it counts only.
func (s *Store) Commits(r Range, limit int) ([]StoredCommit, int, error) {
	boundary, err := s.readShallow()
	if err != nil {
		return nil, 0, err
	}
	w := rangeWalk{store: s, shallow: boundary, r: r, nodes: map[plumbing.Hash]*rangeNode{}}
	for _, h := range r.Exclude {
		if err := w.push(h, true); err != nil {
			return nil, 0, err
		}
	}
	for _, h := range r.From {
		if err := w.push(h, false); err != nil {
			return nil, 0, err
		}
	}
	stop := math.MaxInt
	if len(r.Exclude) == 0 && limit > 0 {
		stop = limit + 1 // without excluded commits, a commit that was found remains selected
	}
	if err := w.run(stop); err != nil {
		return nil, 0, err
	}
	var found []StoredCommit
	count := 0
	for _, n := range w.found {
		if n.excluded {
			continue
		}
		if count++; count <= limit {
			data, err := s.Get(n.hash, plumbing.CommitObject, maxMeta)
			if err != nil {
				return nil, 0, err
			}
			found = append(found, StoredCommit{n.hash, data})
		}
	}
	return found, count, nil
}

// rangeWalk visits commits by date, the newest first, and propagates the mark excluded to their ancestors.
type rangeWalk struct {
	store   *Store
	shallow map[plumbing.Hash]struct{}
	r       Range
	nodes   map[plumbing.Hash]*rangeNode
	queue   commitQueue
	pending int // number of queued commits that are not excluded
	found   []*rangeNode
}

type rangeNode struct {
	queuedCommit
	excluded bool
	visited  bool
}

// push marks a commit, and queues it unless it was queued before. If it is now excluded and was visited before, so are its ancestors.
func (w *rangeWalk) push(h plumbing.Hash, excluded bool) error {
	if n, ok := w.nodes[h]; ok {
		w.exclude(n, excluded)
		return nil
	}
	if len(w.nodes) == maxCommits {
		return fmt.Errorf("the history has more than %d commits, and older ones are not searched", maxCommits)
	}
	c, err := w.store.commitOf(h, w.shallow)
	if err != nil {
		return err
	}
	n := &rangeNode{queuedCommit: queuedCommit{hash: h, date: c.date, order: len(w.nodes), parents: c.parents}, excluded: excluded}
	w.nodes[h] = n
	if !excluded {
		w.pending++
	}
	heap.Push(&w.queue, &n.queuedCommit)
	return nil
}

// exclude marks a known commit, and those of its ancestors that were visited.
func (w *rangeWalk) exclude(n *rangeNode, excluded bool) {
	if !excluded {
		return
	}
	for stack := []*rangeNode{n}; len(stack) > 0; {
		n, stack = stack[len(stack)-1], stack[:len(stack)-1]
		if n.excluded {
			continue
		}
		n.excluded = true
		if !n.visited {
			w.pending--
			continue
		}
		for _, h := range n.parents {
			if parent, ok := w.nodes[h]; ok {
				stack = append(stack, parent)
			}
		}
	}
}

func (w *rangeWalk) run(stop int) error {
	oldest, left := uint64(math.MaxUint64), slop
	for len(w.queue) > 0 && len(w.found) < stop {
		n := w.nodes[heap.Pop(&w.queue).(*queuedCommit).hash]
		n.visited = true
		if !n.excluded {
			w.pending--
		}
		switch {
		case n.excluded && w.pending > 0, n.excluded && len(w.found) > 0 && n.date >= oldest:
			left = slop
		case n.excluded:
			if left--; left < 0 {
				return nil
			}
		case n.date < w.r.Since:
			continue
		case w.r.Until == 0 || n.date <= w.r.Until:
			w.found = append(w.found, n)
			oldest = min(oldest, n.date)
		}
		for _, parent := range n.parents {
			if err := w.push(parent, n.excluded); err != nil {
				return err
			}
		}
	}
	return nil
}
