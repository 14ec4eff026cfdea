package discovery

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// TestAreasOfProjects checks that projects of which one contains the other are in one area, also by a chain of them.
func TestAreasOfProjects(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b/c", "ab", "d"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		own      string
		projects []string
		want     string
	}{
		{"d", []string{"a", "ab"}, "[p0 p1]"},
		{"d", []string{"a", "a"}, "[p0 p0]"},
		{"d", []string{"a/b", "a", "ab"}, "[p0 p0 p2]"},
		{"d", []string{"a/b/c", "ab", "a"}, "[p0 p1 p0]"},
		{"a", []string{"ab", "a/b"}, "[p0 ]"},
		{"a/b", []string{"ab", "a", "a/b/c"}, "[p0  ]"},
		{"", []string{"a/b", "."}, "[p0 p0]"},
		{"a", []string{"d", "ab", "."}, "[  ]"},
	} {
		path := func(dir string) string {
			if dir == "" {
				return ""
			}
			return filepath.Join(root, dir)
		}
		var projects []Project
		for i, dir := range c.projects {
			projects = append(projects, Project{Name: fmt.Sprint("p", i), Places: config.Places{Project: path(dir)}})
		}
		setAreas(projects, path(c.own))
		var got []string
		for _, p := range projects {
			got = append(got, p.Area)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%q in %q: got the areas %q, want %s", c.projects, c.own, got, c.want)
		}
	}
}

// TestStateOfProjectBelongsToItsDirectory checks that a name that is given to another directory does not get the state of the first one.
func TestStateOfProjectBelongsToItsDirectory(t *testing.T) {
	root := t.TempDir()
	parts := map[string]bool{}
	for _, dir := range []string{"one", "two"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(root, dir), filepath.Join(root, dir+"-link")); err != nil {
			t.Skip(err)
		}
		places := config.Places{State: "/state"}
		at, err := placesIn(places, config.Project{Path: filepath.Join(root, dir)})
		if err != nil {
			t.Fatal(err)
		}
		linked, err := placesIn(places, config.Project{Path: filepath.Join(root, dir+"-link")})
		if err != nil || linked != at {
			t.Errorf("by a symbolic link: %v, %v, want %v", linked, err, at)
		}
		parts[at.StateDir("p")] = true
	}
	if len(parts) != 2 || parts["/state/p"] {
		t.Errorf("the state directories are %v", parts)
	}
}

// TestStateOfProjectOverlapsWithNothing checks that a project with a state directory of its own gets that one, and that it may not overlap with
// a project, with the state of another one, or with that of the server.
func TestStateOfProjectOverlapsWithNothing(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"own", "a", "b", "states/b"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(root, "a/sub"), 0o755), os.Symlink(root+"/a/sub", root+"/link")); err != nil {
		t.Skip(err)
	}
	if err := os.Mkdir(filepath.Join(root, "shared"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "shared"), 0o777); err != nil {
		t.Fatal(err)
	}
	places := config.Places{Project: root + "/own", State: root + "/states/server", Home: root + "/home/me"}
	for state, want := range map[string]string{
		"states/a": "", "a-state": "",
		"a/state": "the project a", "a": "the project a", "b/state": "the project b", "own/state": "the server's project",
		"states/b": "the state directory of the project b", "states/b/a": "the state directory of the project b",
		"states": "the server's state directory", "states/server": "the server's state directory", "states/server/x": "the server's state directory",
		"home": "the home directory is in it", "shared/a": "can be written by others",
		"link": "the project a", "link/state": "the project a",
	} {
		config := &config.Config{File: "f", Files: make([]config.File, 1), Projects: []config.Project{
			{Name: "b", Path: root + "/b", State: root + "/states/b", Key: "projects[0]"},
			{Name: "a", Path: root + "/a", State: filepath.Join(root, state), File: "f", Key: "projects[1]", StateLine: 3},
		}}
		projects, err := findProjects(config, places)
		switch {
		case want != "":
			if problem := "f:3: projects[1].state"; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), problem) {
				t.Errorf("state %s: got %v, want %s of %s", state, err, want, problem)
			}
		case err != nil:
			t.Errorf("state %s: %v", state, err)
		default:
			if got := projects[1].Places.StateDir("p"); got != filepath.Join(root, state, "p") {
				t.Errorf("state %s: the state directory is %s", state, got)
			}
		}
	}
}
