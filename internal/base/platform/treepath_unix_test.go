//go:build unix

package platform

import "testing"

// On Unix a directory name may look like a Windows path, which must not be converted.
func TestPathsOfUnixAreUnchanged(t *testing.T) {
	for _, path := range []string{"/C:/x", "C:/x", `C:\x`, "/c:", `/home/me\x`, `\\server\share`} {
		if got := TreePath(path); got != path {
			t.Errorf("TreePath(%s) = %s, want it unchanged", path, got)
		}
		if got := TreeValues(map[string]string{"A": path})["A"]; got != path {
			t.Errorf("TreeValues converts %s to %s, want it unchanged", path, got)
		}
	}
}
