package worker

import (
	"slices"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

// TestUsedGrantsAreThoseOfTheSetup has bits that a worker sends, of grants that exist and of others.
func TestUsedGrantsAreThoseOfTheSetup(t *testing.T) {
	l := Launch{Setup: wire.Setup{Mounts: []wire.Mount{{Path: "/a"}, {Path: "/state", State: true}, {Path: "/b"}}, Repos: []wire.Repo{{Path: "/r"}, {Path: "/a"}}}}
	for name, c := range map[string]struct {
		uses call.Uses
		want []call.UsedGrant
	}{
		"nothing":              {},
		"a directory was read": {call.Uses{1}, []call.UsedGrant{{Kind: "directory", Path: "/a", Read: true}}},
		"a repository was changed, and a directory": {call.Uses{0, 0, 1<<3 | 1<<2}, []call.UsedGrant{
			{Kind: "directory", Path: "/b", Write: true}, {Kind: "repository", Path: "/r", Write: true},
		}},
		"the state": {call.Uses{2, 0, 2}, nil},
		"everything": {call.Uses{1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1}, []call.UsedGrant{
			{Kind: "directory", Path: "/a", Read: true, Write: true}, {Kind: "directory", Path: "/b", Read: true, Write: true},
			{Kind: "repository", Path: "/r", Read: true, Write: true}, {Kind: "repository", Path: "/a", Read: true, Write: true},
		}},
		"none that exists": {call.Uses{1 << 63, 1, 1 << 63, 1}, nil},
	} {
		if got := l.used(c.uses); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	for i := range 200 {
		l.Setup.Mounts = append(l.Setup.Mounts, wire.Mount{Path: string(rune('a' + i))})
	}
	if got := l.used(call.Uses{1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1}); len(got) != call.MaxUses-1 {
		t.Errorf("of %d mounts, %d are used", len(l.Setup.Mounts), len(got))
	}
}
