package engine

import (
	"github.com/tetratelabs/wazero/api"
)

// image is the state of a module's instance before its first call: after _initialize and one
// bulkhead/describe, by which a Go module has set up what it needs for any call. All instances of the
// module are put back to the same image, so that none keeps anything of a call, nor of its own making.
type image struct {
	memory  []byte
	globals []uint64 // of the mutable globals, in the order of code.Program.Globals
}

// snapshot copies the state of an instance.
func (i *instance) snapshot() *image {
	img := &image{memory: clone(i.memory.space[:i.memory.size])}
	for _, g := range i.globals {
		img.globals = append(img.globals, g.Get())
	}
	return img
}

// restore puts an instance into the state of an image. It reports whether that is possible.
func (i *instance) restore(img *image) bool {
	if !i.memory.restore(img.memory) {
		return false
	}
	if i.memory.size != uint64(len(img.memory)) && !i.resize(uint64(len(img.memory))) {
		return false
	}
	for n, g := range i.globals {
		g.(api.MutableGlobal).Set(img.globals[n])
	}
	return true
}

// resize sets the size of linear memory. wazero only knows growing, but takes whatever buffer it is then
// given. It fails for a memory that has all the pages that its module declares as the most.
func (i *instance) resize(size uint64) bool {
	i.memory.forced = size
	defer func() { i.memory.forced = 0 }()
	_, ok := i.module.Memory().Grow(1)
	return ok && i.memory.size == size
}
