package engine

import (
	"context"

	"github.com/tetratelabs/wazero/api"
)

// snapshot is the state of the first instance after _initialize and one bulkhead/describe. For derive instances, it is
// the state of the first one after _initialize and one derivation of empty content; if this derivation fails, the state
// after _initialize. All instances of the module are restored to the same snapshot, so no state of a call survives, unless
// Spec.Reused is set.
type snapshot struct {
	memory  []byte
	globals []uint64 // values of the mutable globals, in the order of code.Program.Globals
	sources sources  // sources of a derive instance
}

// capture takes a snapshot of an instance. ctx is that of the call that needs the snapshot. The error is that of Credit.Take.
func (i *instance) capture(ctx context.Context) (*snapshot, error) {
	// The credit for the snapshot is never returned. It counts twice, as the Go heap grows to twice of what is in use.
	if err := i.owner.takeCredit(ctx, 2*i.memory.size); err != nil {
		return nil, err
	}
	s := &snapshot{memory: cloneChunked(i.memory.space[:i.memory.size]), sources: i.sources}
	for _, g := range i.globals {
		s.globals = append(s.globals, g.Get())
	}
	return s, nil
}

// restore sets the instance to the state of a snapshot, and reports success. It calls busy before work that takes longer
// than copying the pages that a small call wrote.
func (i *instance) restore(s *snapshot, busy func()) bool {
	size := uint64(len(s.memory))
	// Growing populates pages, which may write to them, so it precedes the copy and the record of written pages.
	if i.memory.size < size && !i.resize(size) {
		return false
	}
	ok, missed := i.memory.restore(s.memory, busy)
	if missed {
		i.owner.spec.Log.Error("the kernel's record of written pages was incomplete: memory is compared from now on", "plugin", i.owner.spec.Name)
	}
	if !ok {
		return false
	}
	if i.memory.size > size && !i.resize(size) { // memory.restore has cleared the pages that now become inaccessible
		return false
	}
	for n, g := range i.globals {
		g.(api.MutableGlobal).Set(s.globals[n])
	}
	i.sources = s.sources
	return true
}

// resize sets the size of linear memory. wazero can only grow memory, but accepts a buffer of any size from Reallocate.
// resize fails if the memory already has the maximum that its module declares.
func (i *instance) resize(size uint64) bool {
	i.memory.forced = size
	defer func() { i.memory.forced = 0 }()
	_, ok := i.module.Memory().Grow(1)
	return ok && i.memory.size == size
}
