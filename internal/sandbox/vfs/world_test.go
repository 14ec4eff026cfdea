//go:build linux || darwin

package vfs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

const canary = "the canary, which no module may see or change"

// world is a temporary directory, part of which is granted, and the file tree (FS) over the granted part.
type world struct {
	t      testing.TB
	root   string
	fs     *vfs.FS
	mounts *vfs.Mounts
	denied []string
	errors []error
}

// layout has the files of every world by path below its root. A path with a trailing slash is a directory, and a content that
// begins with "->" makes a symbolic link. "$" stands for the root.
var layout = map[string]string{
	"w/a.txt":               "a",
	"w/dir/b.txt":           "b",
	"w/empty/":              "",
	"w/link":                "->a.txt",
	"w/dirlink":             "->dir",
	"w/abs":                 "->$/w/dir/b.txt",
	"w/toro":                "->$/ro/r.txt",
	"w/rel-out":             "->../out/canary.txt",
	"w/abs-out":             "->$/out/canary.txt",
	"w/dir-out":             "->$/out",
	"w/loop":                "->loop",
	"w/dangling":            "->new.txt",
	"w/gitlink":             "->.git/config",
	"w/gitdirlink":          "->.git",
	"w/.git/config":         "[core]",
	"w/.git/hooks/":         "",
	"w/linked/.git":         "->../gitdata",
	"w/gitdata/config":      "[core]",
	"w/gitdata/inner":       "->../dir",
	"w/module/.git/HEAD":    "ref",
	"workshop/canary.txt":   canary,
	"ro/r.txt":              "r",
	"ro/d/":                 "",
	"p/f.txt":               "f",
	"p/sub/s.txt":           "s",
	"p/alias":               "->sub",
	"p/absalias":            "->$/p/sub",
	"p/deep/er/grant/g.txt": "g",
	"p/evil":                "->$/out",
	"out/canary.txt":        canary,
}

func newWorld(t testing.TB, configure ...func(*vfs.Config)) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root}
	for name, content := range layout {
		w.put(name, content)
	}
	c := vfs.Config{
		Mounts: vfs.MountsAt(t,
			vfs.Mount{Path: w.at("w"), Write: true},
			vfs.Mount{Path: w.at("ro")},
			vfs.Mount{Path: w.at("p"), Write: true},
			vfs.Mount{Path: w.at("p/sub")},
			vfs.Mount{Path: w.at("p/deep/er/grant"), Write: true},
			vfs.Mount{Path: w.at("p/evil"), Write: true},
			vfs.Mount{Path: w.at("p/later")},
			vfs.Mount{Path: w.at("absent"), Write: true},
			vfs.Mount{Path: w.at("absent-ro")},
		),
		Denied:  func(op, path string) { w.denied = append(w.denied, op+" "+path) },
		OnError: func(_, _ string, err error) { w.errors = append(w.errors, err) },
	}
	for _, change := range configure {
		change(&c)
	}
	w.mounts, w.fs = c.Mounts, vfs.New(c)
	return w
}

func (w *world) at(name string) string { return filepath.Join(w.root, name) }

func (w *world) put(name, content string) {
	w.t.Helper()
	p := w.at(name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		w.t.Fatal(err)
	}
	var err error
	switch target, link := strings.CutPrefix(content, "->"); {
	case link:
		err = os.Symlink(strings.ReplaceAll(target, "$", w.root), p)
	case strings.HasSuffix(name, "/"):
		err = os.MkdirAll(p, 0o755)
	default:
		err = os.WriteFile(p, []byte(content), 0o644)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// host reads a file directly; "" if it does not exist.
func (w *world) host(name string) string {
	b, _ := os.ReadFile(w.at(name))
	return string(b)
}

// in returns a path below the root as wazero passes it: relative to "/".
func (w *world) in(name string) string { return strings.TrimPrefix(w.root, "/") + "/" + name }

func (w *world) open(name string, flag sys.Oflag) (sys.File, sys.Errno) {
	return w.fs.OpenFile(w.in(name), flag, 0o600)
}

func (w *world) read(name string) (string, sys.Errno) {
	f, errno := w.open(name, sys.O_RDONLY)
	if errno != 0 {
		return "", errno
	}
	defer f.Close()
	buf := make([]byte, 4096)
	n, errno := f.Read(buf)
	return string(buf[:n]), errno
}

func (w *world) write(name, content string) sys.Errno {
	f, errno := w.open(name, sys.O_WRONLY|sys.O_CREAT|sys.O_TRUNC)
	if errno != 0 {
		return errno
	}
	_, errno = f.Write([]byte(content))
	if closed := f.Close(); errno == 0 {
		errno = closed
	}
	return errno
}

func (w *world) mustOpen(name string, flag sys.Oflag) sys.File {
	w.t.Helper()
	f, errno := w.open(name, flag)
	if errno != 0 {
		w.t.Fatalf("open %s: %v", name, errno)
	}
	w.t.Cleanup(func() { f.Close() })
	return f
}

// names lists a directory in portions of n.
func (w *world) names(f sys.File, n int) []string {
	w.t.Helper()
	var out []string
	for {
		entries, errno := f.Readdir(n)
		if errno != 0 {
			w.t.Fatalf("readdir: %v", errno)
		}
		for _, e := range entries {
			out = append(out, e.Name)
		}
		if n <= 0 || len(entries) < n {
			return out
		}
	}
}
