package audit

import (
	"slices"
	"strings"
	"sync"
)

// MaxDistinct bounds the distinct operations that a Trail records. It applies separately to denied and to other
// operations, so that a flood of one kind cannot hide the other.
const MaxDistinct = 32

// Trail collects the host operations of one call for its Record, and counts equal ones. The zero value is ready to use; a
// nil Trail discards operations. A Trail is safe for concurrent use.
type Trail struct {
	mu      sync.Mutex
	all     []Operation
	index   map[Operation]int // from an operation without its count to its index in all
	denied  int               // number of denied operations in all
	leftOut int64
}

// Add counts an operation, and reports whether it is new and recorded. The caller writes a line of kind refused only
// for new denied operations, so that a call causes at most MaxDistinct such lines.
func (t *Trail) Add(o Operation) (first bool) {
	if t == nil {
		return false
	}
	count := max(o.Count, 1)
	o = Operation{Op: truncate(o.Op, maxWord), Target: truncate(o.Target, maxTarget), Outcome: o.Outcome, Code: truncate(o.Code, maxWord)}
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

// Operations returns the distinct operations in the order in which they were first added, and the number of
// operations that were left out.
func (t *Trail) Operations() (all []Operation, leftOut int64) {
	if t == nil {
		return nil, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.all), t.leftOut
}

// truncate returns the first limit+1 bytes of s, so that encode still reports the field as truncated. The result is a
// copy, so that the memory of s can be freed.
func truncate(s string, limit int) string {
	if len(s) <= limit+1 {
		return s
	}
	return strings.Clone(s[:limit+1])
}
