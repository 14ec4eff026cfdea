package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// TestAsUnprivilegedUser repeats the tests as user 65534 if root runs the tests.
func TestAsUnprivilegedUser(t *testing.T) {
	testenv.NotShort(t, "starts many processes")
	if os.Getuid() != 0 {
		t.Skip("the tests run as an unprivileged user already")
	}
	t.Parallel()
	const nobody = 65534
	dir, err := os.MkdirTemp("", "confine") // t.TempDir is below a directory that belongs to root
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chown(dir, nobody, nobody))
	binary, err := os.ReadFile(program(t))
	must(t, err)
	name := filepath.Join(dir, "confine.test")
	must(t, os.WriteFile(name, binary, 0o755))
	cmd := exec.Command(name, "-test.v", "-test.run=^Test(Each|All|Confined|No|Parent|Exceeded)")
	cmd.Dir = dir
	cmd.Env = []string{"TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
