package admin_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admin"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// pinned returns a config that pins the plugin "first".
func pinned(t *testing.T, w *workspace) string {
	t.Helper()
	m, problems := manifest.Load(w.path("plugins/first"))
	if problems.Err() != nil {
		t.Fatal(problems)
	}
	return fmt.Sprintf("[[plugins]]\npath = \"../plugins/first\"\nsha256 = %q\n", m.Digest)
}

func TestVerify(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, w *workspace)
		want   []string // state and file of each plugin
		broken bool
		remedy string
	}{
		"an unchanged plugin": {want: []string{"ok plugin.toml", "ok it.wasm"}},
		"a changed manifest": {change: func(t *testing.T, w *workspace) { w.plugin(t, "first", "# more\n") },
			want: []string{"changed plugin.toml", "ok it.wasm"}, broken: true, remedy: "bulkhead add --repin"},
		"a changed module": {change: func(t *testing.T, w *workspace) { w.write(t, "plugins/first/it.wasm", "x") },
			want: []string{"ok plugin.toml", "changed it.wasm"}, broken: true, remedy: "find out who changed it"},
		"a missing module": {change: func(t *testing.T, w *workspace) { remove(t, w, "plugins/first/it.wasm") },
			want: []string{"ok plugin.toml", "missing it.wasm"}, broken: true, remedy: "restore the module"},
		"a missing plugin": {change: func(t *testing.T, w *workspace) { removeAll(t, w, "plugins/first") },
			want: []string{"missing plugin.toml"}, broken: true, remedy: "there is no such file"},
		"a manifest that is not TOML": {change: func(t *testing.T, w *workspace) { w.write(t, "plugins/first/plugin.toml", "= 1") },
			want: []string{"missing plugin.toml"}, broken: true, remedy: "is not TOML"},
		"a config without pins": {change: func(t *testing.T, w *workspace) { w.config(t, "[[plugins]]\npath = \"../plugins/first\"\n") },
			want: []string{"not pinned plugin.toml", "ok it.wasm"}, remedy: "bulkhead add --repin"},
		"a manifest without the module's digest": {change: func(t *testing.T, w *workspace) {
			text := w.read(t, "plugins/first/plugin.toml")
			w.write(t, "plugins/first/plugin.toml", strings.Replace(text, "sha256", "#", 1))
			w.config(t, pinned(t, w))
		}, want: []string{"ok plugin.toml", "not pinned it.wasm"}, remedy: "bulkhead plugin build"},
		"a missing plugin without a pin": {change: func(t *testing.T, w *workspace) { w.config(t, "[[plugins]]\npath = \"none\"\n") },
			want: []string{"not pinned plugin.toml"}, remedy: "there is no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.plugin(t, "first", "")
			w.config(t, pinned(t, w))
			if c.change != nil {
				c.change(t, w)
			}
			pins, err := admin.Verify(w.options())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			broken, remedies := false, ""
			for _, p := range pins {
				got = append(got, p.State+" "+p.File[strings.LastIndex(p.File, "/")+1:])
				broken, remedies = broken || p.Broken(), remedies+p.Remedy
				if (p.State == admin.Matches) != (p.Remedy == "") || p.State == admin.Changed && (len(p.Pinned) != 64 || len(p.Found) != 64 || p.Pinned == p.Found) {
					t.Errorf("the pin %+v lacks a remedy or a digest, or has one that it should not have", p)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" || broken != c.broken || !strings.Contains(remedies, c.remedy) {
				t.Errorf("states (-want +got): %s\nbroken: %v, remedies %q", diff, broken, remedies)
			}
		})
	}
}

func TestVerifyRefuses(t *testing.T) {
	w := newWorkspace(t)
	_, err := admin.Verify(w.options())
	wantUsage(t, err, "so nothing is pinned", "bulkhead add DIR")
	w.config(t, "[sever]\n")
	_, err = admin.Verify(w.options())
	wantUsage(t, err, "sever: is not a known key")
	w.config(t, "[[plugins]]\npath = \"${env:NONE}/x\"\n")
	_, err = admin.Verify(w.options())
	wantUsage(t, err, "plugins[0].path: the variable NONE is not set")
	// Only variables in paths must be set.
	w.plugin(t, "first", "")
	w.env["HERE"] = w.path("plugins")
	w.config(t, "[[plugins]]\npath = \"${env:HERE}/first\"\nenv = { A = \"${env:NONE}\" }\n")
	if pins, err := admin.Verify(w.options()); err != nil || len(pins) != 2 {
		t.Errorf("Verify with an unset variable outside of paths returned %+v, %v; want two pins", pins, err)
	}
}

func TestRemove(t *testing.T) {
	const two = "# a\n[[plugins]]\npath = \"../plugins/first\"\n\n# b\n[[plugins]]\npath = \"../plugins/second\"\n[plugins.limits]\ntime = \"1s\"\n"
	first, second := two[strings.Index(two, "# b"):], two[:strings.Index(two, "\n# b")]
	for name, c := range map[string]struct{ config, which, want string }{
		"by name":                                 {two, "first", first},
		"by directory":                            {two, "../plugins/second", second},
		"by absolute path":                        {two, "$W/plugins/second", second},
		"by base name of a missing directory":     {"[[plugins]]\npath = \"gone/away\"\n", "away", ""},
		"from a config that is invalid elsewhere": {"[sever]\n" + two, "first", "[sever]\n" + first},
		"beside a plugin with an unset variable":  {two + "\n[[plugins]]\npath = \"${env:NONE}\"\n", "first", first + "\n[[plugins]]\npath = \"${env:NONE}\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.plugin(t, "first", "")
			w.plugin(t, "second", "")
			w.config(t, c.config)
			if _, err := admin.Remove(w.options(), strings.Replace(c.which, "$W", w.dir, 1)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, w.read(t, "work/bulkhead.toml")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRemoveRefuses(t *testing.T) {
	for name, c := range map[string]struct{ config, which, want string }{
		"an unknown plugin":         {"[[plugins]]\npath = \"../plugins/first\"\n", "none", `there is no plugin "none" in `},
		"a config without plugins":  {"# nothing\n", "first", "names no plugin"},
		"a config that is not TOML": {"= 1", "first", "is not TOML"},
		"an ambiguous name":         {"[[plugins]]\npath = \"../plugins/first\"\n[[plugins]]\npath = \"../plugins/copy\"\n", "first", "2 plugins in "},
		"an inline plugins array":   {"plugins = [{ path = \"../plugins/first\" }]\n", "first", "is not written as [[plugins]] tables"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.plugin(t, "first", "")
			copyPlugin(t, w, "first", "copy")
			w.config(t, c.config)
			_, err := admin.Remove(w.options(), c.which)
			wantUsage(t, err, c.want)
			if got := w.read(t, "work/bulkhead.toml"); got != c.config {
				t.Errorf("the config became %q", got)
			}
		})
	}
	_, err := admin.Remove(newWorkspace(t).options(), "first")
	wantUsage(t, err, "there is no ", "--config")
}

func removeAll(t *testing.T, w *workspace, name string) {
	t.Helper()
	if err := os.RemoveAll(w.path(name)); err != nil {
		t.Fatal(err)
	}
}
