package store

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	tests := []struct {
		name    string
		files   map[string]string
		cwd     string
		project string
		want    string // the root below the test's folder; "-" for ErrNotInitialized
	}{
		{"in the working directory", map[string]string{"p/.chant/specs/": ""}, "p", "p", "p"},
		{"in a parent", map[string]string{"p/.chant/specs/": "", "p/a/b/": ""}, "p/a/b", "p", "p"},
		{"the nearest counts", map[string]string{"p/.chant/specs/": "", "p/a/.chant/specs/": ""}, "p/a", "p", "p/a"},
		{"the nearest counts, even without specs", map[string]string{"p/.chant/specs/": "", "p/a/.chant/": ""}, "p/a", "p", "-"},
		{"never above the project", map[string]string{".chant/specs/": "", "p/a/": ""}, "p/a", "p", "-"},
		{"the project, if the working directory is elsewhere", map[string]string{"p/.chant/specs/": "", "q/.chant/specs/": ""}, "q", "p", "p"},
		{"a name that begins alike is elsewhere", map[string]string{"p/.chant/specs/": "", "pq/.chant/specs/": ""}, "pq", "p", "p"},
		{"a file of that name is none", map[string]string{"p/.chant": "x"}, "p", "p", "-"},
		{"12 specs that are a file are none", map[string]string{"p/.chant/specs": "x"}, "p", "p", "-"},
		{"12 nothing at all", map[string]string{"p/": ""}, "p", "p", "-"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := tree(t, test.files)
			dir, err := Find(filepath.Join(root, test.cwd), filepath.Join(root, test.project))
			if test.want == "-" {
				if !errors.Is(err, ErrNotInitialized) {
					t.Errorf("got %+v, %v, want ErrNotInitialized", dir, err)
				}
				return
			}
			if err != nil || dir.Root != filepath.Join(root, test.want) {
				t.Errorf("got %+v, %v, want %s", dir, err, test.want)
			}
		})
	}
}

func TestFindRefusesLinksOut(t *testing.T) {
	root := tree(t, map[string]string{"out/specs/": "", "p/": "", "q/.chant/": "", "r/": ""})
	symlink(t, filepath.Join(root, "out"), filepath.Join(root, "p", ".chant"))
	symlink(t, filepath.Join(root, "out", "specs"), filepath.Join(root, "q", ".chant", "specs"))
	symlink(t, filepath.Join(root, "nowhere"), filepath.Join(root, "r", ".chant"))
	for project, want := range map[string]string{
		"p": "leads out of", "q": "leads out of", "r": "cannot be followed",
	} {
		at := filepath.Join(root, project)
		if dir, err := Find(at, at); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v, want an error with %q", project, dir, err, want)
		}
	}
}
