package audit

import (
	"strings"
	"sync"
)

// MaxDistinct bounds the different operations that a Trail keeps: so many that were denied, and so many
// others. A flood of the one kind cannot hide the other.
const MaxDistinct = 32

// Trail collects what one call asks of the host, for its Record. Equal operations are counted. The zero
// value is empty and ready, a nil Trail collects nothing, and it is safe for concurrent use.
type Trail struct {
	mu      sync.Mutex
	all     []Operation
	index   map[Operation]int // operation without its count: its place in all
	denied  int               // of all
	leftOut int64
}

// Add counts an operation, and reports whether it is one that the trail had not seen and now keeps. A refused
// one gets a line of its own then: so one call has at most MaxDistinct of them, however often it tries.
func (t *Trail) Add(o Operation) (first bool) {
	if t == nil {
		return false
	}
	count := max(o.Count, 1)
	o = Operation{Op: cut(o.Op, maxWord), Target: cut(o.Target, maxTarget), Outcome: o.Outcome, Code: o.Code}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i, seen := t.index[o]; seen {
		t.all[i].Count += count
		return false
	}
	share := len(t.all) - t.denied
	if o.Outcome == Denied {
		share = t.denied
	}
	if share >= MaxDistinct {
		t.leftOut += count
		return false
	}
	if t.index == nil {
		t.index = map[Operation]int{}
	}
	if o.Outcome == Denied {
		t.denied++
	}
	t.index[o] = len(t.all)
	o.Count = count
	t.all = append(t.all, o)
	return true
}

// Operations lists what was added, in the order of first sight, and how many operations more there were.
func (t *Trail) Operations() (all []Operation, leftOut int64) {
	if t == nil {
		return nil, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Operation(nil), t.all...), t.leftOut
}

// cut bounds what is kept of a text, and keeps more than is written, so that the line still says that
// something was cut. The copy lets go of the rest.
func cut(text string, limit int) string {
	if len(text) <= limit+1 {
		return text
	}
	return strings.Clone(text[:limit+1])
}
