package board

import (
	"strconv"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/criteria"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/id"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
)

// computeStatus gives every entry the status that lists show: of a pending or blocked spec, whichever of
// the two its dependencies make of it; of another, its own. Nothing is written. It never changes what is
// completed, so the order of entries does not matter.
func (b *Board) computeStatus() {
	for _, entry := range b.Entries {
		entry.Status = entry.Spec.Status
		b.index(entry)
	}
	for _, entry := range b.Entries {
		if entry.Status != spec.Pending && entry.Status != spec.Blocked {
			continue
		}
		if b.blocked(entry) {
			entry.Status = spec.Blocked
		} else {
			entry.Status = spec.Pending
		}
	}
}

// index notes an entry as a member of every id that ends at one of its dots.
func (b *Board) index(entry *Entry) {
	for i := range len(entry.ID) {
		if driver := entry.ID[:i]; entry.ID[i] == '.' && id.IsMember(entry.ID, driver) {
			b.members[driver] = append(b.members[driver], entry)
		}
	}
}

// blocked tells whether a dependency is unmet, or a pending spec waits for an approval.
func (b *Board) blocked(entry *Entry) bool {
	for _, dependency := range entry.Spec.DependsOn {
		if !b.met(dependency) {
			return true
		}
	}
	approval := entry.Spec.Approval
	return entry.Status == spec.Pending && approval.Required && !approval.Approved
}

// met tells whether a dependency is done: completed, or no longer active but archived. Specs of other
// repositories cannot be looked at and are never met.
func (b *Board) met(dependency string) bool {
	if entry := b.byID[dependency]; entry != nil {
		return entry.Status == spec.Completed
	}
	if parts, err := id.Parse(dependency); err != nil || parts.Repository != "" {
		return false
	}
	return b.archive().Has(dependency)
}

// Ready tells whether work on a spec can begin.
func (b *Board) Ready(entry *Entry) bool {
	if entry.Status != spec.Pending || entry.Spec.Type == "group" {
		return false
	}
	// A file that says blocked and lost its last unmet dependency counts as pending by now; its approval
	// counts only here.
	return !b.blocked(entry) && b.siblingsDone(entry) && b.membersDone(entry)
}

// siblingsDone tells whether a member's turn has come: all of its driver's members with lower numbers are
// completed. A member that says what it depends on, be it nothing, does not wait for its turn.
func (b *Board) siblingsDone(entry *Entry) bool {
	driver, ok := id.Driver(entry.ID)
	if !ok || entry.Spec.DependsOn != nil {
		return true
	}
	for number := 1; number < id.Number(entry.ID); number++ {
		sibling := b.byID[driver+"."+strconv.Itoa(number)]
		if sibling == nil || sibling.Status != spec.Completed {
			return false
		}
	}
	return true
}

// membersDone tells whether all members of a driver with criteria are completed. Without criteria there
// is nothing to check after them.
func (b *Board) membersDone(entry *Entry) bool {
	members := b.members[entry.ID]
	if len(members) == 0 || !criteria.Present(entry.Spec.Body) {
		return true
	}
	for _, member := range members {
		if member.Status != spec.Completed {
			return false
		}
	}
	return true
}
