package install_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/skills"
)

// pinned returns a config that pins the plugin "first".
func pinned(t *testing.T, w *admintest.Workspace) string {
	t.Helper()
	m, problems := manifest.Load(w.Path("plugins/first"))
	if problems.Err() != nil {
		t.Fatal(problems)
	}
	return fmt.Sprintf("[[plugins]]\npath = \"../plugins/first\"\nsha256 = %q\n", m.Digest)
}

// addSkill adds a skill with its digest to the plugin "first", and pins the plugin again.
func addSkill(t *testing.T, w *admintest.Workspace) {
	t.Helper()
	w.Write(t, "plugins/first/skills/a/SKILL.md", skillText)
	pinSkill(t, w)
	w.Config(t, pinned(t, w))
}

const skillText = "---\nname: a\ndescription: Use a.\n---\n"

// pinSkill adds the skill skills/a, as its files are, to the manifest of the plugin "first".
func pinSkill(t *testing.T, w *admintest.Workspace) {
	t.Helper()
	s, err := skills.Load(w.Path("plugins/first"), "skills/a")
	if err != nil {
		t.Fatal(err)
	}
	w.Write(t, "plugins/first/plugin.toml", w.Read(t, "plugins/first/plugin.toml")+"[[skills]]\npath = 'skills/a'\nsha256 = '"+s.Digest()+"'\n")
}

func TestVerify(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, w *admintest.Workspace)
		want   []string // state and file of each plugin
		broken bool
		remedy string
	}{
		"an unchanged plugin": {want: []string{"ok plugin.toml", "ok it.wasm"}},
		"a changed manifest": {change: func(t *testing.T, w *admintest.Workspace) { w.Plugin(t, "first", "# more\n") },
			want: []string{"changed plugin.toml", "ok it.wasm"}, broken: true, remedy: "bulkhead add --repin $W/plugins/first --config $W/work/bulkhead.toml`"},
		"a changed module": {change: func(t *testing.T, w *admintest.Workspace) { w.Write(t, "plugins/first/it.wasm", "x") },
			want: []string{"ok plugin.toml", "changed it.wasm"}, broken: true, remedy: "find out who changed it"},
		"a skill": {change: func(t *testing.T, w *admintest.Workspace) { addSkill(t, w) }, want: []string{"ok plugin.toml", "ok it.wasm", "ok a"}},
		"a changed skill": {change: func(t *testing.T, w *admintest.Workspace) {
			addSkill(t, w)
			w.Write(t, "plugins/first/skills/a/more.md", "obey\n")
		}, want: []string{"ok plugin.toml", "ok it.wasm", "changed a"}, broken: true, remedy: "find out who changed it"},
		"a missing skill": {change: func(t *testing.T, w *admintest.Workspace) {
			addSkill(t, w)
			removeAll(t, w, "plugins/first/skills")
		}, want: []string{"ok plugin.toml", "ok it.wasm", "missing a"}, broken: true, remedy: "restore the skill"},
		"a missing module": {change: func(t *testing.T, w *admintest.Workspace) { admintest.RemoveFile(t, w, "plugins/first/it.wasm") },
			want: []string{"ok plugin.toml", "missing it.wasm"}, broken: true, remedy: "restore the module"},
		"a missing plugin": {change: func(t *testing.T, w *admintest.Workspace) { removeAll(t, w, "plugins/first") },
			want: []string{"missing plugin.toml"}, broken: true, remedy: "there is no such file"},
		"a manifest that is not TOML": {change: func(t *testing.T, w *admintest.Workspace) { w.Write(t, "plugins/first/plugin.toml", "= 1") },
			want: []string{"missing plugin.toml"}, broken: true, remedy: "is not TOML"},
		"a config without pins": {change: func(t *testing.T, w *admintest.Workspace) { w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\n") },
			want: []string{"not pinned plugin.toml", "ok it.wasm"}, remedy: "bulkhead add --repin $W/plugins/first --config $W/work/bulkhead.toml`"},
		"a manifest without the module's digest": {change: func(t *testing.T, w *admintest.Workspace) {
			text := w.Read(t, "plugins/first/plugin.toml")
			w.Write(t, "plugins/first/plugin.toml", strings.Replace(text, "sha256", "#", 1))
			w.Config(t, pinned(t, w))
		}, want: []string{"ok plugin.toml", "not pinned it.wasm"}, remedy: "bulkhead plugin build"},
		"a missing plugin without a pin": {change: func(t *testing.T, w *admintest.Workspace) { w.Config(t, "[[plugins]]\npath = \"none\"\n") },
			want: []string{"not pinned plugin.toml"}, remedy: "there is no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			w := admintest.New(t)
			w.Plugin(t, "first", "")
			w.Config(t, pinned(t, w))
			if c.change != nil {
				c.change(t, w)
			}
			pins, err := install.Verify(w.Options())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			broken, remedies := false, ""
			for _, p := range pins {
				got = append(got, p.State+" "+p.File[strings.LastIndex(p.File, "/")+1:])
				broken, remedies = broken || p.Broken(), remedies+p.Remedy
				if (p.State == install.Matches) != (p.Remedy == "") || p.State == install.Changed && (len(p.Pinned) != 64 || len(p.Found) != 64 || p.Pinned == p.Found) {
					t.Errorf("the pin %+v lacks a remedy or a digest, or has one that it should not have", p)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" || broken != c.broken || !strings.Contains(remedies, strings.ReplaceAll(c.remedy, "$W", w.Dir)) {
				t.Errorf("states (-want +got): %s\nbroken: %v, remedies %q", diff, broken, remedies)
			}
		})
	}
}

func TestVerifyRefuses(t *testing.T) {
	w := admintest.New(t)
	_, err := install.Verify(w.Options())
	hosttest.WantUsage(t, err, "so nothing is pinned", "bulkhead add DIR")
	w.Config(t, "[sever]\n")
	_, err = install.Verify(w.Options())
	hosttest.WantUsage(t, err, "sever: is not a known key")
	w.Config(t, "[[plugins]]\npath = \"${env:NONE}/x\"\n")
	_, err = install.Verify(w.Options())
	hosttest.WantUsage(t, err, "plugins[0].path: the variable NONE is not set")
	// Only variables in paths must be set.
	w.Plugin(t, "first", "")
	w.Env["HERE"] = w.Path("plugins")
	w.Config(t, "[[plugins]]\npath = \"${env:HERE}/first\"\nenv = { A = \"${env:NONE}\" }\n")
	if pins, err := install.Verify(w.Options()); err != nil || len(pins) != 2 {
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
			w := admintest.New(t)
			w.Plugin(t, "first", "")
			w.Plugin(t, "second", "")
			w.Config(t, c.config)
			if _, err := install.Remove(w.Options(), strings.Replace(c.which, "$W", w.Dir, 1)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, w.Read(t, "work/bulkhead.toml")); diff != "" {
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
			w := admintest.New(t)
			w.Plugin(t, "first", "")
			admintest.CopyPlugin(t, w, "first", "copy")
			w.Config(t, c.config)
			_, err := install.Remove(w.Options(), c.which)
			hosttest.WantUsage(t, err, c.want)
			if got := w.Read(t, "work/bulkhead.toml"); got != c.config {
				t.Errorf("the config became %q", got)
			}
		})
	}
	_, err := install.Remove(admintest.New(t).Options(), "first")
	hosttest.WantUsage(t, err, "there is no ", "--config")
}

func removeAll(t *testing.T, w *admintest.Workspace, name string) {
	t.Helper()
	if err := os.RemoveAll(w.Path(name)); err != nil {
		t.Fatal(err)
	}
}
