package derived

// entry is a cached result.
type entry struct {
	data []byte
	// again is set if only the older file has the record. A hit then sends the record to the host again, because the
	// older file will be replaced.
	again bool
}

// perEntry is charged for each entry in addition to its data: key, map slot and headers, in bytes.
const perEntry = 160

// generations is a map of bounded size. Entries are added to the current generation. A current generation that is full
// becomes the previous generation, and the entries of the former previous generation are dropped. A hit moves an entry
// from the previous to the current generation.
type generations struct {
	max               int // maximum size of both generations in bytes
	current, previous map[Key]entry
	size              int // size of current in bytes
}

func cost(e entry) int { return len(e.data) + perEntry }

func (g *generations) put(k Key, e entry) {
	if cost(e) > g.max/2 {
		return
	}
	if old, ok := g.current[k]; ok {
		g.size -= cost(old)
	}
	if g.current == nil || g.size+cost(e) > g.max/2 {
		g.previous, g.current, g.size = g.current, map[Key]entry{}, 0
	}
	g.current[k] = e
	g.size += cost(e)
}

// peek returns an entry.
func (g *generations) peek(k Key) (entry, bool) {
	e, ok := g.current[k]
	if !ok {
		e, ok = g.previous[k]
	}
	return e, ok
}

// get is like peek, and moves an entry of the previous generation to the current one.
func (g *generations) get(k Key) (entry, bool) {
	e, ok := g.current[k]
	if ok {
		return e, true
	}
	if e, ok = g.previous[k]; ok {
		g.put(k, e)
	}
	return e, ok
}
