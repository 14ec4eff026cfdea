package build_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// head is the beginning of a manifest whose module is hand-assembled.
const head = `manifest = 1
[plugin]
name = "hand"
version = "0.1.0"
description = "Made by hand."
[module]
file = "hand.wasm"
`

// tools returns [[tools]] tables with these names, of four lines each.
func tools(names ...string) string {
	text := ""
	for _, name := range names {
		text += fmt.Sprintf("[[tools]]\nname = %q\ndescription = \"does it\"\naccess = \"read\"\n", name)
	}
	return text
}

const handlesOne = `{"result":{"tools":["one"],"prompts":false,"resources":false,"completions":false}}`

// files maps the paths of files in a directory to their contents.
type files map[string]string

// good returns a valid source without [build].
func good() files {
	return files{"plugin.toml": head + tools("one"), "hand.wasm": string(answering(handlesOne))}
}

// with returns f with more files. An empty content removes a file.
func (f files) with(more files) files {
	out := files{}
	for _, from := range []files{f, more} {
		for name, content := range from {
			if out[name] = content; content == "" {
				delete(out, name)
			}
		}
	}
	return out
}

// write writes f into dir and returns dir.
func (f files) write(t testing.TB, dir string) string {
	t.Helper()
	for name, content := range f {
		path := filepath.Join(dir, name)
		if content == "/" {
			continue // a directory, which is created with its files
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// read reads everything below dir: symbolic links as their targets, directories as "/".
func read(t testing.TB, dir string) files {
	t.Helper()
	f := files{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch {
		case e.IsDir():
			f[name] = "/"
			return nil
		case e.Type()&fs.ModeSymlink != 0:
			f[name], err = os.Readlink(path)
			return err
		}
		content, err := os.ReadFile(path)
		f[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// problems returns the problems that err is or wraps.
func problems(t testing.TB, err error) tomlfile.Problems {
	t.Helper()
	var ps tomlfile.Problems
	if !errors.As(err, &ps) {
		t.Fatalf("got %v, want problems", err)
	}
	return ps
}

// brief formats a problem for comparison.
func brief(p tomlfile.Problem) string {
	return fmt.Sprintf("%s:%d %s: %s", filepath.Base(p.File), p.Line, p.Key, p.What)
}

// wantProblems checks that ps are, in any order, the problems whose briefs begin with want.
func wantProblems(t testing.TB, ps tomlfile.Problems, want ...string) {
	t.Helper()
	left := append(tomlfile.Problems(nil), ps...)
	for _, w := range want {
		found := false
		for i, p := range left {
			if found = strings.HasPrefix(brief(p), w); found {
				left = append(left[:i], left[i+1:]...)
				break
			}
		}
		if !found {
			t.Errorf("no problem begins with %s", w)
		}
	}
	if t.Failed() || len(left) > 0 {
		t.Errorf("got %d problems, want %d:\n%v", len(ps), len(want), ps)
	}
}

func sum(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }
