//go:build unix

package derived

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func keyOf(t *testing.T, path string) Key {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(&os.PathError{Op: "stat", Path: path, Err: err})
	}
	return Key{Function: 1, Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano()}
}
