package git

import (
	"bytes"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	maxCommits = 200_000 // that a search looks at
	maxParents = 256     // of one commit
	maxShallow = 4 << 20 // bytes of the list of a shallow clone's ends
)

// commit is the part of a commit that is of use here.
type commit struct {
	tree    plumbing.Hash
	parents []plumbing.Hash
	date    uint64 // of the committer, in seconds since 1970; 0 if there is none, as for git
	message []byte
}

// parseCommit reads a commit object: header lines, an empty line, the message.
func parseCommit(data []byte) (commit, error) {
	var c commit
	head, message, _ := bytes.Cut(data, []byte("\n\n"))
	c.message = message
	lines := bytes.Split(head, []byte("\n"))
	hex, ok := bytes.CutPrefix(lines[0], []byte("tree "))
	if !ok {
		return c, errors.New("damaged: a commit without a tree")
	}
	var err error
	if c.tree, err = parseHash(string(hex)); err != nil {
		return c, err
	}
	for _, line := range lines[1:] {
		if hex, ok := bytes.CutPrefix(line, []byte("parent ")); ok {
			parent, err := parseHash(string(hex))
			if err != nil {
				return c, err
			}
			if slices.Contains(c.parents, parent) {
				continue
			}
			if len(c.parents) == maxParents {
				return c, fmt.Errorf("a commit with over %d parents", maxParents)
			}
			c.parents = append(c.parents, parent)
		}
		if bytes.HasPrefix(line, []byte("committer ")) {
			c.date = parseDate(line)
			break
		}
	}
	return c, nil
}

// parseDate reads the seconds from `committer NAME <MAIL> SECONDS ZONE`.
func parseDate(line []byte) uint64 {
	rest := bytes.TrimLeft(line[bytes.LastIndexByte(line, '>')+1:], " ")
	digits, _, _ := bytes.Cut(rest, []byte(" "))
	seconds, err := strconv.ParseUint(string(digits), 10, 63)
	if err != nil {
		return 0
	}
	return seconds
}

// search walks from a commit to those before it, in the order of git log, and gives the abbreviated
// hash of the first whose message has the text; empty if none has.
func (r *repository) search(ctx context.Context, head plumbing.Hash, text string) (string, error) {
	ends, err := r.shallow()
	if err != nil {
		return "", err
	}
	s, err := r.openStore(ctx)
	if err != nil {
		return "", err
	}
	defer s.close()
	w := walk{store: s, ends: ends, text: []byte(text), seen: map[plumbing.Hash]struct{}{}}
	if err := w.add(head); err != nil {
		return "", err
	}
	for len(w.queue) > 0 {
		next := heap.Pop(&w.queue).(*visit)
		if next.matches {
			return s.abbreviate(next.hash)
		}
		for _, parent := range next.parents {
			if err := w.add(parent); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}

// walk goes through history, newest first.
type walk struct {
	store *store
	ends  map[plumbing.Hash]struct{} // commits whose parents a shallow clone does not have
	text  []byte
	seen  map[plumbing.Hash]struct{}
	queue visits
}

// add reads a commit that was not yet seen and puts it in the queue.
func (w *walk) add(h plumbing.Hash) error {
	if _, ok := w.seen[h]; ok {
		return nil
	}
	if len(w.seen) == maxCommits {
		return fmt.Errorf("not among the newest %d commits, and no more are looked at", maxCommits)
	}
	if err := w.store.spend(0); err != nil {
		return err
	}
	data, err := w.store.get(h, plumbing.CommitObject, maxMeta)
	if err != nil {
		return err
	}
	c, err := parseCommit(data)
	if err != nil {
		return fmt.Errorf("commit %s: %w", h, err)
	}
	if _, ok := w.ends[h]; ok {
		c.parents = nil
	}
	v := &visit{hash: h, date: c.date, order: len(w.seen), parents: c.parents, matches: bytes.Contains(c.message, w.text)}
	w.seen[h] = struct{}{}
	heap.Push(&w.queue, v)
	return nil
}

// visit is a commit that waits for its turn.
type visit struct {
	hash    plumbing.Hash
	date    uint64
	order   int // in which it was seen: among equal dates the first comes first
	parents []plumbing.Hash
	matches bool
}

// visits is a heap, the newest commit on top.
type visits []*visit

func (v visits) Len() int { return len(v) }
func (v visits) Less(i, j int) bool {
	if v[i].date != v[j].date {
		return v[i].date > v[j].date
	}
	return v[i].order < v[j].order
}
func (v visits) Swap(i, j int) { v[i], v[j] = v[j], v[i] }
func (v *visits) Push(x any)   { *v = append(*v, x.(*visit)) }
func (v *visits) Pop() any {
	last := len(*v) - 1
	x := (*v)[last]
	(*v)[last] = nil
	*v = (*v)[:last]
	return x
}

// shallow reads where the history of a shallow clone ends.
func (r *repository) shallow() (map[plumbing.Hash]struct{}, error) {
	data, err := r.root.read(r.common+"/shallow", maxShallow)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ends := map[plumbing.Hash]struct{}{}
	for line := range bytes.Lines(data) {
		h, err := parseHash(string(bytes.TrimSpace(line)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.root.abs(r.common+"/shallow"), err)
		}
		ends[h] = struct{}{}
	}
	return ends, nil
}
