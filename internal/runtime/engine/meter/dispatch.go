package meter

import "github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"

// The Go compiler translates each jump, forward or backward, to a branch to a loop that contains the whole function. That loop begins
// with a dispatch:
//
//	loop
//	  block block block
//	    local.get $pc
//	    br_table 0 1 2
//	  end ... end ... end ...
//	  i32.const 2   ;; a jump to the code after the third end
//	  local.set $pc
//	  br $loop
//
// A forward jump can branch directly to the end of the target's block, because only the dispatch would run in between. The local is set
// as before. This saves the dispatch. It also saves a check, because the branch no longer leads backward.

// dispatch describes the dispatch at the beginning of a loop.
type dispatch struct {
	local  uint32 // index of the local that selects the label
	labels uint32 // index in scan.labels of the number of labels, which the labels follow
	blocks int    // number of blocks around the br_table and inside the loop; 0: the loop has no dispatch
}

// recent describes the instructions that precede the current one. An unknown offset is -1.
type recent struct {
	value    uint32 // operand of the last i32.const
	constEnd int    // offset after the last i32.const

	assigned  uint32 // index of the local that the last local.set after an i32.const sets to value
	assignEnd int    // offset after that local.set

	read              uint32 // index of the local that the last local.get reads
	readStart, readTo int    // offsets of that local.get and of the instruction after it
}

var nothingRecent = recent{constEnd: -1, assignEnd: -1, readStart: -1, readTo: -1}

// note records the current instruction of c.
func (r *recent) note(c *wasm.Code) {
	switch c.Op {
	case wasm.OpI32Const:
		encoded := c.Body[c.Start+1 : c.End()]
		value, n := wasm.ReadU32(encoded)
		// The encoding is signed. A negative number has either more bytes than an unsigned one, or the sign bit in its last byte.
		if isNegative := n == 0 || value > 1<<31-1 || n < 5 && encoded[n-1]&0x40 != 0; !isNegative {
			r.value, r.constEnd = value, c.End()
		}
	case wasm.OpLocalSet:
		if c.Start == r.constEnd {
			r.assigned, r.assignEnd = c.A, c.End()
		}
	case wasm.OpLocalGet:
		r.read, r.readStart, r.readTo = c.A, c.Start, c.End()
	}
}

// noteDispatch records the current instruction, which is a br_table, if it is the dispatch of a loop.
func (s *scan) noteDispatch(labels uint32) {
	const size = 2 // bytes of the opcode and the type of a block or loop that has no parameters and results
	if s.recent.readTo != s.code.Start {
		return
	}
	at, innermost := s.recent.readStart, len(s.frames)-1
	for i := innermost; i > 0; i-- {
		f := &s.frames[i]
		if at -= size; int(s.steps[f.step].at) != at || f.params > 0 || f.results > 0 {
			return
		}
		switch f.kind {
		case stepLoop:
			f.dispatch = dispatch{local: s.recent.read, labels: labels, blocks: innermost - i}
			return
		case stepOpen:
		default:
			return
		}
	}
}

// thread returns the depth of the label that a br reaches through a dispatch. depth is the depth that the br states. The result is false
// if there is no dispatch, or if the block of the reached label has ended.
func (s *scan) thread(depth uint32) (uint32, bool) {
	innermost := len(s.frames) - 1
	if s.recent.assignEnd != s.code.Start || int64(depth) > int64(innermost) {
		return 0, false
	}
	loop := innermost - int(depth)
	d := s.frames[loop].dispatch
	if d.blocks == 0 || d.local != s.recent.assigned {
		return 0, false
	}
	labels := s.labels[d.labels+1:][:s.labels[d.labels]]
	label := labels[min(s.recent.value, uint32(len(labels)-1))]
	if int64(label) >= int64(d.blocks) {
		return 0, false // the label is the loop itself, or outside of it
	}
	block := loop + d.blocks - int(label)
	// The steps that open the blocks of the dispatch directly follow the step that opens the loop. If the numbers of the steps do not match,
	// the block has ended, and a later block has taken its place in frames.
	if block > innermost || s.frames[block].step != s.frames[loop].step+block-loop {
		return 0, false
	}
	return uint32(innermost - block), true
}
