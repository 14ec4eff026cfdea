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
		want    string // the root, relative to the test's directory; "-" for ErrNotInitialized
	}{
		{"in the working directory", map[string]string{"p/.chant/specs/": ""}, "p", "p", "p"},
		{"in a parent directory", map[string]string{"p/.chant/specs/": "", "p/a/b/": ""}, "p/a/b", "p", "p"},
		{"the nearest has precedence", map[string]string{"p/.chant/specs/": "", "p/a/.chant/specs/": ""}, "p/a", "p", "p/a"},
		{"the nearest has precedence, even without specs", map[string]string{"p/.chant/specs/": "", "p/a/.chant/": ""}, "p/a", "p", "-"},
		{"never above the project", map[string]string{".chant/specs/": "", "p/a/": ""}, "p/a", "p", "-"},
		{"the project, if the working directory is not in it", map[string]string{"p/.chant/specs/": "", "q/.chant/specs/": ""}, "q", "p", "p"},
		{"a sibling whose name has the same prefix is not in the project", map[string]string{"p/.chant/specs/": "", "pq/.chant/specs/": ""}, "pq", "p", "p"},
		{"a file named .chant does not count", map[string]string{"p/.chant": "x"}, "p", "p", "-"},
		{"an empty project", map[string]string{"p/": ""}, "p", "p", "-"},
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
		link   string // created with target; "" for none
		target string
		want   string // with ROOT for the test's directory; an ellipsis stands for any suffix
	}{
		{".chant links to outside", map[string]string{"p/": "", "out/specs/": ""}, "p/.chant", "../out", "ROOT/p/.chant is a symbolic link that points outside the project"},
		{".chant links to outside, not accessible", map[string]string{"p/": ""}, "p/.chant", "/unseen/chant", "ROOT/p/.chant is a symbolic link that points outside the project"},
		{".chant is a broken link", map[string]string{"p/": ""}, "p/.chant", "nowhere", "ROOT/p/.chant is a symbolic link that cannot be resolved: …"},
		{".chant links to itself", map[string]string{"p/": ""}, "p/.chant", ".chant", "ROOT/p/.chant is a symbolic link that cannot be resolved: …"},
		{"specs links to outside .chant", map[string]string{"p/.chant/": "", "p/specs/": ""}, "p/.chant/specs", "../specs", "ROOT/p/.chant/specs is a symbolic link that points outside the project's .chant folder"},
		{"specs links to outside .chant, not accessible", map[string]string{"p/.chant/": ""}, "p/.chant/specs", "/unseen", "ROOT/p/.chant/specs is a symbolic link that points outside the project's .chant folder"},
		{"specs is a broken link", map[string]string{"p/.chant/": ""}, "p/.chant/specs", "nowhere", "ROOT/p/.chant/specs is a symbolic link that cannot be resolved: …"},
		{"specs is a file", map[string]string{"p/.chant/specs": "x"}, "", "", "ROOT/p/.chant/specs is not a folder: …"},
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
