package host

import (
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/discovery"
)

// asking asks for the plugin's state folder; what it needs none for goes without.
const asking = "[[capabilities.fs]]\npath = \"${state}\"\naccess = \"rw\"\n"

// problems are the plugins' problems by name.
func problems(h *Host) map[string]string {
	all := map[string]string{}
	for _, p := range h.Plugins() {
		all[p.Name] = p.Problem
	}
	return all
}

func TestAStateDirectoryThatCannotBeUsedDisablesWhatNeedsIt(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, w *world) error
		want  []string
		log   string
	}{
		"others can write it": {func(t *testing.T, w *world) error { return os.Chmod(w.dir+"/state/bulkhead", 0o777) },
			[]string{"$W/state/bulkhead can be written by others", "mode 0777", "chmod go-w $W/state/bulkhead"}, "no plugin gets a state folder"},
		"others can write what holds it": {func(t *testing.T, w *world) error { return os.Chmod(w.dir+"/state", 0o757) },
			[]string{"$W/state/bulkhead cannot be trusted: $W/state can be written by others"}, "no plugin gets a state folder"},
		"another user owns it": {func(t *testing.T, w *world) error {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a directory to another user")
			}
			return os.Chown(w.dir+"/state/bulkhead", 54321, 54321)
		}, []string{"$W/state/bulkhead belongs to another user (user id 54321"}, "no plugin gets a state folder"},
		"a file is in its place": {func(t *testing.T, w *world) error {
			if err := os.Remove(w.dir + "/state/bulkhead"); err != nil {
				return err
			}
			return os.WriteFile(w.dir+"/state/bulkhead", nil, 0o600)
		}, []string{"$W/state/bulkhead is not a directory"}, "no plugin gets a state folder"},
		"a file is in the place of the plugin's own": {func(t *testing.T, w *world) error { return os.WriteFile(w.dir+"/state/bulkhead/needs", nil, 0o600) },
			[]string{"the state folder $W/state/bulkhead/needs cannot be made", "not a directory", "XDG_STATE_HOME"}, "the plugin gets no state folder"},
		"it is read-only": {func(t *testing.T, w *world) error {
			if os.Geteuid() == 0 {
				t.Skip("root can write to any directory")
			}
			return os.Chmod(w.dir+"/state/bulkhead", 0o500)
		}, []string{"the state folder $W/state/bulkhead/needs cannot be made", "permission denied"}, "the plugin gets no state folder"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, handmade("needs", answering(done), asking+reads("needs_reads")), handmade("other", answering(done), reads("other_reads")),
				files{"state/bulkhead": "/"})
			if err := c.spoil(t, w); err != nil {
				t.Fatal(err)
			}
			h := w.open(t, w.options())
			got := problems(h)
			for _, want := range c.want {
				if want = strings.ReplaceAll(want, "$W", w.dir); !strings.Contains(got["needs"], want) {
					t.Errorf("got %q, want %q", got["needs"], want)
				}
			}
			if got["other"] != "" || !strings.Contains(w.log.String(), c.log) {
				t.Errorf("%v, logged %s", got, w.log.String())
			}
			if answer := asked(t, h, "other_reads", `{}`); answer.IsError || answer.Error != nil {
				t.Errorf("%+v", answer)
			}
		})
	}
}

func TestAStateFolderThatExistsIsGrantedWhereNoneCanBeMade(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can write to any directory")
	}
	w := newWorld(t, handmade("needs", answering(done), asking+reads("needs_reads")), files{"state/bulkhead/needs/kept": "x"})
	if err := os.Chmod(w.dir+"/state/bulkhead", 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(w.dir+"/state/bulkhead", 0o700) })
	h := w.open(t, w.options())
	if answer := asked(t, h, "needs_reads", `{}`); problems(h)["needs"] != "" || answer.IsError {
		t.Errorf("%v, %+v", problems(h), answer)
	}
}

// TestAStateDirectoryThatIsNotUsedIsHiddenStill: plugins see nothing of it, whoever owns it.
func TestAStateDirectoryThatIsNotUsedIsHiddenStill(t *testing.T) {
	w := newWorld(t, handmade("it", answering(done), reads("it_reads")), files{"state/bulkhead": "/"})
	if err := os.Chmod(w.dir+"/state/bulkhead", 0o777); err != nil {
		t.Fatal(err)
	}
	v, err := Look(w.options())
	if err != nil || v.Places.State != "" || !strings.Contains(strings.Join(v.HostFiles, " "), w.dir+"/state/bulkhead") {
		t.Errorf("%v, %+v", err, v)
	}
}

func TestACacheThatIsNotTheUsersOwnIsNotUsed(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, w *world) error{
		"others can write it":            func(t *testing.T, w *world) error { return os.Chmod(w.dir+"/cache/bulkhead", 0o770) },
		"others can write what holds it": func(t *testing.T, w *world) error { return os.Chmod(w.dir+"/cache", 0o757) },
		"another user owns it": func(t *testing.T, w *world) error {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a directory to another user")
			}
			return os.Chown(w.dir+"/cache/bulkhead", 54321, 54321)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, handmade("it", answering(done), reads("it_reads")), files{"cache/bulkhead": "/"})
			if err := spoil(t, w); err != nil {
				t.Fatal(err)
			}
			h := w.open(t, w.options())
			if answer := asked(t, h, "it_reads", `{}`); answer.IsError {
				t.Errorf("%+v", answer)
			}
			items, err := os.ReadDir(w.dir + "/cache/bulkhead")
			if err != nil || len(items) > 0 {
				t.Errorf("it holds %v, %v", items, err)
			}
			if log := w.log.String(); !strings.Contains(log, "[ERROR] compiled modules are not kept") || !strings.Contains(log, w.dir+"/cache") || !strings.Contains(log, " ch") {
				t.Errorf("logged %s", log)
			}
			if _, err := discovery.CacheDir(w.options().System); err == nil {
				t.Error("CacheDir does not say so")
			}
		})
	}
}
