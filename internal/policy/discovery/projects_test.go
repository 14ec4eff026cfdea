package discovery

import (
	"fmt"
	"os"
	"path/filepath"
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
		at, err := placesIn(places, filepath.Join(root, dir))
		if err != nil {
			t.Fatal(err)
		}
		linked, err := placesIn(places, filepath.Join(root, dir+"-link"))
		if err != nil || linked != at {
			t.Errorf("by a symbolic link: %v, %v, want %v", linked, err, at)
		}
		parts[at.StateDir("p")] = true
	}
	if len(parts) != 2 || parts["/state/p"] {
		t.Errorf("the state directories are %v", parts)
	}
}
