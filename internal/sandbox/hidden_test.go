//go:build unix

package sandbox

import "testing"

func TestIsHidden(t *testing.T) {
	mounts := []string{"/w/app", "/w/app/vendor", "/state/chant"}
	own := []string{"/state", "/w/app/dist/plugins", "/w/app/caf\u00e9"}
	patterns := []string{"**/.env", "secrets/*.key", "private", "{a,b}/c", "q/{x/y,z}"}
	tests := []struct {
		name  string
		path  string
		below bool
		want  bool
	}{
		{"an ordinary file is seen", "/w/app/main.go", false, false},
		{"the mount itself is seen", "/w/app", false, false},
		{"a pattern with two stars matches at the top", "/w/app/.env", false, true},
		{"a pattern with two stars matches at any depth", "/w/app/x/y/.env", false, true},
		{"a pattern with two stars matches in a nested mount", "/w/app/vendor/.env", false, true},
		{"a pattern ignores case", "/w/app/.ENV", false, true},
		{"what is in a hidden directory is hidden", "/w/app/x/.env/y", false, true},
		{"a longer name is not hidden", "/w/app/.env.example", false, false},
		{"a pattern with a slash is anchored", "/w/app/secrets/a.key", false, true},
		{"an anchored pattern does not match below", "/w/app/x/secrets/a.key", false, false},
		{"a name matches at the top", "/w/app/private/x", false, true},
		{"a name does not match below", "/w/app/x/private", false, false},
		{"the host's config is hidden", "/w/app/bulkhead.toml", false, true},
		{"a config at any depth is hidden", "/w/app/pkg/deep/bulkhead.toml", false, true},
		{"a config in the state directory is hidden", "/state/chant/bulkhead.toml", false, true},
		{"a path below the name of a config is hidden", "/w/app/bulkhead.toml/x", false, true},
		{"a config in another case is hidden", "/w/app/pkg/Bulkhead.TOML", false, true},
		{"a config with a letter that folds to ASCII is hidden", "/w/app/pkg/bul\u212ahead.toml", false, true},
		{"a config with invisible characters is hidden", "/w/app/pkg/bulk\u200bhead\ufe0f.toml", false, true},
		{"a config by its short name is hidden", "/w/app/pkg/BULKHE~1.TOM", false, true},
		{"a config name with a suffix is not hidden", "/w/app/bulkhead.toml.bak", false, false},
		{"a config name with a prefix is not hidden", "/w/app/my-bulkhead.toml", false, false},
		{"a placeholder of an absent directory is hidden", "/w/app/pkg/.bulkhead-ABC", false, true},
		{"any name with the prefix of placeholders is hidden", "/w/app/.bulkhead-", false, true},
		{"a path in a placeholder is hidden", "/w/app/.bulkhead-0a-0/x/y", false, true},
		{"a placeholder cannot be moved", "/w/app/.bulkhead-ABC", true, true},
		{"a placeholder in another case is hidden", "/w/app/.BulkHead-abc", false, true},
		{"a placeholder with invisible characters is hidden", "/w/app/\u200b.bul\u212ahead\u200d-abc", false, true},
		{"a placeholder by its short name is hidden", "/w/app/BULKHE~12", false, true},
		{"a name of digits, as in a short name, is not hidden", "/w/app/12345678", false, false},
		{"a short name without number is not hidden", "/w/app/bulkhe~.tom", false, false},
		{"a similar name without hyphen is not hidden", "/w/app/.bulkheads", false, false},
		{"a similar name without dot is not hidden", "/w/app/bulkhead-abc", false, false},
		{"a name similar to a short name is not hidden", "/w/app/bulkhe~1a", false, false},
		{"a pattern ignores invisible characters", "/w/app/.e\u200cnv", false, true},
		{"the host's own is hidden in another case", "/w/app/Dist/PLUGINS/chant", false, true},
		{"the host's own is hidden in another normalization", "/w/app/cafe\u0301/x", false, true},
		{"a directory with the host's own in it, in another case, cannot be moved", "/w/app/DIST", true, true},
		{"the host's plugins are hidden", "/w/app/dist/plugins/chant/plugin.toml", false, true},
		{"the parent of the host's own is not hidden", "/w/app/dist", false, false},
		{"a granted directory in the host's own is seen", "/state/chant/x", false, false},
		{"a path outside of all mounts is not decided here", "/etc/passwd", false, false},

		{"a directory with the host's own in it cannot be moved", "/w/app/dist", true, true},
		{"a directory that a pattern reaches into cannot be moved", "/w/app/secrets", true, true},
		{"a directory that a pattern reaches into is seen", "/w/app/secrets", false, false},
		{"a pattern that matches anywhere does not prevent a move", "/w/app/x", true, false},
		{"a pattern for another directory does not prevent a move", "/w/app/public", true, false},
		{"a directory that braces match cannot be moved", "/w/app/a", true, true},
		{"braces that contain a slash are assumed to match", "/w/app/q", true, true},
	}
	h, err := newHidden(mounts, Hidden{Patterns: patterns, Own: own})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := h.isHidden(test.path, test.below); got != test.want {
				t.Errorf("isHidden(%q, %t) = %t", test.path, test.below, got)
			}
		})
	}
	if _, err := newHidden(nil, Hidden{Patterns: []string{"[a"}}); err == nil {
		t.Error("newHidden accepts the malformed pattern [a")
	}
}

func TestPatternForEverythingDoesNotHideTheMount(t *testing.T) {
	h, err := newHidden([]string{"/w"}, Hidden{Patterns: []string{"**"}})
	if err != nil {
		t.Fatal(err)
	}
	if h.isHidden("/w", false) || !h.isHidden("/w/a", false) {
		t.Errorf("the mount is hidden: %t, what it contains: %t", h.isHidden("/w", false), h.isHidden("/w/a", false))
	}
}
