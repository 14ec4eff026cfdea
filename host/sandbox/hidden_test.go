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
		{"and anywhere below", "/w/app/x/y/.env", false, true},
		{"and in another mount", "/w/app/vendor/.env", false, true},
		{"and in another case", "/w/app/.ENV", false, true},
		{"what is in a hidden directory is hidden", "/w/app/x/.env/y", false, true},
		{"a name that only begins so is seen", "/w/app/.env.example", false, false},
		{"a pattern with a slash is bound to its place", "/w/app/secrets/a.key", false, true},
		{"elsewhere it does not match", "/w/app/x/secrets/a.key", false, false},
		{"a name hides a directory of the top", "/w/app/private/x", false, true},
		{"but not further down", "/w/app/x/private", false, false},
		{"the host's config is hidden", "/w/app/bulkhead.toml", false, true},
		{"so is one anywhere", "/w/app/pkg/deep/bulkhead.toml", false, true},
		{"and in the plugin's own state", "/state/chant/bulkhead.toml", false, true},
		{"and what is below that name", "/w/app/bulkhead.toml/x", false, true},
		{"in another case", "/w/app/pkg/Bulkhead.TOML", false, true},
		{"with a letter that folds to one of its own", "/w/app/pkg/bul\u212ahead.toml", false, true},
		{"with invisible characters", "/w/app/pkg/bulk\u200bhead\ufe0f.toml", false, true},
		{"by its short name", "/w/app/pkg/BULKHE~1.TOM", false, true},
		{"a name that only begins like it is seen", "/w/app/bulkhead.toml.bak", false, false},
		{"one that only ends like it too", "/w/app/my-bulkhead.toml", false, false},
		{"a placeholder of an absent directory is hidden", "/w/app/pkg/.bulkhead-ABC", false, true},
		{"any name with its prefix", "/w/app/.bulkhead-", false, true},
		{"and what is in it", "/w/app/.bulkhead-0a-0/x/y", false, true},
		{"and it cannot be moved", "/w/app/.bulkhead-ABC", true, true},
		{"in another case", "/w/app/.BulkHead-abc", false, true},
		{"with invisible characters", "/w/app/\u200b.bul\u212ahead\u200d-abc", false, true},
		{"by its short name", "/w/app/BULKHE~12", false, true},
		{"a hidden name without the hyphen is seen", "/w/app/.bulkheads", false, false},
		{"one without the dot too", "/w/app/bulkhead-abc", false, false},
		{"and one that only looks like a short name", "/w/app/bulkhe~1a", false, false},
		{"a pattern holds with invisible characters", "/w/app/.e\u200cnv", false, true},
		{"the host's own is hidden in another case", "/w/app/Dist/PLUGINS/chant", false, true},
		{"and with an accent written otherwise", "/w/app/cafe\u0301/x", false, true},
		{"a directory with the host's own in it, in another case, cannot be moved", "/w/app/DIST", true, true},
		{"so are its plugins", "/w/app/dist/plugins/chant/plugin.toml", false, true},
		{"the directory above them is seen", "/w/app/dist", false, false},
		{"a granted directory in the host's own is seen", "/state/chant/x", false, false},
		{"a path outside of all mounts is not decided here", "/etc/passwd", false, false},

		{"a directory with the host's own in it cannot be moved", "/w/app/dist", true, true},
		{"a directory that a pattern reaches into cannot be moved", "/w/app/secrets", true, true},
		{"a pattern that matches anywhere lets directories move", "/w/app/x", true, false},
		{"a pattern for another directory lets one move", "/w/app/public", true, false},
		{"a directory that braces stand for cannot be moved", "/w/app/a", true, true},
		{"braces around a slash are not worked out", "/w/app/q", true, true},
	}
	h, err := newHidden(mounts, Hidden{Patterns: patterns, Own: own})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := h.isHidden(test.path, test.below); got != test.want {
				t.Errorf("hides(%q, %t) = %t", test.path, test.below, got)
			}
		})
	}
	if _, err := newHidden(nil, Hidden{Patterns: []string{"[a"}}); err == nil {
		t.Error("a broken pattern was taken")
	}
}
