package catalog_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// A project that is named is not extended to the repository around it. Who needs the repository is told how to get it.
func TestProjectThatIsPartOfRepositoryCausesWarning(t *testing.T) {
	const asks = "[[capabilities.git]]\nrepo = '${project}'\naccess = 'r'\n"
	for name, c := range map[string]struct {
		capabilities, project, config string
		warns                         bool
	}{
		"a part":                            {asks, "repo/part", "", true},
		"the top level":                     {asks, "repo", "", false},
		"no repository":                     {asks, "other", "", false},
		"a repository in it":                {asks, "repo/own", "", false},
		"a plugin without git":              {"", "repo/part", "", false},
		"a part, and the repository itself": {strings.Replace(asks, "${project}", "*", 1), "repo/part", "[[plugins]]\npath = '../plugins/a'\ngit = [{ repo = '${project}', access = 'r' }, { repo = '$W/repo', access = 'r' }]\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), c.capabilities+hosttest.Reads("a_reads")),
				hosttest.Files{"repo/.git": "/", "repo/part": "/", "repo/own/.git": "/", "other": "/"})
			if c.config != "" {
				w.Write(t, hosttest.Files{"work/bulkhead.toml": strings.ReplaceAll(c.config, "$W", w.Dir)})
			}
			o := w.Options()
			o.Project = filepath.Join(w.Dir, c.project)
			if got := w.Open(t, o).Plugins()[0]; got.Problem != "" {
				t.Fatalf("the plugin is left out: %s", got.Problem)
			}
			text := "the project " + o.Project + " is a part of the repository " + filepath.Join(w.Dir, "repo") + ", which is not granted"
			if got := strings.Contains(w.Log.String(), text) && strings.Contains(w.Log.String(), "pass --project "+filepath.Join(w.Dir, "repo")+" to make"); got != c.warns {
				t.Errorf("want a warning: %t; the log is\n%s", c.warns, w.Log.String())
			}
		})
	}
}
