//go:build linux || darwin

package vfs_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/internal/seam"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// gitDirectories adds a bare repository, the directory of a linked worktree, and directories with some of git's names.
func gitDirectories(w *world) {
	for name, content := range map[string]string{
		"w/.bare/HEAD": "ref: refs/heads/main\n", "w/.bare/config": "[core]\n", "w/.bare/objects/": "", "w/.bare/refs/": "", "w/.bare/hooks/pre-push": "hook",
		"w/.bare/worktrees/one/HEAD": "ref: refs/heads/one\n", "w/.bare/worktrees/one/commondir": "../..\n",
		"w/data/HEAD": "x", "w/data/commondir": "../.bare\n", "w/data/config.worktree": "[core]\n",
		"w/tree/.git": "gitdir: ../.bare/worktrees/one\n", "w/tree/f": "f", "w/inner": "->.bare/hooks",
		"w/most/objects/": "", "w/most/refs/": "", "w/most/config": "[core]\n", "w/other/HEAD": "x", "w/other/objects/": "",
	} {
		w.put(name, content)
	}
}

func TestGitDirectoriesOfAnyNameAreReadOnly(t *testing.T) {
	for name, do := range map[string]change{
		"write its configuration":              writes("w/.bare/config"),
		"make a hook":                          writes("w/.bare/hooks/post-checkout"),
		"replace a hook":                       renames("w/a.txt", "w/.bare/hooks/pre-push"),
		"make a hook through a link":           writes("w/inner/post-checkout"),
		"make a directory in it":               mkdirs("w/.bare/info"),
		"link in it":                           symlinks("HEAD", "w/.bare/l"),
		"remove a part":                        unlinks("w/.bare/HEAD"),
		"remove a directory that is a part":    rmdirs("w/.bare/objects"),
		"rename a part":                        renames("w/.bare/objects", "w/.bare/o"),
		"move a part out":                      renames("w/.bare/config", "w/config"),
		"move it away":                         renames("w/.bare", "w/bare"),
		"set its mode":                         chmods("w/.bare/hooks/pre-push"),
		"set its own mode":                     chmods("w/.bare"),
		"set times":                            utimens("w/.bare/config"),
		"set times through an open file":       handleTimes("w/.bare/config"),
		"write in a linked working tree's":     writes("w/.bare/worktrees/one/config.worktree"),
		"write in one elsewhere":               writes("w/data/config.worktree"),
		"hard-link out of it":                  links("w/.bare/config", "w/config"),
		"complete one by a file":               writes("w/most/HEAD"),
		"complete one by a file, another case": writes("w/most/head"),
		"complete one by a link":               symlinks("../a.txt", "w/most/HEAD"),
		"complete one by a hard link":          links("w/a.txt", "w/most/HEAD"),
		"complete one by a rename":             renames("w/a.txt", "w/most/HEAD"),
		"complete one by a directory":          mkdirs("w/other/refs"),
		"complete one by a renamed directory":  renames("w/empty", "w/other/refs"),
		"complete one by commondir":            writes("w/other/commondir"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			gitDirectories(w)
			before := snapshot(t, w.root)
			want := sys.Errno(sys.EPERM)
			if name == "set times through an open file" {
				want = sys.EACCES // the tree avoids EPERM, on which wazero would retry with the path
			}
			if errno := do(w); errno != want {
				t.Errorf("got %v, want %v", errno, want)
			}
			if diff := cmp.Diff(before, snapshot(t, w.root)); diff != "" {
				t.Errorf("the host's files changed (-before +after):\n%s", diff)
			}
			if len(w.denied) != 1 {
				t.Errorf("got the refusals %q, want one", w.denied)
			}
		})
	}
}

// Siblings of git directories, and directories with some of their names, stay writable.
func TestDirectoriesSimilarToGitAreWritable(t *testing.T) {
	for name, do := range map[string]change{
		"a file of the working tree":         writes("w/tree/f"),
		"a directory with objects in it":     both(mkdirs("w/dir/objects"), writes("w/dir/objects/o")),
		"one with objects and refs":          both(mkdirs("w/empty/objects"), mkdirs("w/empty/refs")),
		"one with a HEAD":                    both(writes("w/empty/HEAD"), mkdirs("w/empty/objects")),
		"what is in most of one":             writes("w/most/config"),
		"one of its parts removed":           both(rmdirs("w/most/refs"), writes("w/most/HEAD")),
		"beside it":                          writes("w/beside"),
		"beside it, by a way through it":     writes("w/.bare/../beside"),
		"the directory around it renamed":    both(mkdirs("w/around"), renames("w/tree/f", "w/around/f")),
		"a file whose times are set":         handleTimes("w/tree/f"),
		"a file named like a part of one":    writes("w/dir/refs"),
		"a commondir where there is no HEAD": writes("w/dir/commondir"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			gitDirectories(w)
			if errno := do(w); errno != 0 {
				t.Errorf("got %v", errno)
			}
			if len(w.denied) > 0 {
				t.Errorf("got the refusals %q, want none", w.denied)
			}
		})
	}
}

func TestMountInGitDirectoryIsReadOnly(t *testing.T) {
	w := newWorld(t)
	gitDirectories(w)
	path := w.at("w/.bare/hooks")
	if !vfs.InGitDirectory(path) || vfs.InGitDirectory(w.at("w/most")) {
		t.Errorf("InGitDirectory returned %v for a path in a bare repository and %v for an incomplete one", vfs.InGitDirectory(path), vfs.InGitDirectory(w.at("w/most")))
	}
	w.fs = vfs.New(vfs.Config{Mounts: vfs.MountsAt(t, vfs.Mount{Path: path, Write: true, InGit: vfs.InGitDirectory(path)})})
	if errno := w.write("w/.bare/hooks/pre-push", "x"); errno != sys.EPERM {
		t.Errorf("got %v", errno)
	}
	if got, errno := w.read("w/.bare/hooks/pre-push"); got != "hook" || errno != 0 {
		t.Errorf("got %q, %v", got, errno)
	}
}

// Two concurrent calls each create a part of a git directory, and neither sees the other's part when it begins.
func TestConcurrentCallsCannotCompleteGitDirectory(t *testing.T) {
	defer func() { seam.Before = nil }()
	for name, do := range map[string]change{
		"by a directory": mkdirs("w/half/refs"), "by a link": symlinks("../a.txt", "w/half/refs"), "by a file": writes("w/half/refs"),
		"by a rename": renames("w/a.txt", "w/half/refs"), "by a renamed directory": renames("w/empty", "w/half/refs"),
		"by a hard link": links("w/a.txt", "w/half/refs"),
	} {
		t.Run(name, func(t *testing.T) {
			for at, reached := 0, true; reached; at++ {
				w := newWorld(t)
				w.put("w/half/objects/", "")
				calls, other := 0, false
				seam.Before = func() {
					if calls++; calls == at+1 {
						if _, err := os.Lstat(w.at("w/half/refs")); err != nil {
							w.put("w/half/HEAD", "x")
							other = true
						}
					}
				}
				errno := do(w)
				seam.Before = nil
				reached = calls > at
				if _, err := os.Lstat(w.at("w/half/refs")); other && (err == nil || errno != sys.EPERM) {
					t.Errorf("the other plugin acts before system call %d: got %v, want EPERM; the part exists: %t", at, errno, err == nil)
				}
			}
		})
	}
}

// Another process completes a git directory immediately after the module has made a part of it. The part is removed again; if that fails,
// since the other process has put something in its place, the error is not the refusal.
func TestPartIsRefusedOnlyIfRemoved(t *testing.T) {
	w := newWorld(t)
	defer func() { seam.Before = nil }()
	part := w.at("w/repo/refs")
	for name, do := range map[string]change{
		"a directory":       mkdirs("w/repo/refs"),
		"a file":            writes("w/repo/refs"),
		"a link":            symlinks("../dir", "w/repo/refs"),
		"a hard link":       links("w/a.txt", "w/repo/refs"),
		"a directory moved": renames("w/moved", "w/repo/refs"),
	} {
		for _, replaces := range []bool{false, true} {
			refused, failed := 0, 0
			for n := range 24 {
				for _, made := range []string{"w/repo", "w/moved"} {
					if err := os.RemoveAll(w.at(made)); err != nil {
						t.Fatal(err)
					}
					w.put(made+"/", "")
				}
				w.denied = nil
				seam.Before = func() { // the nth call after the part was made
					if _, err := os.Lstat(part); err != nil {
						return
					}
					if n--; n != -1 {
						return
					}
					w.put("w/repo/HEAD", "")
					w.put("w/repo/objects/", "")
					if replaces {
						if err := os.RemoveAll(part); err != nil {
							t.Error(err)
						}
						w.put("w/repo/refs/kept", "") // a directory that is not empty
						w.put("w/moved/", "")
					}
				}
				errno := do(w)
				seam.Before = nil
				_, err := os.Lstat(part)
				switch {
				case len(w.denied) > 0 && err == nil:
					t.Errorf("%s: refused, but it is there", name)
				case len(w.denied) > 0:
					refused++
				case errno != 0:
					failed++
				}
			}
			if replaces && failed == 0 || !replaces && (refused == 0 || failed > 0) {
				t.Errorf("%s, replaced %t: refused %d times, failed %d times", name, replaces, refused, failed)
			}
		}
	}
}
