package doctor_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/doctor"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// lines formats checks without paths of the workspace.
func lines(w *admintest.Workspace, checks []doctor.Check) []string {
	var out []string
	for _, c := range checks {
		out = append(out, strings.ReplaceAll(c.Outcome+" "+c.Name+": "+c.Detail, w.Dir, "$W"))
	}
	return out
}

func TestTryCeiling(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no ceiling on Windows")
	}
	w := admintest.NewGranted(t)
	const config = "config $W/work/bulkhead.toml"
	for name, c := range map[string]struct {
		ceiling string
		want    []string // one of the checks each; the first one is not that of the ceiling
		not     string   // part of no check
	}{
		"one that bounds nothing": {"[ceiling]\n", []string{"ok " + config + ": nothing would change for its 3 plugins"}, "failed"},
		"one that cuts": {admintest.StrictCeiling, []string{
			"warning " + config + ": first: removed: tool first_read read", "warning " + config + ": first: removed: directory $W/work rw",
			"warning " + config + ": first: added: directory $W/work r", "warning " + config + ": first: removed: web server https://a.example",
			"warning " + config + ": second: added: limit time 2s", "warning " + config + ": second: added: hidden files **/*.key"}, "broken"},
		"one that allows one plugin": {"[[plugins]]\nname = \"second\"\n", []string{"failed " + config + ": first: would not be served: "}, "second:"},
		"one that needs an audit":    {"[audit]\nrequired = true\n", []string{"failed " + config + ": nothing would be served: "}, "first"},
		"one that is not valid":      {"[ceiling]\nunknown = 1\n", []string{"failed ceiling: "}, "config"},
	} {
		t.Run(name, func(t *testing.T) {
			w.Write(t, "new.toml", c.ceiling)
			before := testenv.ReadFiles(t, w.Dir)
			got := lines(w, doctor.TryCeiling(w.Options(), w.Path("new.toml")))
			for _, want := range c.want {
				if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, want) }) {
					t.Errorf("%q is missing in\n%s", want, strings.Join(got, "\n"))
				}
			}
			if strings.Contains(strings.Join(got, "\n"), c.not) {
				t.Errorf("%q is in\n%s", c.not, strings.Join(got, "\n"))
			}
			hosttest.WantEqual(t, testenv.ReadFiles(t, w.Dir), before)
		})
	}
	got := lines(w, doctor.TryCeiling(w.Options(), w.Path("absent.toml")))
	if len(got) != 1 || !strings.HasPrefix(got[0], "failed ceiling: ") {
		t.Errorf("an absent file: got %q", got)
	}
}

// TestTryCeilingComparesWithCurrentCeiling tries a ceiling that relaxes the one of the machine.
func TestTryCeilingComparesWithCurrentCeiling(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no ceiling on Windows")
	}
	w := admintest.NewGranted(t)
	w.Write(t, hosttest.Ceiling, admintest.StrictCeiling)
	w.Write(t, "new.toml", admintest.StrictCeiling)
	got := lines(w, doctor.TryCeiling(w.Options(), w.Path("new.toml")))
	if want := "ok config $W/work/bulkhead.toml: nothing would change for its 3 plugins"; !slices.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	w.Write(t, "new.toml", strings.Replace(admintest.StrictCeiling, "deny_tools = [\"first_read\"]\n", "", 1))
	got = lines(w, doctor.TryCeiling(w.Options(), w.Path("new.toml")))
	if want := "warning config $W/work/bulkhead.toml: first: added: tool first_read read"; !slices.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTryCeilingNamesSkillsOfProject(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no ceiling on Windows")
	}
	w := admintest.NewGranted(t)
	w.World.Write(t, hosttest.Skill("work/skills", "review"))
	w.World.Write(t, hosttest.Skill("work/skills", "tidy"))
	w.Config(t, "[server]\nname = \"x\"\nskills = [\"${project}/skills\"]\n"+w.Read(t, "work/bulkhead.toml"))
	for ceiling, want := range map[string][]string{
		"skills = false\n":      {"review", "tidy"},
		"deny = [\"review\"]\n": {"review"},
		"read_only = false\n":   nil,
	} {
		w.Write(t, "new.toml", "[ceiling]\n"+ceiling)
		var got []string
		for _, line := range lines(w, doctor.TryCeiling(w.Options(), w.Path("new.toml"))) {
			if name, ok := strings.CutPrefix(line, "warning config $W/work/bulkhead.toml: the skill "); ok {
				got = append(got, strings.TrimSuffix(name, " of the project would not be offered"))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", ceiling, got, want)
		}
	}
	// The plugin "first" may write the project.
	if got := lines(w, doctor.Examine(t.Context(), w.Options())); !slices.ContainsFunc(got, func(line string) bool {
		return strings.HasPrefix(line, "warning skills: plugin first may write in $W/work/skills: what it writes there instructs")
	}) {
		t.Errorf("no warning of a plugin that may write skills: %q", got)
	}
}

// TestTryCeilingLooksAtAllConfigs tries a ceiling in a directory without a config.
func TestTryCeilingLooksAtAllConfigs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no ceiling on Windows")
	}
	w := admintest.NewGranted(t)
	p, err := install.ProposeTrust(w.Discovering(), "")
	if err == nil {
		err = p.Write()
	}
	if err != nil {
		t.Fatal(err)
	}
	own := "[[plugins]]\npath = \"" + w.Path("plugins/second") + "\"\n"
	w.Write(t, "home/.config/bulkhead/bulkhead.toml", own)
	w.Write(t, "elsewhere/file", "")
	w.Write(t, "new.toml", "[[plugins]]\nname = \"none\"\n")
	o := w.Discovering()
	o.System.Dir = w.Path("elsewhere")
	check := func(want ...string) {
		t.Helper()
		got := lines(w, doctor.TryCeiling(o, w.Path("new.toml")))
		for _, want := range want {
			if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, want) }) {
				t.Errorf("%q is missing in\n%s", want, strings.Join(got, "\n"))
			}
		}
	}
	check("failed config $W/home/.config/bulkhead/bulkhead.toml: second: would not be served", "failed config $W/work/bulkhead.toml: first: would not be served")
	w.Config(t, w.Read(t, "work/bulkhead.toml")+"# changed\n")
	check("warning config $W/work/bulkhead.toml: has changed since it was trusted, so it is not tried")
	o.System.Dir = w.Path("work")
	check("warning config $W/work/bulkhead.toml: nothing is served with it now: ")
	w.Write(t, "work/bulkhead.toml", "not TOML")
	o = discovery.Options{System: o.System, ConfigFile: w.Path("work/bulkhead.toml")}
	check("warning config $W/work/bulkhead.toml: nothing is served with it now: ")
}
