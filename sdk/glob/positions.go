package glob

import (
	"iter"
	"math/bits"
)

// maxName is the maximum length of a name that can match, in bytes. File systems limit names to 255 bytes or 255 UTF-16
// units.
const maxName = len(positions{})*64 - 1

// positions is a set of indexes in a name.
type positions [12]uint64

func positionsOf(at int) positions {
	var p positions
	p.add(at)
	return p
}

// positionsFrom returns the set of all positions from first to last.
func positionsFrom(first, last int) positions {
	var p positions
	for i := first / 64; i <= last/64; i++ {
		p[i] = ^uint64(0)
	}
	p[first/64] &= ^uint64(0) << (first % 64)
	p[last/64] &= ^uint64(0) >> (63 - last%64)
	return p
}

func (p *positions) add(at int) { p[at/64] |= 1 << (at % 64) }

func (p *positions) has(at int) bool { return p[at/64]>>(at%64)&1 != 0 }

func (p positions) union(other positions) positions {
	for i := range p {
		p[i] |= other[i]
	}
	return p
}

func (p positions) without(other positions) positions {
	for i := range p {
		p[i] &^= other[i]
	}
	return p
}

// all returns the positions in the set up to last, in order.
func (p positions) all(last int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range p[:last/64+1] {
			for ; word != 0; word &= word - 1 {
				if !yield(i*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}
