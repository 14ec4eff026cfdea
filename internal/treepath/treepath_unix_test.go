//go:build unix

package treepath

import "testing"

// A directory of a Unix system may have a name like a path of Windows.
func TestPathsOfUnixAreUnchanged(t *testing.T) {
	for _, path := range []string{"/C:/x", "C:/x", `C:\x`, "/c:", `/home/me\x`, `\\server\share`} {
		if got := Of(path); got != path {
			t.Errorf("%s becomes %s", path, got)
		}
		if got := Values(map[string]string{"A": path})["A"]; got != path {
			t.Errorf("the value %s becomes %s", path, got)
		}
	}
}
