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

func TestFindRefuses(t *testing.T) {
	tests := []struct {
		name   string
		files  map[string]string
		link   string // is made, to target; "" for none
		target string
		want   string // with ROOT for the test's folder, to its end or an ellipsis
	}{
		{"a .chant that leads out", map[string]string{"p/": "", "out/specs/": ""}, "p/.chant", "../out", "ROOT/p/.chant is a link that leads out of the project"},
		{"a .chant that leads to where nothing is to be seen", map[string]string{"p/": ""}, "p/.chant", "/unseen/chant", "ROOT/p/.chant is a link that leads out of the project"},
		{"a .chant that leads nowhere", map[string]string{"p/": ""}, "p/.chant", "nowhere", "ROOT/p/.chant is a link that cannot be followed: …"},
		{"a .chant that leads to itself", map[string]string{"p/": ""}, "p/.chant", ".chant", "ROOT/p/.chant is a link that cannot be followed: …"},
		{"specs that lead out of .chant", map[string]string{"p/.chant/": "", "p/specs/": ""}, "p/.chant/specs", "../specs", "ROOT/p/.chant/specs is a link that leads out of the project's .chant folder"},
		{"specs that lead to where nothing is to be seen", map[string]string{"p/.chant/": ""}, "p/.chant/specs", "/unseen", "ROOT/p/.chant/specs is a link that leads out of the project's .chant folder"},
		{"specs that lead nowhere", map[string]string{"p/.chant/": ""}, "p/.chant/specs", "nowhere", "ROOT/p/.chant/specs is a link that cannot be followed: …"},
		{"specs that are a file", map[string]string{"p/.chant/specs": "x"}, "", "", "ROOT/p/.chant/specs is not a folder: …"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := tree(t, test.files)
			if test.link != "" {
				symlink(t, test.target, filepath.Join(root, test.link))
			}
			at := filepath.Join(root, "p")
			dir, err := Find(at, at)
			if err == nil {
				t.Fatalf("got %+v, want an error", dir)
			}
			want, open := strings.CutSuffix(strings.ReplaceAll(test.want, "ROOT", root), "…")
			if got := err.Error(); got != want && !(open && strings.HasPrefix(got, want)) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
