package engine

import (
	"encoding/binary"
	"slices"
)

// kernelMemory is the memory of the Extism kernel in one instance, by which a module and its host exchange data. It is separate from
// linear memory, but counts towards the same limit. Its addresses have 64 bits and begin at kernelBase. It is empty at the beginning
// of each call.
//
// As in the original kernel, addresses outside the used part read as zero, writes to them are ignored, and a module can access a
// block by an address in another one.
type kernelMemory struct {
	instance *instance
	memory   *linearMemory     // nil until it is needed
	sizes    map[uint64]uint64 // sizes of the blocks in use by address
	free     []span            // unused parts below top, in order, not adjacent
	top      uint64            // end of the used part; 0: no block was allocated
}

// span is a part of the kernel's memory.
type span struct{ start, size uint64 }

const (
	kernelBase  = 1 << 10 // address of the first block: 0 means none
	kernelAlign = 16
	// blockCost is the memory that the host uses to manage a block, in bytes.
	blockCost = 64
	// maxFree bounds the number of unused parts that can be allocated again. Further ones stay unused until the end of the call.
	maxFree = 1024
)

// alloc returns the address of a new block; 0 if size is 0. It aborts the call if the block exceeds the memory limit, because no plugin
// development kit of Extism checks whether an allocation failed.
func (k *kernelMemory) alloc(c *execution, size uint64) uint64 {
	if size == 0 {
		return 0
	}
	limit := uint64(k.instance.owner.spec.Memory)
	if size > limit {
		c.abort(k.exceeded())
	}
	need := (size + kernelAlign - 1) / kernelAlign * kernelAlign
	k.top = max(k.top, kernelBase)
	address := k.top
	switch {
	case k.memory != nil && k.top+need <= k.memory.size:
		k.top += need
	case k.reuse(c, need, &address):
	case k.grow(c, k.top+need):
		k.top += need
	default:
		c.abort(k.exceeded())
	}
	if k.sizes == nil {
		k.sizes = map[uint64]uint64{}
	}
	k.sizes[address] = size
	c.cover(&c.covered.blocks, len(k.sizes)*blockCost)
	if k.used() > limit {
		c.abort(k.exceeded())
	}
	return address
}

func (k *kernelMemory) exceeded() *Error {
	m := k.instance.owner
	return m.errorf(CodeMemory, nil, "needed more memory than its limit of %d MiB", m.spec.Memory>>20)
}

// used returns the bytes that the instance uses of its memory limit.
func (k *kernelMemory) used() uint64 {
	used := uint64(len(k.sizes))*blockCost + k.instance.memory.size
	if k.memory != nil {
		used += k.memory.size
	}
	return used
}

// reuse takes the first unused part of at least need bytes, and reports whether there is one.
func (k *kernelMemory) reuse(c *execution, need uint64, address *uint64) bool {
	c.charge(len(k.free) * 16)
	i := slices.IndexFunc(k.free, func(s span) bool { return s.size >= need })
	if i < 0 {
		return false
	}
	*address = k.free[i].start
	if k.free[i].size == need {
		k.free = slices.Delete(k.free, i, i+1)
	} else {
		k.free[i] = span{k.free[i].start + need, k.free[i].size - need}
	}
	return true
}

// growthCost is the charge for a byte by which the memory grows, as a number of copied bytes. It is that of memory.grow.
const growthCost = 2

// grow makes the memory at least size bytes large, if the limit allows it. Like memory.grow, it charges for what was granted.
func (k *kernelMemory) grow(c *execution, size uint64) bool {
	if k.memory == nil {
		memory, err := newLinearMemory(uint64(k.instance.owner.spec.Memory), nil)
		if err != nil {
			return false
		}
		memory.take, memory.give = k.instance.take, k.instance.give
		k.memory = memory
	}
	size = (size + pageSize - 1) / pageSize * pageSize
	left := k.memory.limit - min(k.memory.limit, k.used()-k.memory.size)
	if size > left {
		return false
	}
	size = min(max(size, 2*k.memory.size), left/pageSize*pageSize) // doubling keeps the number of system calls small
	old := k.memory.size
	if k.memory.Reallocate(size) == nil {
		return false
	}
	c.charge(growthCost * int(size-old))
	k.instance.memory.reserved = size
	return true
}

// release frees a block. It ignores an address at which no block begins.
func (k *kernelMemory) release(c *execution, address uint64) {
	size, ok := k.sizes[address]
	if !ok {
		return
	}
	delete(k.sizes, address)
	s := span{address, (size + kernelAlign - 1) / kernelAlign * kernelAlign}
	i, _ := slices.BinarySearchFunc(k.free, s.start, func(f span, start uint64) int {
		if f.start < start {
			return -1
		}
		return 1
	})
	if i < len(k.free) && s.start+s.size == k.free[i].start {
		s.size += k.free[i].size
		k.free = slices.Delete(k.free, i, i+1)
	}
	if i > 0 && k.free[i-1].start+k.free[i-1].size == s.start {
		i--
		s = span{k.free[i].start, k.free[i].size + s.size}
		k.free = slices.Delete(k.free, i, i+1)
	}
	c.charge((len(k.free) - i) * 16)
	switch {
	case s.start+s.size == k.top:
		k.top = s.start
	case len(k.free) < maxFree:
		k.free = slices.Insert(k.free, i, s)
	}
}

// length returns the size of a block; 0 if no block begins at the address.
func (k *kernelMemory) length(address uint64) uint64 { return k.sizes[address] }

// view returns size bytes from an address on; nil if they are not in the used part. It is valid until the next call of alloc.
func (k *kernelMemory) view(address, size uint64) []byte {
	if address < kernelBase || address > k.top || size > k.top-address {
		return nil
	}
	return k.memory.space[address : address+size : address+size]
}

// block returns the content of a block; nil if no block begins at the address.
func (k *kernelMemory) block(address uint64) []byte {
	size, ok := k.sizes[address]
	if !ok {
		return nil
	}
	return k.view(address, size)
}

// put returns the address of a new block with data; 0 if data is empty.
func (k *kernelMemory) put(c *execution, data []byte) uint64 {
	address := k.alloc(c, uint64(len(data)))
	if address != 0 {
		c.charge(len(data))
		copyChunked(k.view(address, uint64(len(data))), data)
	}
	return address
}

func (k *kernelMemory) load64(address uint64) uint64 {
	view := k.view(address, 8)
	if view == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(view)
}

func (k *kernelMemory) store64(address, value uint64) {
	if view := k.view(address, 8); view != nil {
		binary.LittleEndian.PutUint64(view, value)
	}
}

// reset removes all blocks and clears the memory.
func (k *kernelMemory) reset() {
	if k.memory != nil && k.memory.size > 0 {
		k.memory.clear(0, k.memory.size)
		k.memory.size = 0
		if !k.memory.setAccessible(0) {
			k.close() // the next call maps it again
		}
	}
	k.sizes, k.free, k.top = nil, nil, 0
	k.instance.memory.reserved = 0
}

// close unmaps the memory.
func (k *kernelMemory) close() {
	if k.memory != nil {
		k.memory.Free()
		k.memory = nil
	}
}
