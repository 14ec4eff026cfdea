package terminal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// TestCommandsActOnTheConfigThatIsShown has a config in a project.
func TestCommandsActOnTheConfigThatIsShown(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, elsewhere := filepath.Join(dir, "project"), filepath.Join(dir, "elsewhere")
	for _, d := range []string{project, elsewhere} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(project, "bulkhead.toml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	in := func(dir string) discovery.Options {
		return discovery.Options{System: discovery.System{Dir: dir, LookupEnv: func(string) (string, bool) { return "", false }}}
	}
	byProject, named := in(elsewhere), in(elsewhere)
	byProject.Project, named.ConfigFile = project, "other.toml"
	config, atProject := " --config "+visible.ShellWord(file), " --project "+visible.ShellWord(project)
	for name, c := range map[string]struct {
		o              discovery.Options
		remove, policy string
	}{
		"by --project":             {byProject, config, atProject},
		"by the working directory": {in(project), config, ""},
		"by --config":              {named, " --config " + visible.ShellWord(filepath.Join(elsewhere, "other.toml")), " --config " + visible.ShellWord(filepath.Join(elsewhere, "other.toml"))},
		"none":                     {in(elsewhere), "", ""},
	} {
		if got, want := Command(c.o, "remove", "x"), "bulkhead remove x"+c.remove; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if got, want := Command(c.o, "policy"), "bulkhead policy"+c.policy; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
