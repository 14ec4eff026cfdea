package host_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// twoProjects has two projects, and a plugin that writes in its project and in its state directory.
func twoProjects(t *testing.T, more string) *hosttest.World {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), "[[capabilities.fs]]\npath = '${project}'\naccess = 'rw'\n[[capabilities.fs]]\npath = '${state}'\naccess = 'rw'\n"+hosttest.Writes("a_writes")),
		hosttest.Files{"one/x": "", "two/x": ""})
	w.Write(t, hosttest.Files{"work/bulkhead.toml": fmt.Sprintf("[[plugins]]\npath = '../plugins/a'\nfs = [{ path = '${project}', access = 'rw' }, { path = '${state}', access = 'rw' }]\n"+
		"[[projects]]\nname = 'one'\npath = '%[1]s/one'\n[[projects]]\nname = 'two'\npath = '%[1]s/two'\n", w.Dir) + more})
	return w
}

// states returns the number of state directories of plugin a for projects.
func states(t *testing.T, w *hosttest.World) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(w.Dir, "state", "bulkhead", ".projects", "*", "a"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// TestProjectsHaveEndpointsOfTheirOwn checks that each project has an endpoint with its own workers and state, and that a path of no project
// has none.
func TestProjectsHaveEndpointsOfTheirOwn(t *testing.T) {
	w := twoProjects(t, "")
	url, end := serveHTTP(t, w.Open(t, w.Options()), host.HTTPOptions{Address: "127.0.0.1:0"})
	defer func() { _ = end() }()
	for i, endpoint := range []string{"", "/one", "/two"} {
		status, body := callTool(t, url+endpoint, "", "a_writes")
		if status != http.StatusOK || !strings.Contains(body, `"done"`) {
			t.Errorf("%s: %d %s", endpoint, status, body)
		}
		if n := states(t, w); n != i {
			t.Errorf("after a call at %q, %d projects have a state directory, want %d", endpoint, n, i)
		}
	}
	if _, err := os.Stat(filepath.Join(w.Dir, "state", "bulkhead", "a")); err != nil {
		t.Errorf("the state of the server's own project: %v", err)
	}
	for _, endpoint := range []string{"/three", "/", "/one/", "/one/x", "/ONE", "/..%2fone"} {
		if status, body := callTool(t, url+endpoint, "", "a_writes"); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", endpoint, status, body)
		}
	}
}

func TestInvalidProjectsAreRefusedAtStart(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), hosttest.Files{"one/x": ""})
	for path, want := range map[string]string{
		"'" + w.Dir + "/none'":                   "projects[0].path",
		"'" + w.Dir + "/one/x'":                  "is not a directory",
		"'/'":                                    "everything in it would be granted",
		"'" + w.Dir + "/home'":                   "everything in it would be granted",
		"'relative'":                             "projects[0].path: is not absolute",
		"'/x'\n[[projects]]\nname='p'\npath='/'": "is the name of two projects",
	} {
		w.Write(t, hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\n[[projects]]\nname = 'p'\npath = " + path + "\n"})
		_, err := host.Open(w.Options())
		hosttest.WantUsage(t, err, want)
	}
}
