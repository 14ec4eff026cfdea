package discovery

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// accountHome returns the home directory of the account, "" if there is none. Unlike HOME, the user cannot change it.
func accountHome() string {
	dir, uid := "", strconv.Itoa(os.Geteuid())
	if runtime.GOOS == "linux" {
		dir = homeOf(uid, "/etc/passwd", "/usr/bin/getent")
	} else if u, err := user.LookupId(uid); err == nil {
		dir = u.HomeDir
	}
	return resolvedHome(dir)
}

// homeOf returns the home directory of a user ID, from the file passwd or else from the program getent, which knows the
// accounts of directory services. Package os/user is not used: in a program without cgo it returns HOME for an account
// that is not in /etc/passwd.
func homeOf(uid, passwd, getent string) string {
	if f, err := os.Open(passwd); err == nil {
		defer f.Close()
		if dir := homeIn(f, uid); dir != "" {
			return dir
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, getent, "passwd", uid)
	c.Env = []string{} // the host's environment could make the program load code of the user
	out, err := c.Output()
	if err != nil {
		return ""
	}
	return homeIn(bytes.NewReader(out), uid)
}

// homeIn returns the home directory of a user ID in the format of passwd(5).
func homeIn(passwd io.Reader, uid string) string {
	for lines := bufio.NewScanner(passwd); lines.Scan(); {
		if fields := strings.Split(lines.Text(), ":"); len(fields) == 7 && fields[2] == uid {
			return fields[5]
		}
	}
	return ""
}
