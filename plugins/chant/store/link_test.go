package store

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestContains(t *testing.T) {
	const (
		leadsOut = " is a link that leads out of the project's .chant folder"
		dangling = " is a link that cannot be followed: "
	)
	tests := []struct {
		name   string
		link   string // below .chant
		target string // ROOT stands for the project
		path   string // below .chant
		want   string // the error's beginning; "" for none
	}{
		{"a file", "", "", "specs/a.md", ""},
		{"what is not there", "", "", "logs/x/y.log", ""},
		{"a link within", "specs/l.md", "../kept.md", "specs/l.md", ""},
		{"an absolute link within", "specs/l.md", "ROOT/.chant/kept.md", "specs/l.md", ""},
		{"a link that leaves and comes back", "specs/l.md", "../../.chant/kept.md", "specs/l.md", ""},
		{"a link out of .chant", "specs/l.md", "../../secret.md", "specs/l.md", ".chant/specs/l.md" + leadsOut},
		{"a link to what is not there, out of .chant", "specs/l.md", "../../none.md", "specs/l.md", ".chant/specs/l.md" + leadsOut},
		{"a link to where nothing is to be seen", "logs/a.log", "/unseen/passwd", "logs/a.log", ".chant/logs/a.log" + leadsOut},
		{"a file behind a link to where nothing is to be seen", "logs", "/unseen", "logs/a.log", ".chant/logs/a.log" + leadsOut},
		{"what is not there behind a link out", "logs", "ROOT", "logs/a.log", ".chant/logs/a.log" + leadsOut},
		{"what is not there behind a link within", "logs", "other", "logs/a.log", ""},
		{"a link to what is not there", "logs/a.log", "b.log", "logs/a.log", ".chant/logs/a.log" + dangling},
		{"a file behind a link to what is not there", "logs", "none", "logs/a.log", ".chant/logs/a.log" + dangling},
		{"a link to itself", "logs/a.log", "a.log", "logs/a.log", ".chant/logs/a.log" + dangling},
	}
	for _, test := range tests {
		for _, chant := range []string{"a folder", "a link"} {
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
