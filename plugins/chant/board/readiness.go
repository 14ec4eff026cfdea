package board

import (
	"strconv"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/id"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
)

// computeStatus sets the status that lists show in every entry. A spec that is pending or blocked in its file becomes
// blocked if the method blocked returns true, and pending otherwise. Every other spec keeps the status of its file.
// Whether a dependency is met depends only on whether it is completed, which computeStatus never changes. So the result
// does not depend on the order of entries.
func (b *Board) computeStatus() {
	for _, entry := range b.Entries {
		entry.Status = entry.Spec.Status
		b.index(entry.ID)
	}
	for id := range b.omitted {
		b.index(id)
	}
	for _, entry := range b.Entries {
		b.setStatus(entry)
	}
}

func (b *Board) setStatus(entry *Entry) {
	entry.Status = entry.Spec.Status
	if entry.Status != spec.Pending && entry.Status != spec.Blocked {
		return
	}
	if b.blocked(entry) {
		entry.Status = spec.Blocked
	} else {
		entry.Status = spec.Pending
	}
}

// index adds the id member to the members of all its drivers: a.1.2 is a member of a and of a.1.
func (b *Board) index(member string) {
	for i := range len(member) {
		if driver := member[:i]; member[i] == '.' && id.IsMember(member, driver) {
			b.members[driver] = append(b.members[driver], member)
		}
	}
}

// blocked reports whether a dependency of the spec is unmet, or the spec is pending and lacks a required approval.
func (b *Board) blocked(entry *Entry) bool {
	for _, dependency := range entry.Spec.DependsOn {
		if !b.met(dependency) {
			return true
		}
	}
	approval := entry.Spec.Approval
	return entry.Status == spec.Pending && approval.Required && !approval.Approved
}

// met reports whether a dependency is completed, or is archived and not active. A dependency in another repository is
// never met, since the plugin cannot read a spec there.
func (b *Board) met(dependency string) bool {
	if status, active := b.status(dependency); active {
		return status == spec.Completed
	}
	if parts, err := id.Parse(dependency); err != nil || parts.Repository != "" {
		return false
	}
	return b.archive().Has(dependency)
}

// Ready reports whether work on the spec of an entry can begin.
func (b *Board) Ready(entry *Entry) bool {
	if entry.Status != spec.Pending || entry.Spec.Type == "group" {
		return false
	}
	// computeStatus makes a spec pending that is blocked in its file, and ignores whether the spec lacks an approval.
	// So Ready checks the approval here.
	return !b.blocked(entry) && b.siblingsDone(entry) && b.membersDone(entry)
}

// siblingsDone reports whether all members of the same driver with lower numbers are completed. It returns true for a
// member with a list of dependencies in its file, even if that list is empty.
func (b *Board) siblingsDone(entry *Entry) bool {
	driver, ok := id.Driver(entry.ID)
	if !ok || entry.Spec.DependsOn != nil {
		return true
	}
	for number := 1; number < id.Number(entry.ID); number++ {
		if status, _ := b.status(driver + "." + strconv.Itoa(number)); status != spec.Completed {
			return false
		}
	}
	return true
}

// membersDone reports whether all members of a driver are completed. It returns true for a driver without acceptance
// criteria.
func (b *Board) membersDone(entry *Entry) bool {
	members := b.members[entry.ID]
	if len(members) == 0 || !entry.hasCriteria() {
		return true
	}
	for _, member := range members {
		if status, _ := b.status(member); status != spec.Completed {
			return false
		}
	}
	return true
}
