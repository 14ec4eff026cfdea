//go:build linux || darwin

package vfs_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero/experimental/sys"
)

// names are the components of paths and link targets in scripts.
var names = []string{
	"w", "p", "ro", "out", "workshop", "sub", "dir", "link", "dirlink", "abs-out", "rel-out", "dir-out", "gitdirlink",
	".git", "config", "hooks", "canary.txt", "a.txt", "s.txt", "alias", "deep", "er", "grant", "evil", "later", "absent",
	"module", "empty", "new", "..", ".", "",
}

// script decodes bytes to a sequence of operations on paths.
type script struct {
	w    *world
	left []byte
	raw  string // an additional, arbitrary component
}

func (s *script) next() byte {
	if len(s.left) == 0 {
		return 0
	}
	b := s.left[0]
	s.left = s.left[1:]
	return b
}

// path returns a path of up to four components, below the world's root, absolute or relative.
func (s *script) path() string {
	b := s.next()
	parts := []string{[]string{s.w.root, s.w.root + "/w", "", s.w.root + "/p"}[b&3]}
	for range b >> 2 & 3 {
		i := int(s.next()) % (len(names) + 1)
		if i == len(names) {
			parts = append(parts, s.raw)
		} else {
			parts = append(parts, names[i])
		}
	}
	if b&16 != 0 {
		parts = append(parts, "")
	}
	return strings.Join(parts, "/")
}

// run performs the next operation and returns the content that it could read.
func (s *script) run() string {
	f, op := s.w.fs, s.next()
	switch op % 12 {
	case 0:
		f.Mkdir(s.path(), 0)
	case 1:
		f.Rename(s.path(), s.path())
	case 2:
		f.Link(s.path(), s.path())
	case 3:
		f.Symlink(s.path(), s.path())
	case 4: // a relative link
		f.Symlink(strings.Repeat("../", int(s.next()%4))+names[int(s.next())%len(names)], s.path())
	case 5:
		f.Unlink(s.path())
	case 6:
		f.Rmdir(s.path())
	case 7:
		f.Chmod(s.path(), fs.FileMode(s.next()))
	case 8:
		f.Utimens(s.path(), 1, 2)
	case 9:
		target, _ := f.Readlink(s.path())
		return target
	default:
		return s.use(s.path(), sys.Oflag(s.next())|sys.Oflag(s.next())<<8)
	}
	return ""
}

// use opens a file or directory with arbitrary flags, reads all of it, and tries to change it.
func (s *script) use(p string, flag sys.Oflag) string {
	file, errno := s.w.fs.OpenFile(p, flag, 0)
	if errno != 0 {
		return ""
	}
	defer file.Close()
	buf := make([]byte, 256)
	n, _ := file.Pread(buf, 0)
	read := string(buf[:n])
	entries, _ := file.Readdir(-1)
	for _, e := range entries {
		read += e.Name + "\n"
	}
	file.Write([]byte("changed"))
	file.Truncate(3)
	file.Utimens(3, 4)
	return read
}

// FuzzOperationsStayInsideGrants runs arbitrary sequences of operations. No operation may read a file that is not granted or
// change a file that is not writable.
func FuzzOperationsStayInsideGrants(f *testing.F) {
	f.Add([]byte{}, "")
	f.Add([]byte{10, 8, 3, 16, 0}, "x")                          // read out/canary.txt
	f.Add([]byte{3, 8, 3, 16, 5, 28, 10, 5, 28, 0}, "x")         // link w/new to out/canary.txt, read w/new
	f.Add([]byte{4, 2, 3, 5, 28, 10, 9, 28, 16, 0}, "..")        // the same by a relative link to ../../out
	f.Add([]byte{1, 5, 13, 5, 28, 10, 9, 28, 14, 2, 0}, "x")     // move .git away, write config in it
	f.Add([]byte{1, 7, 5, 7, 28, 3, 8, 3, 16, 7, 5}, "x")        // move a nested mount away, create a link in its place
	f.Add([]byte{2, 9, 13, 14, 5, 28, 10, 5, 28, 2, 0}, "x")     // hard-link a file out of .git, write to the link
	f.Add([]byte{10, 6, 32, 0, 0}, "\x00")                       // a NUL in a name
	f.Add([]byte{10, 6, 32, 0, 0}, strings.Repeat("../", 30))    // a path far above the root
	f.Add([]byte{0, 5, 32, 3, 5, 17, 9, 32, 28, 1, 5, 32}, "é~") // move a directory that contains a link
	f.Fuzz(func(t *testing.T, ops []byte, raw string) {
		if len(ops) > 200 {
			return
		}
		w := newWorld(t)
		before := protected(t, w)
		s := &script{w: w, left: ops, raw: raw}
		for range 20 {
			if read := s.run(); strings.Contains(read, canary) || strings.Contains(read, "canary.txt\n") {
				t.Fatal("a file that is not granted was read")
			}
			if len(s.left) == 0 {
				break
			}
		}
		if diff := cmp.Diff(before, protected(t, w)); diff != "" {
			t.Fatalf("a file that no operation may write has changed (-before +after):\n%s", diff)
		}
	})
}

// protected returns all files that no operation may change. Operations may move the parent of w/module/.git, so protected
// searches for that directory everywhere.
func protected(t *testing.T, w *world) []map[string]string {
	t.Helper()
	var out []map[string]string
	for _, name := range []string{"out", "workshop", "ro", "w/.git", "p/sub"} {
		out = append(out, snapshot(t, w.at(name)))
	}
	heads := map[string]string{}
	err := filepath.WalkDir(w.root, func(p string, _ fs.DirEntry, err error) error {
		if filepath.Base(p) == ".git" {
			heads["all"] += "[" + w.host(strings.TrimPrefix(p, w.root)+"/HEAD") + "]"
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(out, heads)
}
