//go:build unix

package testenv

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// The ID of the user nobody, and of its group.
const Nobody = 65534

// AsNobody is for tests of files that the user may not access. Permissions do not restrict root, so if root runs the test, AsNobody runs
// it in a new process as the user nobody, and returns true: then the caller has to return. It is called first in a test.
func AsNobody(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	dir, err := os.MkdirTemp("", "bulkhead-user-") // t.TempDir is below a directory that only root may search
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	work, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{work, filepath.Dir(dir)} {
		if closed := closedToOthers(t, path); closed != "" {
			t.Skipf("NOT TESTED: the user nobody may not search %s", closed)
		}
	}
	program := filepath.Join(dir, "test")
	copyExecutable(t, program)
	if err := os.Chown(dir, Nobody, Nobody); err != nil {
		t.Fatal(err)
	}
	var run []string
	for part := range strings.SplitSeq(t.Name(), "/") {
		run = append(run, "^"+regexp.QuoteMeta(part)+"$")
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.v", "-test.run="+strings.Join(run, "/"))
	if testing.Short() {
		cmd.Args = append(cmd.Args, "-test.short")
	}
	cmd.Dir, cmd.Env = work, append(os.Environ(), "HOME="+dir, "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: Nobody, Gid: Nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("as the user nobody: %v\n%s", err, out)
	}
	return true
}

// closedToOthers returns path or the ancestor of path that other users may not search; empty if there is none.
func closedToOthers(t *testing.T, path string) string {
	t.Helper()
	for ; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode()&0o001 == 0 {
			return path
		}
		if path == filepath.Dir(path) {
			return ""
		}
	}
}

// copyExecutable copies the program of the test, whose own directory only root may search.
func copyExecutable(t *testing.T, to string) {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(own)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if closeErr := out.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
}
