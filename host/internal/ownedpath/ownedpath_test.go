package ownedpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// step makes one directory, file or symbolic link of a test's tree.
type step struct {
	path  string
	mode  fs.FileMode // 0: 0755
	owner int         // 0: whoever runs the test
	group int         // likewise
	link  string      // the target, where it is a symbolic link
	file  bool
}

// makeTree makes steps below a new directory that is the user's own.
func makeTree(t *testing.T, steps []step) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		path := filepath.Join(root, s.path)
		switch {
		case s.link != "":
			err = os.Symlink(strings.ReplaceAll(s.link, "$ROOT", root), path)
		case s.file:
			err = os.WriteFile(path, nil, 0o600)
		default:
			err = os.Mkdir(path, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		if s.owner != 0 || s.group != 0 {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a directory to another user")
			}
			if err := os.Lchown(path, s.owner, s.group); err != nil {
				t.Fatal(err)
			}
		}
		if s.mode != 0 {
			if err := os.Chmod(path, s.mode); err != nil { // after the change of owner, which clears bits
				t.Fatal(err)
			}
		}
	}
	return root
}

const other = 54321 // a user and a group that nobody else uses

func TestCheckRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		tree []step
		dir  string // empty: own/dir
		user int    // 0: whoever runs the test
		at   string
		want string
	}{
		"a directory that the group can write":                 {tree: []step{{path: "own"}, {path: "own/dir", mode: 0o775}}, at: "own/dir", want: "can be written by others (owner"},
		"a directory that everybody can write":                 {tree: []step{{path: "own"}, {path: "own/dir", mode: 0o757}}, at: "own/dir", want: "mode 0757"},
		"such a directory, with the sticky bit too":            {tree: []step{{path: "own"}, {path: "own/dir", mode: 0o777 | fs.ModeSticky}}, at: "own/dir", want: "mode 0777"},
		"an ancestor that everybody can write":                 {tree: []step{{path: "own", mode: 0o777}, {path: "own/dir"}}, at: "own", want: "mode 0777"},
		"an ancestor that a group can write":                   {tree: []step{{path: "own", group: other, mode: 0o775}, {path: "own/dir"}}, at: "own", want: "mode 0775"},
		"a directory of another user":                          {tree: []step{{path: "own"}, {path: "own/dir", owner: other}}, at: "own/dir", want: "belongs to another user (user id 54321, mode 0755)"},
		"an ancestor of another user":                          {tree: []step{{path: "own", owner: other}, {path: "own/dir"}}, at: "own", want: "belongs to another user"},
		"the private directory of root, for a user":            {tree: []step{{path: "own"}, {path: "own/dir"}}, user: other, at: "own/dir", want: "belongs to another user (user id 0"},
		"a group's number that is only the directory's":        {tree: []step{{path: "own"}, {path: "own/dir", owner: other, group: other, mode: 0o775}}, user: other, at: "own/dir", want: "mode 0775"},
		"what does not exist in what everybody can write":      {tree: []step{{path: "own", mode: 0o777}}, dir: "own/not/there", at: "own", want: "mode 0777"},
		"where a symbolic link leads that everybody can write": {tree: []step{{path: "shared", mode: 0o777}, {path: "own"}, {path: "own/dir", link: "../shared"}}, at: "shared", want: "mode 0777"},
		"a symbolic link of another user":                      {tree: []step{{path: "mine"}, {path: "own", mode: 0o777 | fs.ModeSticky}, {path: "own/dir", link: "$ROOT/mine", owner: other}}, at: "own/dir", want: "belongs to another user"},
		"a symbolic link in what everybody can write":          {tree: []step{{path: "mine"}, {path: "own", mode: 0o777}, {path: "own/dir", link: "../mine"}}, at: "own", want: "mode 0777"},
		"a link on the way to what everybody can write":        {tree: []step{{path: "shared", mode: 0o777}, {path: "shared/dir"}, {path: "own", link: "$ROOT/shared"}}, at: "shared", want: "mode 0777"},
		"a file": {tree: []step{{path: "own"}, {path: "own/dir", file: true}}, at: "own/dir", want: "is not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			root := makeTree(t, c.tree)
			if c.dir == "" {
				c.dir = "own/dir"
			}
			if c.user == 0 {
				c.user = os.Geteuid()
			} else if os.Geteuid() != 0 {
				t.Skip("the directories that a test makes belong to root only where root runs it")
			}
			err := check(filepath.Join(root, c.dir), c.user)
			var fault *Error
			if !errors.As(err, &fault) || fault.At != filepath.Join(root, c.at) || !strings.Contains(err.Error(), c.want) || fault.Remedy == "" {
				t.Errorf("got %v (%+v), want %s and %q", err, fault, c.at, c.want)
			}
		})
	}
}

func TestCheckRefusesEndlessLinks(t *testing.T) {
	root := makeTree(t, []step{{path: "a", link: "b"}, {path: "b", link: "a"}})
	if err := Check(root + "/a"); err == nil || !strings.Contains(err.Error(), "too many symbolic links") {
		t.Errorf("got %v", err)
	}
	if err := Check("relative"); err == nil {
		t.Error("a relative path was accepted")
	}
}

func TestCheckAccepts(t *testing.T) {
	for name, c := range map[string]struct {
		tree []step
		dir  string
		user int
	}{
		"a private directory":                               {tree: []step{{path: "own", mode: 0o700}, {path: "own/dir", mode: 0o700}}},
		"one that others can read":                          {tree: []step{{path: "own"}, {path: "own/dir"}}},
		"one below a directory with the sticky bit":         {tree: []step{{path: "own", mode: 0o777 | fs.ModeSticky}, {path: "own/dir"}}},
		"one that does not exist":                           {tree: []step{{path: "own"}}, dir: "own/not/there"},
		"one behind symbolic links":                         {tree: []step{{path: "mine"}, {path: "mine/dir"}, {path: "own", link: "./mine/dir/.."}}},
		"a user's, in directories of root":                  {tree: []step{{path: "own"}, {path: "own/dir", owner: other}}, user: other},
		"a user's, in one that its private group can write": {tree: []step{{path: "own", owner: other, group: other, mode: 0o775}, {path: "own/dir", owner: other, group: other}}, user: other},
	} {
		t.Run(name, func(t *testing.T) {
			root := makeTree(t, c.tree)
			if c.dir == "" {
				c.dir = "own/dir"
			}
			if c.user == 0 {
				c.user = os.Geteuid()
			} else if os.Geteuid() != 0 {
				t.Skip("the directory of the test belongs to root only where root runs it")
			}
			if err := check(filepath.Join(root, c.dir), c.user); err != nil {
				t.Error(err)
			}
		})
	}
}
