package catalog_test

import (
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
)

// asking is the request of a manifest for the plugin's state directory.
const asking = "[[capabilities.fs]]\npath = \"${state}\"\naccess = \"rw\"\n"

// problems returns the problem of each plugin by the plugin's name.
func problems(h *host.Host) map[string]string {
	all := map[string]string{}
	for _, p := range h.Plugins() {
		all[p.Name] = p.Problem
	}
	return all
}

func TestUnusableStateDirectoryDisablesOnlyPluginsThatNeedIt(t *testing.T) {
	const readOnly = "it is read-only"
	for name, c := range map[string]struct {
		spoil func(t *testing.T, w *hosttest.World) error
		want  []string
		log   string
	}{
		"others can write it": {func(t *testing.T, w *hosttest.World) error { return os.Chmod(w.Dir+"/state/bulkhead", 0o777) },
			[]string{"$W/state/bulkhead can be written by others", "mode 0777", "chmod go-w $W/state/bulkhead"}, "no plugin gets a state directory"},
		"others can write what holds it": {func(t *testing.T, w *hosttest.World) error { return os.Chmod(w.Dir+"/state", 0o757) },
			[]string{"$W/state/bulkhead cannot be trusted: $W/state can be written by others"}, "no plugin gets a state directory"},
		"another user owns it": {func(t *testing.T, w *hosttest.World) error {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a directory to another user")
			}
			return os.Chown(w.Dir+"/state/bulkhead", 54321, 54321)
		}, []string{"$W/state/bulkhead belongs to another user (user id 54321"}, "no plugin gets a state directory"},
		"a file is in its place": {func(t *testing.T, w *hosttest.World) error {
			if err := os.Remove(w.Dir + "/state/bulkhead"); err != nil {
				return err
			}
			return os.WriteFile(w.Dir+"/state/bulkhead", nil, 0o600)
		}, []string{"$W/state/bulkhead is not a directory"}, "no plugin gets a state directory"},
		"a file is in the place of the plugin's own": {func(t *testing.T, w *hosttest.World) error {
			return os.WriteFile(w.Dir+"/state/bulkhead/needs", nil, 0o600)
		},
			[]string{"the state directory $W/state/bulkhead/needs cannot be created", "not a directory", "XDG_STATE_HOME"}, "the plugin gets no state directory"},
		readOnly: {func(t *testing.T, w *hosttest.World) error {
			t.Cleanup(func() { _ = os.Chmod(w.Dir+"/state/bulkhead", 0o700) })
			return os.Chmod(w.Dir+"/state/bulkhead", 0o500)
		}, []string{"the state directory $W/state/bulkhead/needs cannot be created", "permission denied"}, "the plugin gets no state directory"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == readOnly && testenv.AsNobody(t) {
				return
			}
			w := hosttest.New(t, hosttest.Plugin("needs", wasmtest.Answering(hosttest.Done), asking+hosttest.Reads("needs_reads")), hosttest.Plugin("other", wasmtest.Answering(hosttest.Done), hosttest.Reads("other_reads")),
				hosttest.Files{"state/bulkhead": "/"})
			if err := c.spoil(t, w); err != nil {
				t.Fatal(err)
			}
			h := w.Open(t, w.Options())
			got := problems(h)
			for _, want := range c.want {
				if want = strings.ReplaceAll(want, "$W", w.Dir); !strings.Contains(got["needs"], want) {
					t.Errorf("got %q, want %q", got["needs"], want)
				}
			}
			if got["other"] != "" || !strings.Contains(w.Log.String(), c.log) {
				t.Errorf("got the problems %v, want none for the plugin that needs no state directory; the log: %s", got, w.Log.String())
			}
			if answer := hosttest.Call(t, h, "other_reads", `{}`); answer.IsError || answer.Error != nil {
				t.Errorf("the call of the plugin that needs no state directory failed: %+v", answer)
			}
		})
	}
}

func TestExistingStateDirectoryInReadOnlyParentIsGranted(t *testing.T) {
	if testenv.AsNobody(t) {
		return
	}
	w := hosttest.New(t, hosttest.Plugin("needs", wasmtest.Answering(hosttest.Done), asking+hosttest.Reads("needs_reads")), hosttest.Files{"state/bulkhead/needs/kept": "x"})
	if err := os.Chmod(w.Dir+"/state/bulkhead", 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(w.Dir+"/state/bulkhead", 0o700) })
	h := w.Open(t, w.Options())
	if answer := hosttest.Call(t, h, "needs_reads", `{}`); problems(h)["needs"] != "" || answer.IsError {
		t.Errorf("got the problems %v and the answer %+v; want the plugin to work", problems(h), answer)
	}
}

// TestUnusedStateDirectoryIsHidden checks that a state directory that the host refuses to use is hidden from plugins.
func TestUnusedStateDirectoryIsHidden(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("it", wasmtest.Answering(hosttest.Done), hosttest.Reads("it_reads")), hosttest.Files{"state/bulkhead": "/"})
	if err := os.Chmod(w.Dir+"/state/bulkhead", 0o777); err != nil {
		t.Fatal(err)
	}
	v, err := catalog.Look(w.Options())
	if err != nil || v.Places.State != "" || !strings.Contains(strings.Join(v.HostFiles, " "), w.Dir+"/state/bulkhead") {
		t.Errorf("Look returned the error %v and %+v; want no state directory, and the refused one among the host's files", err, v)
	}
}
