package worktree

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
)

// sides are the sides of a conflict, by their stages from 1 to 3. A side that does not exist has the mode 0.
type sides [3]indexEntry

// recordResolved adds the sides of conflicts that are resolved to the extension REUC, as git does, so that git can recreate the conflicts.
func (x *index) recordResolved(unmerged []indexEntry) {
	if len(unmerged) == 0 {
		return
	}
	all := parseUndo(x.undo)
	fresh := map[string]sides{}
	for _, e := range unmerged {
		of := fresh[e.name]
		of[e.stage-1] = e
		fresh[e.name] = of
	}
	maps.Copy(all, fresh)
	x.undo = nil
	for _, name := range slices.Sorted(maps.Keys(all)) {
		x.undo = append(append(x.undo, name...), 0)
		for _, side := range all[name] {
			x.undo = append(strconv.AppendUint(x.undo, uint64(side.mode), 8), 0)
		}
		for _, side := range all[name] {
			if side.mode != 0 {
				x.undo = append(x.undo, side.hash[:]...)
			}
		}
	}
}

// parseUndo parses the content of the extension REUC. What follows a malformed record is dropped.
func parseUndo(data []byte) map[string]sides {
	all := map[string]sides{}
	for len(data) > 0 {
		name, rest, ok := bytes.Cut(data, []byte{0})
		if !ok {
			return all
		}
		var of sides
		for i := range of {
			var text []byte
			if text, rest, ok = bytes.Cut(rest, []byte{0}); !ok {
				return all
			}
			mode, err := strconv.ParseUint(string(text), 8, 32)
			if err != nil {
				return all
			}
			of[i].mode = uint32(mode)
		}
		for i := range of {
			if of[i].mode == 0 {
				continue
			}
			if len(rest) < objects.HashSize {
				return all
			}
			copy(of[i].hash[:], rest)
			rest = rest[objects.HashSize:]
		}
		all[string(name)] = of
		data = rest
	}
	return all
}
