package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// rootVariable passes the world to a copy of the test that runs in an empty root directory.
const rootVariable = "BULKHEAD_TEST_ROOT"

// In an empty root directory without /proc, files and git work through handles that were opened before.
func TestBoxWorksInEmptyRoot(t *testing.T) {
	if dir := os.Getenv(rootVariable); dir != "" {
		inEmptyRoot(t, world(dir))
		return
	}
	w := newWorld(t)
	repository(t, w.path("$W/work"))
	for name, content := range map[string]string{"f": "content\n", "sub/g": "g"} {
		if err := os.WriteFile(w.path("$W/work/")+name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("sub/g", w.path("$W/work/l")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.path("$W/empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestBoxWorksInEmptyRoot$")
	child.Env = append(os.Environ(), rootVariable+"="+string(w))
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := child.CombinedOutput()
	if _, ran := err.(*exec.ExitError); err != nil && !ran {
		t.Skipf("the system does not permit user namespaces: %v", err)
	}
	if err != nil {
		t.Errorf("the copy of the test failed: %v\n%s", err, out)
	}
}

func inEmptyRoot(t *testing.T, w world) {
	grant := w.grant("rw $W/work", "r $W/other", "state $W/states/p", "rw $W/work/later")
	grant.Git = []config.Git{{Repo: w.path("$W/work"), Access: "commit"}}
	c, err := openGrant(Setup{Plugin: "p", Grant: grant, Places: config.Places{State: w.path("$W/states")}, Own: []string{w.path("$W/states")},
		GitUser: func(context.Context) (git.UserConfig, error) {
			return git.UserConfig{{User: git.User{Identity: git.Identity{Name: "A", Email: "a@example.com"}}}}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	empty := w.path("$W/empty")
	if err := unix.Chroot(empty); err != nil {
		t.Skipf("the system does not permit chroot: %v", err)
	}
	if err := os.Chdir("/"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(w.path("$W/work")); err == nil {
		t.Fatal("the root directory is not empty")
	}
	b, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	tree := b.tree(&faults{}, "", new(denials))
	for name, want := range map[string]string{"$W/work/f": "content\n", "$W/work/l": "g", "$W/work/sub/../f": "content\n"} {
		if got := readIn(tree, w.path(name)); got != want {
			t.Errorf("%s contains %q, want %q", name, got, want)
		}
	}
	dir, errno := tree.OpenFile(w.path("$W/work"), experimentalsys.O_RDONLY, 0o600)
	if errno != 0 {
		t.Fatal(errno)
	}
	if entries, errno := dir.Readdir(-1); errno != 0 || len(entries) < 4 {
		t.Errorf("the directory lists %v, %v; want at least 4 entries", entries, errno)
	}
	for op, errno := range map[string]experimentalsys.Errno{
		"mkdir": tree.Mkdir(w.path("$W/work/new"), 0), "symlink": tree.Symlink("../f", w.path("$W/work/new/l")),
		"rename": tree.Rename(w.path("$W/work/new"), w.path("$W/work/sub/new")), "link": tree.Link(w.path("$W/work/f"), w.path("$W/work/h")),
		"chmod": tree.Chmod(w.path("$W/work/f"), 0o600), "utimens": tree.Utimens(w.path("$W/work/f"), 1, 2),
		"unlink": tree.Unlink(w.path("$W/work/h")), "state": tree.Mkdir(w.path("$W/states/p/x"), 0), "grant": tree.Mkdir(w.path("$W/work/later"), 0),
	} {
		if errno != 0 {
			t.Errorf("%s in the empty root directory: got %v", op, errno)
		}
	}
	for _, request := range []string{
		`{"op":"git/branch_exists","params":{"repo":"$W/work","branch":"main"}}`, `{"op":"git/status","params":{"repo":"$W/work"}}`,
		`{"op":"git/commit_branch","params":{"repo":"$W/work","branch":"new","message":"m","changes":[{"path":"x","content":"eA=="}]}}`,
		`{"op":"git/add","params":{"repo":"$W/work","paths":["."]}}`, `{"op":"git/commit","params":{"repo":"$W/work","message":"m"}}`, `{"op":"git/reset","params":{"repo":"$W/work"}}`,
		`{"op":"fs/mode","params":{"path":"$W/work/f","mode":420}}`,
	} {
		if got := string(b.Operate(Begin(t.Context(), nil, nil), []byte(w.path(request)))); strings.Contains(got, `"error"`) {
			t.Errorf("the operation %s failed in the empty root directory: %s", request, got)
		}
	}
}

func readIn(tree *vfs.FS, name string) string {
	file, errno := tree.OpenFile(name, experimentalsys.O_RDONLY, 0o600)
	if errno != 0 {
		return fmt.Sprint(errno)
	}
	defer file.Close()
	buf := make([]byte, 100)
	n, errno := file.Read(buf)
	if errno != 0 {
		return fmt.Sprint(errno)
	}
	return string(buf[:n])
}
