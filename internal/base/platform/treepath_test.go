package platform

import "testing"

func TestWindowsPathsInTheTree(t *testing.T) {
	for host, tree := range map[string]string{
		`C:\Users\x y\p`: "/C:/Users/x y/p", `C:\`: "/C:/", `D:\a`: "/D:/a",
	} {
		if got := fromWindows(host); got != tree {
			t.Errorf("fromWindows(%s) = %s, want %s", host, got, tree)
		}
		if got := toWindows(tree); got != host {
			t.Errorf("toWindows(%s) = %s, want %s", tree, got, host)
		}
	}
	if got := fromWindows("c:/Users/x"); got != "/C:/Users/x" {
		t.Errorf("the drive and slashes are not canonicalized: %s", got)
	}
	for _, other := range []string{"", "/", "/home/x", "C:", "C:x", `\a`, `\\server\share\x`, "https://x/y", "relative/C:/x", "1:/x", "::/x"} {
		if got := fromWindows(other); got != other {
			t.Errorf("fromWindows(%q) = %q, want it unchanged", other, got)
		}
	}
}
