//go:build unix

package ownedpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// step is a directory, file or symbolic link of a test tree.
type step struct {
	path  string
	mode  fs.FileMode // permission bits; 0 means 0755
	owner int         // user ID; 0 means the user of the test
	group int         // group ID; 0 means the group of the test
	link  string      // target of a symbolic link
	file  bool
}

// makeTree creates steps below a new directory of the user.
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
			if err := os.Chmod(path, s.mode); err != nil { // after Lchown, which clears the setuid and setgid bits
				t.Fatal(err)
			}
		}
	}
	return root
}

const other = 54321 // an unused user ID and group ID

func TestCheckRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		tree []step
		dir  string // path to check; if empty, own/dir
		user int    // expected owner; 0 means the user of the test
		at   string
		want string
	}{
		"a group-writable directory":                      {tree: []step{{path: "own"}, {path: "own/dir", mode: 0o775}}, at: "own/dir", want: "can be written by others (owner"},
		"a world-writable directory":                      {tree: []step{{path: "own"}, {path: "own/dir", mode: 0o757}}, at: "own/dir", want: "mode 0757"},
		"a world-writable directory with the sticky bit":  {tree: []step{{path: "own"}, {path: "own/dir", mode: 0o777 | fs.ModeSticky}}, at: "own/dir", want: "mode 0777"},
		"a world-writable ancestor":                       {tree: []step{{path: "own", mode: 0o777}, {path: "own/dir"}}, at: "own", want: "mode 0777"},
		"a group-writable ancestor":                       {tree: []step{{path: "own", group: other, mode: 0o775}, {path: "own/dir"}}, at: "own", want: "mode 0775"},
		"a directory of another user":                     {tree: []step{{path: "own"}, {path: "own/dir", owner: other}}, at: "own/dir", want: "belongs to another user (user id 54321, mode 0755)"},
		"an ancestor of another user":                     {tree: []step{{path: "own", owner: other}, {path: "own/dir"}}, at: "own", want: "belongs to another user"},
		"a directory of root":                             {tree: []step{{path: "own"}, {path: "own/dir"}}, user: other, at: "own/dir", want: "belongs to another user (user id 0"},
		"a group-writable directory with a private group": {tree: []step{{path: "own"}, {path: "own/dir", owner: other, group: other, mode: 0o775}}, user: other, at: "own/dir", want: "mode 0775"},
		"a missing directory in a world-writable one":     {tree: []step{{path: "own", mode: 0o777}}, dir: "own/not/there", at: "own", want: "mode 0777"},
		"a symbolic link to a world-writable directory":   {tree: []step{{path: "shared", mode: 0o777}, {path: "own"}, {path: "own/dir", link: "../shared"}}, at: "shared", want: "mode 0777"},
		"a symbolic link of another user":                 {tree: []step{{path: "mine"}, {path: "own", mode: 0o777 | fs.ModeSticky}, {path: "own/dir", link: "$ROOT/mine", owner: other}}, at: "own/dir", want: "belongs to another user"},
		"a symbolic link in a world-writable directory":   {tree: []step{{path: "mine"}, {path: "own", mode: 0o777}, {path: "own/dir", link: "../mine"}}, at: "own", want: "mode 0777"},
		"a symbolic link to a world-writable ancestor":    {tree: []step{{path: "shared", mode: 0o777}, {path: "shared/dir"}, {path: "own", link: "$ROOT/shared"}}, at: "shared", want: "mode 0777"},
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
				t.Skip("the test directories belong to root only if root runs the test")
			}
			err := check(filepath.Join(root, c.dir), c.user, lastDir)
			var fault *Error
			if !errors.As(err, &fault) || fault.At != filepath.Join(root, c.at) || !strings.Contains(err.Error(), c.want) || fault.Remedy == "" {
				t.Errorf("got %v (%+v), want %s and %q", err, fault, c.at, c.want)
			}
		})
	}
}

func TestCheckRefusesLinkCycle(t *testing.T) {
	root := makeTree(t, []step{{path: "a", link: "b"}, {path: "b", link: "a"}})
	if err := Check(root + "/a"); err == nil || !strings.Contains(err.Error(), "too many symbolic links") {
		t.Errorf("a cycle of links: got %v", err)
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
		"a private directory":                        {tree: []step{{path: "own", mode: 0o700}, {path: "own/dir", mode: 0o700}}},
		"a world-readable directory":                 {tree: []step{{path: "own"}, {path: "own/dir"}}},
		"a directory below one with the sticky bit":  {tree: []step{{path: "own", mode: 0o777 | fs.ModeSticky}, {path: "own/dir"}}},
		"a missing directory":                        {tree: []step{{path: "own"}}, dir: "own/not/there"},
		"a directory behind symbolic links":          {tree: []step{{path: "mine"}, {path: "mine/dir"}, {path: "own", link: "./mine/dir/.."}}},
		"a user's directory below one of root":       {tree: []step{{path: "own"}, {path: "own/dir", owner: other}}, user: other},
		"a user's directory below a private group's": {tree: []step{{path: "own", owner: other, group: other, mode: 0o775}, {path: "own/dir", owner: other, group: other}}, user: other},
	} {
		t.Run(name, func(t *testing.T) {
			root := makeTree(t, c.tree)
			if c.dir == "" {
				c.dir = "own/dir"
			}
			if c.user == 0 {
				c.user = os.Geteuid()
			} else if os.Geteuid() != 0 {
				t.Skip("the test directory belongs to root only if root runs the test")
			}
			if err := check(filepath.Join(root, c.dir), c.user, lastDir); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCheckFile(t *testing.T) {
	for name, c := range map[string]struct {
		tree []step
		user int    // expected owner; 0 means the user of the test
		at   string // empty if the file is accepted
		want string
	}{
		"a private file":                     {tree: []step{{path: "own"}, {path: "own/file", file: true}}},
		"a symbolic link to a private file":  {tree: []step{{path: "own"}, {path: "real", file: true}, {path: "own/file", link: "../real"}}},
		"an absent file":                     {tree: []step{{path: "own"}}},
		"a file of root":                     {tree: []step{{path: "own", owner: other}, {path: "own/file", file: true}}, user: other},
		"a group-writable file":              {tree: []step{{path: "own"}, {path: "own/file", file: true, mode: 0o620}}, at: "own/file", want: "mode 0620"},
		"a world-writable file":              {tree: []step{{path: "own"}, {path: "own/file", file: true, mode: 0o602}}, at: "own/file", want: "mode 0602"},
		"a file of another user":             {tree: []step{{path: "own"}, {path: "own/file", file: true, owner: other}}, at: "own/file", want: "belongs to another user"},
		"a file in a world-writable place":   {tree: []step{{path: "own", mode: 0o777}, {path: "own/file", file: true}}, at: "own", want: "mode 0777"},
		"a file in another user's directory": {tree: []step{{path: "own", owner: other}, {path: "own/file", file: true}}, at: "own", want: "belongs to another user"},
		"a link to another user's file":      {tree: []step{{path: "own"}, {path: "real", file: true, owner: other}, {path: "own/file", link: "../real"}}, at: "real", want: "belongs to another user"},
		"a file in a directory with the sticky bit that another user made": {tree: []step{{path: "own", mode: 0o777 | fs.ModeSticky},
			{path: "own/file", file: true, owner: other}}, at: "own/file", want: "belongs to another user"},
		"a directory": {tree: []step{{path: "own"}, {path: "own/file"}}, at: "own/file", want: "is not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			root := makeTree(t, c.tree)
			if c.user == 0 {
				c.user = os.Geteuid()
			} else if os.Geteuid() != 0 {
				t.Skip("the test file belongs to root only if root runs the test")
			}
			err := CheckFile(root+"/own/file", c.user)
			var fault *Error
			if c.at == "" && err != nil || c.at != "" && (!errors.As(err, &fault) || fault.At != filepath.Join(root, c.at) || !strings.Contains(err.Error(), c.want) || fault.Remedy == "") {
				t.Errorf("got %v (%+v), want %s and %q", err, fault, c.at, c.want)
			}
		})
	}
}

func TestCheckEntry(t *testing.T) {
	for name, c := range map[string]struct {
		tree []step
		sudo string // value of SUDO_UID
		want string // empty if the entry is accepted
	}{
		"a directory":                    {tree: []step{{path: "own"}, {path: "own/it"}}},
		"a file":                         {tree: []step{{path: "own"}, {path: "own/it", file: true}}},
		"a directory of a private group": {tree: []step{{path: "own"}, {path: "own/it", owner: other, group: other, mode: 0o775}}, sudo: "54321"},
		"a directory of the user who called sudo":     {tree: []step{{path: "own", owner: other}, {path: "own/it", owner: other}}, sudo: "54321"},
		"a directory of root under sudo":              {tree: []step{{path: "own", owner: other}, {path: "own/it"}}, sudo: "54321"},
		"a directory of another user":                 {tree: []step{{path: "own"}, {path: "own/it", owner: other}}, want: "belongs to another user (user id 54321"},
		"a file of another user":                      {tree: []step{{path: "own"}, {path: "own/it", file: true, owner: other}}, want: "belongs to another user (user id 54321"},
		"a file of a third user under sudo":           {tree: []step{{path: "own"}, {path: "own/it", file: true, owner: other}}, sudo: "54322", want: "belongs to another user (user id 54321"},
		"a value of SUDO_UID that is no user":         {tree: []step{{path: "own"}, {path: "own/it", owner: other}}, sudo: "-1", want: "belongs to another user (user id 54321"},
		"a file in a directory of another user":       {tree: []step{{path: "own", owner: other}, {path: "own/it", file: true}}, want: "belongs to another user (user id 54321"},
		"a world-writable directory":                  {tree: []step{{path: "own"}, {path: "own/it", mode: 0o777}}, want: "can be written by others"},
		"a group-writable directory":                  {tree: []step{{path: "own"}, {path: "own/it", mode: 0o775}}, want: "can be written by others"},
		"a directory with the sticky bit like /tmp":   {tree: []step{{path: "own"}, {path: "own/it", mode: 0o777 | fs.ModeSticky}}, want: "can be written by others"},
		"a directory below one with the sticky bit":   {tree: []step{{path: "own", mode: 0o777 | fs.ModeSticky}, {path: "own/it"}}},
		"a directory below one that all can write":    {tree: []step{{path: "own", mode: 0o777}, {path: "own/it"}}, want: "can be written by others"},
		"a link of another user to one of the user's": {tree: []step{{path: "mine"}, {path: "own"}, {path: "own/it", link: "$ROOT/mine", owner: other}}, want: "belongs to another user (user id 54321"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.sudo != "" && os.Geteuid() != 0 {
				t.Skip("SUDO_UID has a meaning for root only")
			}
			t.Setenv("SUDO_UID", c.sudo)
			err := CheckEntry(makeTree(t, c.tree) + "/own/it")
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestIsTrusted(t *testing.T) {
	t.Setenv("SUDO_UID", "54322")
	for user, want := range map[int]bool{0: true, os.Geteuid(): true, other: false, 54322: os.Geteuid() == 0} {
		if IsTrusted(user) != want {
			t.Errorf("user %d: got %t", user, !want)
		}
	}
}
