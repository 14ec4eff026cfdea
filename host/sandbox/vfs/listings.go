//go:build linux || darwin

package vfs

import (
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"
	"weak"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/beneath"
)

// wazero keeps what was listed of an open directory until the module has read past it, and how much that is
// it does not tell. So the names of a portion share one string, by which the garbage collector tells
// whether any of them is still in use, and their sizes are added up for all directories of a tree.

const (
	// maxListed bounds what the listings of one tree's open directories take, in bytes.
	maxListed = 8 << 20
	// entrySize is what an entry takes besides its name: it may lie in an array of which half is not used.
	entrySize = 2 * int64(unsafe.Sizeof(sys.Dirent{}))
)

// portion is what one Readdir gives.
type portion struct {
	names strings.Builder
	ends  []int
	types []fs.FileMode
}

func (p *portion) add(e beneath.Entry) {
	p.names.WriteString(e.Name)
	p.ends = append(p.ends, p.names.Len())
	p.types = append(p.types, e.Type)
}

func (p *portion) len() int { return len(p.ends) }

func (p *portion) size() int64 { return int64(p.names.Cap()) + int64(len(p.ends))*entrySize }

func (p *portion) dirents() []sys.Dirent {
	names, begin := p.names.String(), 0
	out := make([]sys.Dirent, len(p.ends))
	for i, end := range p.ends {
		out[i] = sys.Dirent{Name: names[begin:end], Type: p.types[i]}
		begin = end
	}
	return out
}

// listings are the portions that may still be in use.
type listings struct {
	mu       sync.Mutex
	portions []keptPortion
	size     int64
	since    int64 // bytes that were listed since the garbage collector was last run
}

type keptPortion struct {
	names weak.Pointer[byte]
	size  int64
}

// keep adds a portion, if there is room for it.
func (l *listings) keep(p *portion, charge func(entries int)) error {
	if p.len() == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	size := p.size()
	if l.size+size > maxListed {
		charge(len(l.portions))
		l.drop()
	}
	if l.size+size > maxListed && l.since >= maxListed/2 {
		// As much was listed meanwhile as takes longer than this.
		runtime.GC()
		l.since = 0
		l.drop()
	}
	if l.size+size > maxListed {
		return errListings
	}
	names := weak.Make(unsafe.StringData(p.names.String()))
	l.portions = append(l.portions, keptPortion{names, size})
	l.size += size
	l.since += size
	return nil
}

// drop forgets what is no longer in use.
func (l *listings) drop() {
	l.portions = slices.DeleteFunc(l.portions, func(k keptPortion) bool {
		unused := k.names.Value() == nil
		if unused {
			l.size -= k.size
		}
		return unused
	})
}
