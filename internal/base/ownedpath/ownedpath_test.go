//go:build unix

package ownedpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
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
		"a world-writable ancestor with a private group":      {tree: []step{{path: "own", owner: other, group: other, mode: 0o777}, {path: "own/dir", owner: other}}, user: other, at: "own", want: "mode 0777"},
		"an ancestor that a group of others may write":        {tree: []step{{path: "own", owner: other, group: other + 1, mode: 0o775}, {path: "own/dir", owner: other}}, user: other, at: "own", want: "mode 0775"},
		"an ancestor of root that another group may write":    {tree: []step{{path: "own", group: other + 1, mode: 0o775}, {path: "own/dir", owner: other}}, user: other, at: "own", want: "mode 0775"},
		"a directory of root that the user's group may write": {tree: []step{{path: "own"}, {path: "own/dir", group: other, mode: 0o775}}, user: other, at: "own/dir", want: "belongs to another user"},
		"an ancestor of root and a group of other users":      {tree: []step{{path: "own", group: other, mode: 0o775}, {path: "own/dir", owner: other}}, user: other, at: "own", want: "mode 0775"},
		"an ancestor of root that root's group may write":     {tree: []step{{path: "own", mode: 0o775}, {path: "own/dir", owner: other}}, user: other, at: "own", want: "mode 0775"},
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
			err := check(filepath.Join(root, c.dir), account{c.user, 0}, lastDir)
			var fault *Error
			if !errors.As(err, &fault) || fault.At != filepath.Join(root, c.at) || !strings.Contains(err.Error(), c.want) || fault.Remedy == "" {
				t.Fatalf("got %v (%+v), want %s and %q", err, fault, c.at, c.want)
			}
			if strings.Contains(err.Error(), "cannot be trusted") != (fault.At != fault.Dir) {
				t.Errorf("got %v for %s", err, fault.At)
			}
		})
	}
}

func TestRemedyOfOwner(t *testing.T) {
	for want, got := range map[string]string{
		"chown 0 /d": remedyOfOwner("/d", lastDir, 0), "chown 7 /f": remedyOfOwner("/f", lastFile, 7), "chown 7 /e": remedyOfOwner("/e", lastEntry, 7),
		"chown 7 /d, or use a directory of your own": remedyOfOwner("/d", lastDir, 7),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestCheckFollowsFortyLinks has the bound of Linux in digits.
func TestCheckFollowsFortyLinks(t *testing.T) {
	steps := []step{{path: "0"}}
	for n := range 41 {
		steps = append(steps, step{path: strconv.Itoa(n + 1), link: strconv.Itoa(n)})
	}
	root := makeTree(t, steps)
	if err := Check(root + "/40"); err != nil {
		t.Errorf("40 links: %v", err)
	}
	if err := Check(root + "/41"); err == nil || !strings.Contains(err.Error(), "too many symbolic links") {
		t.Errorf("41 links: got %v", err)
	}
}

func TestCheckRefusesPathThatCannotBeExamined(t *testing.T) {
	if testenv.AsNobody(t) {
		return
	}
	root := makeTree(t, []step{{path: "own"}, {path: "own/dir"}})
	if err := os.Chmod(root+"/own", 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(root+"/own", 0o700) })
	if err := Check(root + "/own/dir"); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "cannot be checked") {
		t.Errorf("got %v", err)
	}
}

func TestMake(t *testing.T) {
	root := makeTree(t, []step{{path: "own"}, {path: "shared", mode: 0o777}})
	if err := Make(root + "/own/a/b"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(root + "/own/a"); err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("got %v, %v", info, err)
	}
	var fault *Error
	if err := Make(root + "/shared/dir"); !errors.As(err, &fault) || fault.At != root+"/shared" {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(root + "/shared/dir"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory was created below one that others can write: %v", err)
	}
	if err := os.Symlink("absent", root+"/own/link"); err != nil {
		t.Fatal(err)
	}
	if err := Make(root + "/own/link"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the target of a dangling link: got %v", err)
	}
}

func TestIsPrivate(t *testing.T) {
	root := makeTree(t, []step{{path: "private", file: true}, {path: "group", file: true, mode: 0o620}, {path: "world", file: true, mode: 0o602}})
	for name, want := range map[string]bool{"private": true, "group": false, "world": false, "theirs": false, "closed": false} {
		path := filepath.Join(root, name)
		if name == "theirs" || name == "closed" {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		switch {
		case name == "closed":
			file.Close()
		case name == "theirs" && os.Geteuid() != 0:
			continue // only root can give a file to another user
		case name == "theirs":
			if err := os.Chown(path, other, other); err != nil {
				t.Fatal(err)
			}
		}
		if got := IsPrivate(file); got != want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestExplain(t *testing.T) {
	for want, err := range map[string]error{
		"/d is bad: repair it":                      &Error{Dir: "/d", At: "/d", What: "is bad", Remedy: "repair it"},
		"/d cannot be trusted: / is bad: repair it": &Error{Dir: "/d", At: "/", What: "is bad", Remedy: "repair it"},
		"other": errors.New("other"),
		"/s was written by a newer version of bulkhead: its format is \"2\", and this version supports 1: use the newer version, or set XDG_STATE_HOME to a different directory; nothing was changed": &NewerError{File: "/s/.format", Format: "2"},
	} {
		if got := Explain(err); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
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
		"a private directory":                          {tree: []step{{path: "own", mode: 0o700}, {path: "own/dir", mode: 0o700}}},
		"a world-readable directory":                   {tree: []step{{path: "own"}, {path: "own/dir"}}},
		"a directory below one with the sticky bit":    {tree: []step{{path: "own", mode: 0o777 | fs.ModeSticky}, {path: "own/dir"}}},
		"a missing directory":                          {tree: []step{{path: "own"}}, dir: "own/not/there"},
		"a directory behind symbolic links":            {tree: []step{{path: "mine"}, {path: "mine/dir"}, {path: "own", link: "./mine/dir/.."}}},
		"a user's directory behind a link of root":     {tree: []step{{path: "mine", owner: other}, {path: "own"}, {path: "own/dir", link: "../mine"}}, user: other},
		"a user's directory below one of root":         {tree: []step{{path: "own"}, {path: "own/dir", owner: other}}, user: other},
		"a user's directory below a volume of fsGroup": {tree: []step{{path: "own", group: other, mode: 0o775 | fs.ModeSetgid}, {path: "own/dir", owner: other, group: other}}, user: other},
		"a user's directory below a private group's":   {tree: []step{{path: "own", owner: other, group: other, mode: 0o775}, {path: "own/dir", owner: other, group: other}}, user: other},
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
			if err := check(filepath.Join(root, c.dir), account{c.user, c.user}, lastDir); err != nil {
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
	trusted := func(t *testing.T) {
		t.Setenv("SUDO_UID", "54322")
		for user, want := range map[int]bool{0: true, os.Geteuid(): true, other: false, 54322: os.Geteuid() == 0} {
			if IsTrusted(user) != want {
				t.Errorf("user %d: got %t", user, !want)
			}
		}
	}
	t.Run("the user of the tests", trusted)
	t.Run("another user than root", func(t *testing.T) {
		if !testenv.AsNobody(t) {
			trusted(t)
		}
	})
	t.Setenv("SUDO_UID", "-1")
	if IsTrusted(-1) {
		t.Error("a negative user is trusted")
	}
}

func TestCheckStateRefusesDirectoryItCannotJudge(t *testing.T) {
	for name, spoil := range map[string]func(dir, marker string) error{
		"writable by others": func(dir, _ string) error { return os.Chmod(dir, 0o777) },
		"a link to itself":   func(_, marker string) error { return os.Symlink(".format", marker) },
		"a directory":        func(_, marker string) error { return os.Mkdir(marker, 0o700) },
	} {
		dir := t.TempDir()
		if err := spoil(dir, filepath.Join(dir, ".format")); err != nil {
			t.Fatal(err)
		}
		if err := CheckState(dir); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
