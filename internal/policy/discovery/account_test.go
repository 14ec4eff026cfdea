package discovery

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestHomeOfAccountIsNotThatOfEnvironment has an account that is not in /etc/passwd, as those of a directory service: HOME
// must not decide what ${home} in the ceiling is.
func TestHomeOfAccountIsNotThatOfEnvironment(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reads passwd")
	}
	t.Setenv("HOME", "/chosen")
	t.Setenv("USER", "user")
	dir := t.TempDir()
	passwd, getent := filepath.Join(dir, "passwd"), filepath.Join(dir, "getent")
	write := func(file, content string) {
		if err := os.WriteFile(file, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(passwd, "root:x:0:0:root:/root:/bin/sh\n# 77\nlocal:x:77:77::/home/local:\n:::\n")
	write(getent, "#!/bin/sh\n[ -z \"$HOME\" ] && [ \"$1 $2\" = 'passwd 88' ] && echo 'far:*:88:88::/home/far:/bin/sh'\n")
	for uid, want := range map[string]string{"0": "/root", "77": "/home/local", "88": "/home/far", "7": "", "99": ""} {
		if got := homeOf(uid, passwd, getent); got != want {
			t.Errorf("%s: got %q, want %q", uid, got, want)
		}
	}
	if got := homeOf("88", passwd, dir+"/absent"); got != "" {
		t.Errorf("without getent: %q", got)
	}
}
