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

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// wazero stores the listed entries of an open directory until the module has read past them, and does not report how
// many it stores. A module could thus exhaust the host's memory by opening many directories. So all names from one
// Readdir (a portion) share one string, and a weak pointer to it tells whether the portion is still in use. The sizes
// of the portions in use are added up and bounded by maxListed.

const (
	// maxListed bounds the memory of the listings of a tree, in bytes.
	maxListed = 8 << 20
	// entrySize is the memory of an entry without its name, in a slice of which half may be unused.
	entrySize = 2 * int64(unsafe.Sizeof(sys.Dirent{}))
)

// portion contains the entries that one Readdir returns.
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

// listings are the portions that may still be reachable.
type listings struct {
	mu       sync.Mutex
	portions []keptPortion
	size     int64
	since    int64 // bytes listed since the last garbage collection
}

type keptPortion struct {
	names weak.Pointer[byte]
	size  int64
}

// keep adds a portion. It fails with errListings if the portions then exceed maxListed.
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
		// Rate limit for collections: listing half of maxListed takes longer than a collection.
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

// reset removes all portions. No directory may be open.
func (l *listings) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.portions, l.size, l.since = nil, 0, 0
}

// drop removes portions that are no longer reachable.
func (l *listings) drop() {
	l.portions = slices.DeleteFunc(l.portions, func(k keptPortion) bool {
		unused := k.names.Value() == nil
		if unused {
			l.size -= k.size
		}
		return unused
	})
}
