package grant

import (
	"os"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

const landlockWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_REG

// restrictThread irreversibly restricts the calling thread: of all files, it may create and write only those beneath dir.
func restrictThread(dir *os.File) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: landlockWrite}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), 8, 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(ruleset))
	rule := unix.LandlockPathBeneathAttr{Allowed_access: landlockWrite, Parent_fd: int32(dir.Fd())}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return errno
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// createBeneath creates a file beneath dir with the system call that workers use.
func createBeneath(dir *os.File, name string) error {
	fd, err := unix.Openat2(int(dir.Fd()), name, &unix.OpenHow{
		Flags: unix.O_WRONLY | unix.O_CREAT | unix.O_CLOEXEC, Mode: 0o600,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

// TestConfinedWorkerWritesInCreatedDirectory confines a thread before a granted directory is created. The thread must be able to write
// in that directory, and nowhere else.
func TestConfinedWorkerWritesInCreatedDirectory(t *testing.T) {
	w := newWorld(t)
	w.grant(manifest.ReadWrite, "a/.codex")
	s := w.resolve()
	home, err := openAt(nil, w.home, handleFlags, 0)
	w.must(err)
	defer home.Close()
	confined, created, done := make(chan error), make(chan error), make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the confined thread ends with the goroutine
		confined <- restrictThread(s.Mounts[0].Dir)
		if <-created == nil {
			done <- createBeneath(s.Mounts[0].Dir, "config")
			done <- createBeneath(home, "outside")
		}
	}()
	if err := <-confined; err != nil {
		created <- err
		t.Skipf("the kernel has no Landlock: %v", err)
	}
	err = s.Create(0)
	created <- err
	w.must(err)
	if err := <-done; err != nil {
		t.Errorf("cannot write in the created directory: %v", err)
	}
	if err := <-done; err != unix.EACCES {
		t.Errorf("outside: %v", err)
	}
	if _, err := os.Stat(w.path("a/.codex/config")); err != nil {
		t.Error(err)
	}
}
