package store

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestContains(t *testing.T) {
	const (
		outside = " is a symbolic link that points outside the project's .chant folder"
		broken  = " is a symbolic link that cannot be resolved: "
	)
	tests := []struct {
		name   string
		link   string // below .chant
		target string // ROOT stands for the project
		path   string // below .chant
		want   string // the error's prefix; "" for none
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
				root := tree(t, files)
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
	root := tree(t, map[string]string{"real/specs/": ""})
	symlink(t, "real", filepath.Join(root, ".chant"))
	if got, err := (Dir{Root: root}).Real(); err != nil || got != filepath.Join(root, "real") {
		t.Errorf("got %s, %v", got, err)
	}
}
