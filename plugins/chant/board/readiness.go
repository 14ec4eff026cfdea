package board

import (
	"strconv"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/criteria"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/id"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
)

// computeStatus sets the status that lists show: a pending or blocked spec is blocked if a dependency is unmet, else
// pending; any other spec has the status of its file. Whether a spec is completed never changes, so the result does
// not depend on the order of entries.
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

// index adds an entry to the members of its drivers: a.1.2 is a member of a and of a.1.
func (b *Board) index(entry *Entry) {
	for i := range len(entry.ID) {
		if driver := entry.ID[:i]; entry.ID[i] == '.' && id.IsMember(entry.ID, driver) {
			b.members[driver] = append(b.members[driver], entry)
		}
	}
}

// blocked reports whether a dependency is unmet, or a pending spec lacks a required approval.
func (b *Board) blocked(entry *Entry) bool {
	for _, dependency := range entry.Spec.DependsOn {
		if !b.met(dependency) {
			return true
		}
	}
	approval := entry.Spec.Approval
	return entry.Status == spec.Pending && approval.Required && !approval.Approved
}

// met reports whether a dependency is completed, or not active but archived. Specs of other repositories cannot be
// read and are never met.
func (b *Board) met(dependency string) bool {
	if entry := b.byID[dependency]; entry != nil {
		return entry.Status == spec.Completed
	}
	if parts, err := id.Parse(dependency); err != nil || parts.Repository != "" {
		return false
	}
	return b.archive().Has(dependency)
}

// Ready reports whether work on a spec can begin.
func (b *Board) Ready(entry *Entry) bool {
	if entry.Status != spec.Pending || entry.Spec.Type == "group" {
		return false
	}
	// blocked is asked again: computeStatus ignores the approval of a spec whose file says blocked.
	return !b.blocked(entry) && b.siblingsDone(entry) && b.membersDone(entry)
}

// siblingsDone reports whether all of the driver's members with lower numbers are completed. It is true for a member
// with explicit dependencies, also for an empty list of them.
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

// membersDone reports whether a driver has no acceptance criteria, or all of its members are completed.
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
