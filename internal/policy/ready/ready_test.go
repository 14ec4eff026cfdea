package ready_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/ready"
)

// world is a directory that contains a project, a home directory and a directory named outside. The plugin is granted the project
// and a directory in the home directory.
type world struct {
	m      *manifest.Manifest
	entry  config.Plugin
	grant  config.Grant
	places config.Places
}

func newWorld(t *testing.T, requires string) world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"project/sub/deep", "home/.own", "outside/specs"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m, problems := manifest.Parse("plugin.toml", fmt.Appendf(nil, `manifest = 1
plugin = { name = "p", version = "0.1.0", description = "…" }
module = { file = "p.wasm" }
tools = [{ name = "a", description = "…", access = "read" }, { name = "b", description = "…", access = "read" }]
[capabilities]
env = ["NAME", "ROOT"]
fs = [{ path = "${project}", access = "rw" }, { path = "${home}/.own", access = "rw" }]
%s`, requires))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	places := config.Places{Project: dir + "/project", Cwd: dir + "/project/sub/deep", Home: dir + "/home"}
	grant, problems := config.Decide(m, config.Plugin{Line: 1}, config.Defaults{}, places, config.Flags{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return world{m, config.Plugin{}, grant, places}
}

// lacks describes the requirements that are not met. $DIR stands for the directory of the world.
func (w world) lacks() string {
	var all []string
	for _, l := range ready.Check(w.m, w.entry, w.grant, w.places) {
		all = append(all, strings.ReplaceAll(l.String(), filepath.Dir(w.places.Home), "$DIR"))
	}
	return strings.Join(all, "\n")
}

const specs = "[[requires]]\nwhy = 'specs'\n"

func configured(w *world) error { w.entry.Line = 1; return nil }

func TestCheck(t *testing.T) {
	const initialize = ": run `bulkhead init --plugin p`"
	for name, c := range map[string]struct {
		requires string
		change   func(w *world) error
		want     string
	}{
		"variable that is not granted":          {"env = 'NAME'", nil, "the variable NAME (specs) is not granted: pass --env NAME=VALUE, or write env = { NAME = \"…\" } for the plugin in bulkhead.toml"},
		"variable with a value for init":        {"env = 'NAME'\nvalue = '{project}'", nil, "the variable NAME (specs) is not granted" + initialize},
		"variable, in a config":                 {"env = 'NAME'\nvalue = '${env:NAME}'", configured, "the variable NAME (specs) is not granted: write env = { NAME = \"${env:NAME}\" } for the plugin in bulkhead.toml"},
		"variable without a value, in a config": {"env = 'NAME'", configured, "the variable NAME (specs) is not granted: write env = { NAME = \"…\" } for the plugin in bulkhead.toml"},
		"path that is not granted, in a config": {"grant = '${home}/.other'", configured, "${home}/.other (specs) is not granted: add it to fs in the plugin's table of bulkhead.toml"},
		"variable that is empty":                {"env = 'NAME'\nvalue = 'x'", func(w *world) error { w.grant.Env["NAME"] = ""; return nil }, "the variable NAME (specs) is empty" + initialize},
		"variable that is granted":              {"env = 'NAME'", func(w *world) error { w.grant.Env["NAME"] = "x"; return nil }, ""},
		"granted path that does not exist":      {"grant = '${home}/.own/sub'", nil, ""},
		"path that is not granted":              {"grant = '${home}/.other'", nil, "${home}/.other (specs) is not granted" + initialize},
		"no path exists":                        {"paths = ['${project}/a', '${project}/b']", nil, "$DIR/project/a (specs) does not exist: create it"},
		"no path exists, and init makes it":     {"paths = ['${project}/a']\ncreate = [{ path = '${project}/a' }]", nil, "$DIR/project/a (specs) does not exist" + initialize},
		"one path exists":                       {"paths = ['${project}/a', '${project}/sub']", nil, ""},
		"path that exists, but not granted":     {"paths = ['${home}']", nil, "${home} (specs) is not granted" + initialize},
		"path in the working directory":         {"paths = ['${cwd}/.x']", func(w *world) error { return os.Mkdir(w.places.Cwd+"/.x", 0o755) }, ""},
		"path in its parent":                    {"paths = ['${cwd}/.x']", func(w *world) error { return os.Mkdir(w.places.Project+"/sub/.x", 0o755) }, ""},
		"path in the project":                   {"paths = ['${cwd}/.x']", func(w *world) error { return os.Mkdir(w.places.Project+"/.x", 0o755) }, ""},
		"path above the project":                {"paths = ['${cwd}/outside']", nil, "$DIR/project/outside (specs) does not exist: create it"},
		"working directory elsewhere":           {"paths = ['${cwd}/.x']", func(w *world) error { w.places.Cwd = "/"; return os.Mkdir(w.places.Project+"/.x", 0o755) }, ""},
		"path in a variable": {"paths = ['${env:ROOT}/x', '${home}/.own/x']", func(w *world) error {
			w.grant.Env["ROOT"] = w.places.Project
			return os.Mkdir(w.places.Project+"/x", 0o755)
		}, ""},
		"variable that is not a path":              {"paths = ['${env:ROOT}/sub', '${home}/.own/x']", func(w *world) error { w.grant.Env["ROOT"] = "project"; return nil }, "$DIR/home/.own/x (specs) does not exist: create it"},
		"variable with a path that is not granted": {"paths = ['${env:ROOT}/specs', '${home}/.own/x']", func(w *world) error { w.grant.Env["ROOT"] = w.places.Home + "/../outside"; return nil }, "${env:ROOT}/specs (specs) is not granted: run `bulkhead init --plugin p`"},
		"variable decides":                         {"paths = ['${env:ROOT}/x', '${home}/.own']\ncreate = [{ path = '${home}/.own/x' }]", func(w *world) error { w.grant.Env["ROOT"] = w.places.Project; return nil }, "$DIR/project/x (specs) does not exist: create it"},
		"symbolic link out of the project":         {"paths = ['${project}/link/specs']", func(w *world) error { return os.Symlink("../outside", w.places.Project+"/link") }, "$DIR/project/link/specs (specs) does not exist: create it"},
		"symbolic link in the project":             {"paths = ['${project}/link/deep']", func(w *world) error { return os.Symlink("sub", w.places.Project+"/link") }, ""},
		"dangling symbolic link":                   {"paths = ['${project}/link']", func(w *world) error { return os.Symlink("none", w.places.Project+"/link") }, "$DIR/project/link (specs) does not exist: create it"},
		"no project":                               {"paths = ['${cwd}/.x']", func(w *world) error { w.places.Project = ""; return nil }, "${cwd}/.x (specs) is not granted" + initialize},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, specs+c.requires)
			if c.change != nil {
				if err := c.change(&w); err != nil {
					t.Fatal(err)
				}
			}
			if got := w.lacks(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func permitAll(string) error { return nil }

// create creates what the first requirement names, and returns the created paths relative to the directory of the world.
func (w world) create() ([]string, error) {
	files, err := ready.Missing(w.m, w.m.Requires[0], w.places, permitAll)
	if err != nil {
		return nil, err
	}
	created, err := ready.Create(files)
	for i := range created {
		created[i], _ = filepath.Rel(filepath.Dir(w.places.Home), created[i])
	}
	return created, err
}

func TestCreateMakesThePluginReady(t *testing.T) {
	w := newWorld(t, specs+`paths = ["${project}/.x/specs"]
create = [{ path = "${project}/.x/config", content = "name: {project}\n" }, { path = "${project}/.x/specs" }, { path = "${home}/.own/f", content = "" }]`)
	created, err := w.create()
	want := []string{"project/.x", "project/.x/config", "project/.x/specs", "home/.own/f"}
	if err != nil || !slices.Equal(created, want) {
		t.Errorf("got %q, %v; want %q", created, err, want)
	}
	if data, err := os.ReadFile(w.places.Project + "/.x/config"); err != nil || string(data) != "name: project\n" {
		t.Errorf("got %q, %v", data, err)
	}
	if got := w.lacks(); got != "" {
		t.Errorf("after Create, the plugin still lacks %s", got)
	}
	if created, err := w.create(); err != nil || len(created) > 0 {
		t.Errorf("a second Create: got %q, %v; want nothing created", created, err)
	}
	if left, err := filepath.Glob(w.places.Project + "/.x/.bulkhead*"); err != nil || len(left) > 0 {
		t.Errorf("temporary files remain: %q, %v", left, err)
	}
}

func TestCreateKeepsExistingFiles(t *testing.T) {
	w := newWorld(t, specs+`paths = ["${project}/x"]
create = [{ path = "${project}/f", content = "new" }, { path = "${project}/x", content = "" }]`)
	files, err := ready.Missing(w.m, w.m.Requires[0], w.places, permitAll)
	if err != nil {
		t.Fatal(err)
	}
	// The file appears after the plan was made.
	if err := os.WriteFile(w.places.Project+"/f", []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	created, err := ready.Create(files)
	if err != nil || len(created) != 1 {
		t.Errorf("got %q, %v", created, err)
	}
	if data, err := os.ReadFile(w.places.Project + "/f"); err != nil || string(data) != "old" {
		t.Errorf("got %q, %v", data, err)
	}
}

func TestCreateFollowsNoLinkOutOfTheProject(t *testing.T) {
	for name, link := range map[string]string{"relative": "../outside", "absolute": "/tmp", "dangling": "../outside/none"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, specs+`paths = ["${project}/link/x"]
create = [{ path = "${project}/link/x", content = "" }]`)
			if err := os.Symlink(link, w.places.Project+"/link"); err != nil {
				t.Fatal(err)
			}
			created, err := w.create()
			if err == nil || len(created) > 0 || !strings.Contains(err.Error(), "/project/link is a symbolic link to a path outside of ") {
				t.Errorf("got %q, %v", created, err)
			}
			if _, err := os.Lstat(filepath.Dir(w.places.Home) + "/outside/x"); err == nil {
				t.Error("a file was created outside of the project")
			}
		})
	}
}

func TestCreateNamesWhatItCreatedBeforeAnError(t *testing.T) {
	w := newWorld(t, specs+`paths = ["${project}/b/c"]
create = [{ path = "${project}/a", content = "" }, { path = "${project}/b/c", content = "" }]`)
	if err := os.WriteFile(w.places.Project+"/b", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	created, err := w.create()
	if err == nil || !slices.Equal(created, []string{"project/a"}) {
		t.Errorf("got %q, %v", created, err)
	}
}

// Permissions may change while the user decides whether to consent.
func TestPermissionIsCheckedAgainBeforeCreation(t *testing.T) {
	w := newWorld(t, specs+`paths = ["${project}/b"]
create = [{ path = "${project}/a", content = "" }, { path = "${project}/b", content = "" }]`)
	refused := errors.New("not permitted")
	refuse := ""
	permit := func(path string) error {
		if filepath.Base(path) == refuse {
			return refused
		}
		return nil
	}
	refuse = "a"
	if files, err := ready.Missing(w.m, w.m.Requires[0], w.places, permit); !errors.Is(err, refused) || len(files) > 0 {
		t.Errorf("Missing with a refused file: got %v, %v", files, err)
	}
	refuse = ""
	files, err := ready.Missing(w.m, w.m.Requires[0], w.places, permit)
	if err != nil {
		t.Fatal(err)
	}
	refuse = "b"
	created, err := ready.Create(files)
	if want := []string{w.places.Project + "/a"}; !errors.Is(err, refused) || !slices.Equal(created, want) {
		t.Errorf("created: got %q, %v, want %q", created, err, want)
	}
}

func TestProjectNameNeedsNoQuotes(t *testing.T) {
	for dir, want := range map[string]string{"/a/orchard": "orchard", "/a/my app": "my-app", "/a/.x": "x", "/a/日本": "project", "/a/a'b\n": "a-b"} {
		if got := ready.ProjectName(config.Places{Project: dir}); got != want {
			t.Errorf("%q: got %q, want %q", dir, got, want)
		}
	}
}
