package manifest_test

import (
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// TestDenyBelowHidesSamePaths checks with random deny patterns and directories that no path is visible in a part of a directory that is hidden in
// that directory.
func TestDenyBelowHidesSamePaths(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	randomPath := func(n int, from ...string) string {
		var all []string
		for range 1 + r.IntN(n) {
			all = append(all, from[r.IntN(len(from))])
		}
		return strings.Join(all, "/")
	}
	// isHidden is the rule of the sandbox: a pattern that matches a path hides what is below it, too.
	isHidden := func(patterns []string, name string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			for at := name; at != "."; at = path.Dir(at) {
				if doublestar.MatchUnvalidated(pattern, at) {
					return true
				}
			}
			return false
		})
	}
	hidden, visible := 0, 0
	for range testenv.Count(20_000, 100_000, 1_000_000) {
		deny, dir := randomPath(4, "**", "*", "a", "b", "{a,c}", "[ab]", "a*"), randomPath(3, "a", "b", "c", "ab")
		below, whole := manifest.DenyBelow(deny, strings.Split(dir, "/"))
		if whole {
			continue
		}
		if isHidden([]string{deny}, dir) {
			t.Fatalf("%q hides the directory %s", deny, dir)
		}
		visible++
		for range 5 {
			name := randomPath(3, "a", "b", "c", "ab")
			if !isHidden([]string{deny}, dir+"/"+name) {
				continue
			}
			if hidden++; !isHidden(below, name) {
				t.Fatalf("%q hides %s/%s, and %q do not hide %s in %s", deny, dir, name, below, name, dir)
			}
		}
	}
	if hidden < 500 || visible < 500 {
		t.Errorf("only %d paths were hidden, in %d directories", hidden, visible)
	}
}

func TestDenyBelow(t *testing.T) {
	for _, c := range []struct{ deny, dir, want string }{
		{"**/.env", "a/b", "**/.env"}, {"docs/private/**", "docs", "private/**"}, {"docs/private/**", "docs/private", "whole"}, {"docs/private/**", "Docs/PRIVATE/x", "whole"},
		{"docs/x", "src", ""}, {"*/out", "build", "out"}, {"**", "a", "whole"}, {"a/**/b/c", "a/b", "**/b/c c"}, {"\u00e9/x", "e\u0301", "x"}, {"{a,b}/c", "b", "c"},
		{strings.Repeat("**/", 170) + "x", strings.Repeat("a/", 200) + "a", strings.Repeat("**/", 170) + "x"}, // in linear time
	} {
		below, whole := manifest.DenyBelow(c.deny, strings.Split(c.dir, "/"))
		got := strings.Join(below, " ")
		if whole {
			got = "whole"
		}
		if got != c.want {
			t.Errorf("%q in %s: got %q, want %q", c.deny, c.dir, got, c.want)
		}
	}
}
