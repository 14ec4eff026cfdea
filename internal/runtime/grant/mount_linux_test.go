package grant

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSameMountTellsBindMounts mounts a directory at another path, where it has the device number of its source. A rename between the
// two fails with EXDEV.
func TestSameMountTellsBindMounts(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	type result struct {
		a, b *os.File
		err  error
	}
	mounted := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the mount namespace ends with the goroutine
		var r result
		if r.err = unix.Unshare(unix.CLONE_NEWNS); r.err == nil {
			r.err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if r.err == nil {
			r.err = unix.Mount(filepath.Join(dir, "a"), filepath.Join(dir, "b"), "", unix.MS_BIND, "")
		}
		if r.err == nil {
			r.a, r.err = os.Open(filepath.Join(dir, "a"))
		}
		if r.err == nil {
			r.b, r.err = os.Open(filepath.Join(dir, "b"))
		}
		mounted <- r
	}()
	r := <-mounted
	if r.err != nil {
		t.Skipf("cannot mount: %v", r.err)
	}
	defer r.a.Close()
	defer r.b.Close()
	again, err := openAt(r.a, ".", handleFlags, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if sameMount(r.a, r.b) || !sameMount(r.a, again) {
		t.Errorf("sameMount of a bind mount is %t, of the directory itself %t", sameMount(r.a, r.b), sameMount(r.a, again))
	}
}
