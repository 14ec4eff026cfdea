package skills_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/skills"
)

const head = "---\nname: demo\ndescription: Demonstrate.\n---\n"

func TestLoadDescribesEachFile(t *testing.T) {
	top := testenv.Tree(t, map[string]string{
		"skills/demo/SKILL.md": head + "# Demo\n", "skills/demo/references/a.md": "a\n", "skills/demo/references/deep/b.bin": "\x00", "skills/demo/z.txt": "",
		"skills/demo/.git/config": "hidden", "skills/demo/.env": "hidden",
	})
	s, err := skills.Load(top, "skills/demo")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range s.Files {
		paths = append(paths, fmt.Sprintf("%s:%d", f.Path, f.Size))
	}
	if got, want := strings.Join(paths, " "), "SKILL.md:52 references/a.md:2 references/deep/b.bin:1 z.txt:0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for dir, want := range map[string]string{"": "SKILL.md references/ z.txt", "references": "a.md deep/", "references/deep": "b.bin", "SKILL.md": "", "none": "", "ref": ""} {
		if got := strings.Join(s.Children(dir), " "); got != want {
			t.Errorf("children of %q are %s, want %s", dir, got, want)
		}
	}
	if s.File("references/a.md") == nil || s.File("references") != nil {
		t.Error("File found a directory, or no file")
	}
	// People can compare it: find . -type f | sed 's|^./||' | LC_ALL=C sort | xargs sha256sum | sha256sum
	if got, want := s.Digest(), "a780286bbe58646f4d27266fbd4ba026386577d2bf9e1fad47fc345501a0d936"; got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	before := s.Digest()
	if err := os.WriteFile(filepath.Join(top, "skills/demo/references/a.md"), []byte("b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = skills.Load(top, "skills/demo"); err != nil || s.Digest() == before {
		t.Errorf("the digest does not cover references/a.md (%v)", err)
	}
}

func TestFrontMatterIsRenderedAsJSON(t *testing.T) {
	for yaml, want := range map[string]string{
		"":                                   `{"name":"demo","description":"d"}`,
		"license: Apache-2.0":                `{"name":"demo","description":"d","license":"Apache-2.0"}`,
		"metadata:\n  a: '1'\n  b: [x, y]":   `{"name":"demo","description":"d","metadata":{"a":"1","b":["x","y"]}}`,
		"n: 1\nf: 1.50\nb: true\nz:\nm: -3":  `{"name":"demo","description":"d","n":1,"f":1.50,"b":true,"z":null,"m":-3}`,
		"text: >-\n  folded\n  lines":        `{"name":"demo","description":"d","text":"folded lines"}`,
		"text: |\n  two\n  lines\n":          `{"name":"demo","description":"d","text":"two\nlines\n"}`,
		"q: \"yes\"\nt: '2026-01-31'":        `{"name":"demo","description":"d","q":"yes","t":"2026-01-31"}`,
		"allowed-tools: Bash(git:*) Read":    `{"name":"demo","description":"d","allowed-tools":"Bash(git:*) Read"}`,
		"v: 1.2.3\nu: 12:30 o'clock\nid: 3D": `{"name":"demo","description":"d","v":"1.2.3","u":"12:30 o'clock","id":"3D"}`,
	} {
		s, err := skills.Load(testenv.Tree(t, map[string]string{"demo/SKILL.md": "---\nname: demo\ndescription: d\n" + yaml + "\n---\n"}), "demo")
		if err != nil {
			t.Errorf("%q: %v", yaml, err)
		} else if string(s.Frontmatter) != want {
			t.Errorf("%q: got %s, want %s", yaml, s.Frontmatter, want)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	deep := strings.Repeat("d/", 10)
	many := map[string]string{"demo/SKILL.md": head}
	for i := range skills.MaxFiles {
		many[fmt.Sprintf("demo/f%d", i)] = ""
	}
	directories := map[string]string{"demo/SKILL.md": head}
	for i := range 2*skills.MaxFiles + 1 {
		directories[fmt.Sprintf("demo/d%d/.hidden", i)] = ""
	}
	large := strings.Repeat("x", skills.MaxFile)
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no SKILL.md":             {map[string]string{"demo/readme.md": ""}, "there is no SKILL.md"},
		"no front matter":         {map[string]string{"demo/SKILL.md": "# Demo\n"}, "SKILL.md: no front matter"},
		"unterminated":            {map[string]string{"demo/SKILL.md": "---\nname: demo\n"}, "SKILL.md: unterminated front matter"},
		"empty front matter":      {map[string]string{"demo/SKILL.md": "---\n---\n"}, "has no keys"},
		"no name":                 {map[string]string{"demo/SKILL.md": "---\ndescription: d\n---\n"}, "no string name"},
		"no description":          {map[string]string{"demo/SKILL.md": "---\nname: demo\n---\n"}, "no string description"},
		"a number as name":        {map[string]string{"demo/SKILL.md": "---\nname: 1\ndescription: d\n---\n"}, "no string name"},
		"another name":            {map[string]string{"demo/SKILL.md": "---\nname: other\ndescription: d\n---\n"}, `name is "other", and the directory is "demo"`},
		"duplicate key":           {map[string]string{"demo/SKILL.md": "---\nname: demo\ndescription: d\nname: demo\n---\n"}, `duplicate key "name"`},
		"alias":                   {map[string]string{"demo/SKILL.md": "---\nname: &a demo\ndescription: *a\n---\n"}, "SKILL.md: line"},
		"anchor":                  {map[string]string{"demo/SKILL.md": "---\nname: &a demo\ndescription: d\n---\n"}, "SKILL.md: line"},
		"tag":                     {map[string]string{"demo/SKILL.md": "---\nname: demo\ndescription: !!binary aGk=\n---\n"}, "tags and anchors"},
		"word of YAML 1.1":        {map[string]string{"demo/SKILL.md": "---\nname: demo\ndescription: d\nx: yes\n---\n"}, "line 4: versions of YAML read yes differently"},
		"date":                    {map[string]string{"demo/SKILL.md": "---\nname: demo\ndescription: d\nx: 2026-01-31\n---\n"}, "2026-01-31"},
		"octal":                   {map[string]string{"demo/SKILL.md": "---\nname: demo\ndescription: d\nx: 017\n---\n"}, "017"},
		"exponent":                {map[string]string{"demo/SKILL.md": "---\nname: demo\ndescription: d\nx: 1e3\n---\n"}, "1e3"},
		"base 60":                 {map[string]string{"demo/SKILL.md": "---\nname: demo\ndescription: d\nx: 12:30\n---\n"}, "12:30"},
		"large number":            {map[string]string{"demo/SKILL.md": "---\nname: demo\ndescription: d\nx: 9007199254740993\n---\n"}, "9007199254740993"},
		"key of YAML 1.1":         {map[string]string{"demo/SKILL.md": "---\nname: demo\ndescription: d\non: x\n---\n"}, "the key on"},
		"nested duplicate":        {map[string]string{"demo/SKILL.md": "---\nname: demo\ndescription: d\nm: {a: 1, a: 2}\n---\n"}, `duplicate key "a"`},
		"long front matter":       {map[string]string{"demo/SKILL.md": "---\nname: demo\ndescription: d\nx: " + strings.Repeat("x", 16<<10) + "\n---\n"}, "more than 16 KiB"},
		"long description":        {map[string]string{"demo/SKILL.md": "---\nname: demo\ndescription: " + strings.Repeat("ä", 1025) + "\n---\n"}, "description has 1025 characters"},
		"hidden text":             {map[string]string{"demo/SKILL.md": head + "one\n\u202etwo\n"}, "SKILL.md: line 6 has a character that is invisible"},
		"hidden text beside it":   {map[string]string{"demo/SKILL.md": head, "demo/a/b.md": "\u200b"}, "a/b.md: line 1 has a character that is invisible"},
		"escaped hidden text":     {map[string]string{"demo/SKILL.md": "---\nname: demo\ndescription: \"a\\u202eb\"\n---\n"}, "SKILL.md: line 3: an escape stands for a character that is invisible"},
		"escape in a key":         {map[string]string{"demo/SKILL.md": "---\nname: demo\ndescription: d\n\"a\\u200b\": x\n---\n"}, "SKILL.md: line 4: an escape"},
		"SKILL.md is a directory": {map[string]string{"demo/SKILL.md/a": ""}, "there is no SKILL.md"},
		"hidden text, markdown":   {map[string]string{"demo/SKILL.md": head, "demo/b.markdown": "\u200b"}, "b.markdown: line 1 has a character that is invisible"},
		"hidden plain text":       {map[string]string{"demo/SKILL.md": head, "demo/b.txt": "\u202e"}, "b.txt: line 1 has a character that is invisible"},
		"hidden text in capitals": {map[string]string{"demo/SKILL.md": head, "demo/B.MD": "\u200b"}, "B.MD: line 1 has a character that is invisible"},
		"not UTF-8":               {map[string]string{"demo/SKILL.md": head + "\xff"}, "SKILL.md: it is not UTF-8"},
		"deep directories":        {map[string]string{"demo/SKILL.md": head, "demo/" + deep + "x": ""}, "more than 8 directories deep"},
		"many files":              {many, "more than 512 files"},
		"many directories":        {directories, "its directories have more than 2048 entries"},
		"large file":              {map[string]string{"demo/SKILL.md": head, "demo/x": large + "x"}, "x has more than 4 MiB"},
		"large skill":             {map[string]string{"demo/SKILL.md": head, "demo/a": large, "demo/b": large, "demo/c": large, "demo/d": large}, "more than 16 MiB"},
		"name that URIs must not": {map[string]string{"demo/SKILL.md": head, "demo/a b": ""}, `"a b" has characters`},
	} {
		if _, err := skills.Load(testenv.Tree(t, c.files), "demo"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestNoSymbolicLinkIsFollowed(t *testing.T) {
	top := testenv.Tree(t, map[string]string{"demo/SKILL.md": head, "secret/x": "secret", "demo/dir/y": ""})
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(top, name)); err != nil {
			t.Skipf("no symbolic links: %v", err)
		}
	}
	link("demo", "linked")
	if _, err := skills.Load(top, "linked"); err == nil {
		t.Error("a skill was read through a symbolic link")
	}
	if _, err := skills.Load(top, "../"+filepath.Base(top)+"/demo"); err == nil {
		t.Error("a skill was read outside of the directory")
	}
	dir, err := skills.Open(top, "demo")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	s, err := dir.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The file and its directory are replaced after they were listed.
	if err := errors.Join(os.RemoveAll(filepath.Join(top, "demo/dir")), os.Mkdir(filepath.Join(top, "outside"), 0o700),
		os.WriteFile(filepath.Join(top, "outside/y"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	link("../outside", "demo/dir")
	if _, err := dir.Read(*s.File("dir/y")); err == nil {
		t.Error("a file was read through a symbolic link")
	}
	if _, err := dir.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "dir is not a regular file") || strings.Contains(err.Error(), top) {
		t.Errorf("a symbolic link in a skill: %v", err)
	}
}

func TestLoadStopsWhenItIsCancelled(t *testing.T) {
	dir, err := skills.Open(testenv.Tree(t, map[string]string{"demo/SKILL.md": head}), "demo")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := dir.Load(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestReadFailsIfAFileHasChanged(t *testing.T) {
	top := testenv.Tree(t, map[string]string{"demo/SKILL.md": head, "demo/a": "one"})
	dir, err := skills.Open(top, "demo")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	s, err := dir.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := dir.Read(*s.File("a")); err != nil || string(got) != "one" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, content := range []string{"two", "three"} {
		if err := os.WriteFile(filepath.Join(top, "demo/a"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := dir.Read(*s.File("a")); !errors.Is(err, beneath.ErrChanged) || got != nil {
			t.Errorf("%s: got %q, %v", content, got, err)
		}
	}
}

func TestErrorsDoNotNameTheDirectory(t *testing.T) {
	top := testenv.Tree(t, map[string]string{"x": ""})
	for _, dir := range []string{top, filepath.Join(top, "none"), filepath.Join(top, "x")} {
		if _, err := skills.Load(dir, "demo"); err == nil || strings.Contains(err.Error(), filepath.Base(filepath.Dir(top))) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
