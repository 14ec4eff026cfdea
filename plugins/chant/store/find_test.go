package store

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

func TestFind(t *testing.T) {
	tests := []struct {
		name    string
		files   map[string]string
		cwd     string
		project string
		want    string // the expected root, relative to the test's directory; "-" for ErrNotInitialized
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
			root := testenv.Tree(t, test.files)
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
		link   string // the path of a symbolic link to target; "" for no link
		target string
		want   string // the expected error, in which ROOT stands for the test's directory and a final ellipsis for any text
	}{
		{".chant links to outside", map[string]string{"p/": "", "out/specs/": ""}, "p/.chant", "../out", "ROOT/p/.chant is a symbolic link that points outside the project"},
		{".chant links to outside, not accessible", map[string]string{"p/": ""}, "p/.chant", "/unseen/chant", "ROOT/p/.chant is a symbolic link that points outside the project"},
		{".chant is a broken link", map[string]string{"p/": ""}, "p/.chant", "nowhere", "ROOT/p/.chant is a symbolic link that cannot be resolved: …"},
		{".chant links to itself", map[string]string{"p/": ""}, "p/.chant", ".chant", "ROOT/p/.chant is a symbolic link that cannot be resolved: …"},
		{"specs links to outside .chant", map[string]string{"p/.chant/": "", "p/specs/": ""}, "p/.chant/specs", "../specs", "ROOT/p/.chant/specs is a symbolic link that points outside the project's .chant directory"},
		{"specs links to outside .chant, not accessible", map[string]string{"p/.chant/": ""}, "p/.chant/specs", "/unseen", "ROOT/p/.chant/specs is a symbolic link that points outside the project's .chant directory"},
		{"specs is a broken link", map[string]string{"p/.chant/": ""}, "p/.chant/specs", "nowhere", "ROOT/p/.chant/specs is a symbolic link that cannot be resolved: …"},
		{"specs is a file", map[string]string{"p/.chant/specs": "x"}, "", "", "ROOT/p/.chant/specs is not a directory: …"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := testenv.Tree(t, test.files)
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

func TestContains(t *testing.T) {
	const (
		outside = " is a symbolic link that points outside the project's .chant directory"
		broken  = " is a symbolic link that cannot be resolved: "
	)
	tests := []struct {
		name   string
		link   string // the path of a symbolic link, relative to .chant
		target string // the target of the symbolic link; ROOT stands for the project
		path   string // the path that the test checks, relative to .chant
		want   string // the prefix of the expected error; "" for no error
	}{
		{"a file", "", "", "specs/a.md", ""},
		{"a path that does not exist", "", "", "logs/x/y.log", ""},
		{"a link to inside", "specs/l.md", "../kept.md", "specs/l.md", ""},
		{"an absolute link to inside", "specs/l.md", "ROOT/.chant/kept.md", "specs/l.md", ""},
		{"a link to inside by way of outside", "specs/l.md", "../../.chant/kept.md", "specs/l.md", ""},
		{"a link to outside", "specs/l.md", "../../secret.md", "specs/l.md", ".chant/specs/l.md" + outside},
		{"a link to a missing file outside", "specs/l.md", "../../none.md", "specs/l.md", ".chant/specs/l.md" + outside},
		{"a link to an inaccessible path outside", "logs/a.log", "/unseen/passwd", "logs/a.log", ".chant/logs/a.log" + outside},
		{"below a link to an inaccessible path outside", "logs", "/unseen", "logs/a.log", ".chant/logs/a.log" + outside},
		{"a missing file below a link to outside", "logs", "ROOT", "logs/a.log", ".chant/logs/a.log" + outside},
		{"a missing file below a link to inside", "logs", "other", "logs/a.log", ""},
		{"a broken link", "logs/a.log", "b.log", "logs/a.log", ".chant/logs/a.log" + broken},
		{"below a broken link", "logs", "none", "logs/a.log", ".chant/logs/a.log" + broken},
		{"a link to itself", "logs/a.log", "a.log", "logs/a.log", ".chant/logs/a.log" + broken},
	}
	for _, test := range tests {
		for _, chant := range []string{"a directory", "a link"} {
			t.Run(test.name+", where .chant is "+chant, func(t *testing.T) {
				files := map[string]string{"secret.md": "", ".chant/kept.md": "", ".chant/specs/a.md": "", ".chant/other/": ""}
				if test.link != "logs" {
					files[".chant/logs/"] = ""
				}
				if chant == "a link" {
					for name := range files {
						if below, ok := strings.CutPrefix(name, ".chant/"); ok {
							files["real/"+below] = ""
							delete(files, name)
						}
					}
				}
				root := testenv.Tree(t, files)
				if chant == "a link" {
					symlink(t, "real", filepath.Join(root, ".chant"))
				}
				dir := Dir{Root: root}
				if test.link != "" {
					symlink(t, strings.ReplaceAll(test.target, "ROOT", root), filepath.Join(root, ".chant", test.link))
				}
				err := dir.Contains(filepath.Join(root, ".chant", test.path))
				if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
					t.Errorf("got  %v\nwant %s", err, test.want)
				}
			})
		}
	}
}

func TestReal(t *testing.T) {
	root := testenv.Tree(t, map[string]string{"real/specs/": ""})
	symlink(t, "real", filepath.Join(root, ".chant"))
	if got, err := (Dir{Root: root}).Real(); err != nil || got != filepath.Join(root, "real") {
		t.Errorf("got %s, %v", got, err)
	}
}
