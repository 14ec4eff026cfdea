package board

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// statuses returns one string for every entry, the id and the status, with a star at the end if the entry is ready.
func statuses(board *Board) []string {
	var all []string
	for _, entry := range board.Entries {
		line := entry.ID + " " + string(entry.Status)
		if board.Ready(entry) {
			line += "*"
		}
		all = append(all, line)
	}
	return all
}

func TestStatusAndReadiness(t *testing.T) {
	const driver = "# D\n\n## Acceptance Criteria\n- [ ] all done\n"
	approval := func(status string) string { return "approval: {required: true, status: " + status + "}" }
	tests := []struct {
		name string
		dir  files
		want []string
	}{
		{
			"only a pending spec is ready",
			files{"a": file("pending"), "b": file("in_progress"), "c": file("failed"), "d": file("cancelled"), "e": file("needs_attention"), "f": file("ready")},
			[]string{"a pending*", "b in_progress", "c failed", "d cancelled", "e needs_attention", "f ready"},
		},
		{
			"a blocked spec with an unmet dependency is not ready",
			files{"a": file("blocked", after("b")), "b": file("in_progress")},
			[]string{"a blocked", "b in_progress"},
		},
		{
			"a pending dependency blocks, a completed one does not",
			files{"a": file("pending", after("b")), "b": file("pending"), "c": file("pending", after("d")), "d": file("completed")},
			[]string{"a blocked", "b pending*", "c pending*", "d completed"},
		},
		{
			"a blocked spec becomes pending once its dependency is completed",
			files{"a": file("blocked", after("b")), "b": file("blocked", after("c")), "c": file("completed")},
			[]string{"a blocked", "b pending*", "c completed"},
		},
		{
			"a completed spec stays completed",
			files{"a": file("completed", after("b")), "b": file("pending")},
			[]string{"a completed", "b pending*"},
		},
		{
			"an unknown dependency blocks",
			files{"a": file("pending", after("nowhere"))},
			[]string{"a blocked"},
		},
		{
			"an abbreviated id is not a dependency",
			files{"a": file("pending", after("001")), "2026-01-01-001-abc": file("completed")},
			[]string{"2026-01-01-001-abc completed", "a blocked"},
		},
		{
			"three specs with the same unmet dependency",
			files{"a": file("pending", after("x")), "b": file("pending", after("x")), "c": file("pending", after("x")), "x": file("failed")},
			[]string{"a blocked", "b blocked", "c blocked", "x failed"},
		},
		{
			"three specs with the same completed dependency",
			files{"a": file("pending", after("x")), "b": file("pending", after("x")), "c": file("pending", after("x")), "x": file("completed")},
			[]string{"a pending*", "b pending*", "c pending*", "x completed"},
		},
		{
			"one unmet dependency of several blocks",
			files{"a": file("pending", after("b", "c")), "b": file("completed"), "c": file("in_progress")},
			[]string{"a blocked", "b completed", "c in_progress"},
		},
		{
			"a missing approval blocks",
			files{"a": file("pending", approval("pending")), "b": file("pending", approval("approved")), "c": file("pending"), "d": file("pending", approval("rejected")), "e": file("pending", "approval: {required: true}"), "f": file("pending", "approval: {status: rejected}")},
			[]string{"a blocked", "b pending*", "c pending*", "d blocked", "e blocked", "f pending*"},
		},
		{
			"a blocked spec that only lacks an approval is pending but not ready",
			files{"a": file("blocked", approval("pending"))},
			[]string{"a pending"},
		},
		{
			"a completed spec needs no approval",
			files{"a": file("completed", approval("pending"))},
			[]string{"a completed"},
		},
		{
			"a member waits for those with lower numbers",
			files{"d": file("pending"), "d.1": file("completed"), "d.2": file("pending"), "e": file("pending"), "e.1": file("pending"), "e.2": file("pending"), "f.1": file("completed"), "f.3": file("pending")},
			[]string{"d pending*", "d.1 completed", "d.2 pending*", "e pending*", "e.1 pending*", "e.2 pending", "f.1 completed", "f.3 pending"},
		},
		{
			"a driver with criteria waits for its members, one without does not",
			files{
				"c": withBody("pending", driver), "c.1": file("completed"), "c.2": file("pending"),
				"d": withBody("pending", driver), "d.1": file("completed"), "d.x": file("completed"),
				"e": file("pending"), "e.1": file("pending"),
			},
			[]string{"c pending", "c.1 completed", "c.2 pending*", "d pending*", "d.1 completed", "d.x completed", "e pending*", "e.1 pending*"},
		},
		{
			"an archived dependency is met, whatever its status",
			files{
				"a": file("pending", after("old", "older")), "b": file("blocked", after("older")),
				"archive/2026-01-27/old": file("in_progress"), "archive/older": file("cancelled"),
			},
			[]string{"a pending*", "b pending*"},
		},
		{
			"an active spec has precedence over an archived one with the same id",
			files{"a": file("pending", after("old")), "old": file("failed"), "archive/old": file("completed")},
			[]string{"a blocked", "old failed"},
		},
		{
			"circular dependencies block",
			files{"a": file("pending", after("b")), "b": file("pending", after("a")), "c": file("pending", after("c"))},
			[]string{"a blocked", "b blocked", "c blocked"},
		},
		{
			"a member with an empty list of dependencies does not wait",
			files{"d.1": file("pending"), "d.2": file("pending", "depends_on: []")},
			[]string{"d.1 pending*", "d.2 pending*"},
		},
		{
			"a group is never ready, a driver may be",
			files{"a": file("pending", "type: group"), "b": file("pending", "type: driver")},
			[]string{"a pending", "b pending*"},
		},
		{
			"cancelled specs and other repositories block",
			files{"a": file("pending", after("b")), "b": file("cancelled"), "c": file("pending", after("'backend:b'"))},
			[]string{"a blocked", "b cancelled", "c blocked"},
		},
		{
			"archived specs are not on the board",
			files{"a": file("pending"), "archive/b": file("pending"), "archive/2026-01-27/c": file("pending")},
			[]string{"a pending*"},
		},
		{
			"specs in subdirectories count, duplicates of an id do not",
			files{"sub/a": file("failed"), "sub/b": file("failed"), "a": file("pending")},
			[]string{"a pending*", "b failed"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, test.dir)
			if diff := cmp.Diff(test.want, statuses(mustLoad(t, root, nil))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	t.Run("Load sees an edit", func(t *testing.T) {
		root := t.TempDir()
		write(t, root, files{"a": file("pending", after("b")), "b": file("pending")})
		first := statuses(mustLoad(t, root, nil))
		write(t, root, files{"b": file("completed")})
		second := statuses(mustLoad(t, root, nil))
		if diff := cmp.Diff([][]string{{"a blocked", "b pending*"}, {"a pending*", "b completed"}}, [][]string{first, second}); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}
