//go:build unix

package hostile

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// newLinkedWorkspace returns a workspace with denied files in the project, and with symbolic links to three directories outside
// the project: one with the secret, one whose name has the project's name as prefix, and one with a read grant.
func newLinkedWorkspace(t *testing.T) *workspace {
	w := newWorkspace(t)
	w.writeFile("outside/secret.txt", secret)
	w.writeFile("workshop/secret.txt", secret)
	w.writeFile("reference/guide.txt", "read me")
	w.writeFile("work/deep/inner.txt", "inside")
	w.writeFile("work/elsewhere/empty.txt", "")
	for name, target := range map[string]string{
		"relative": "../outside/secret.txt", "absolute": w.path("outside/secret.txt"), "directory": "../outside",
		"chain-1": "chain-2", "chain-2": "deep/chain-3", "deep/chain-3": "../relative", "around": "around",
		"inside": "deep/inner.txt", "system": "/etc/hostname", "zero": "/dev/zero", "process": "/proc/self/environ",
		"dangling": "../outside/new.txt", "deep/up": "../../workshop", "root": "/",
		"to-env": ".env", "to-private": "private",
	} {
		w.symlink("work/"+name, target)
	}
	if err := syscall.Mkfifo(w.path("work/fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.writeFile("work/.env", secret)
	w.writeFile("work/private/deeper/key.pem", secret)
	w.writeFile("work/.git/config", "[core]\n\tbare = false\n")
	w.writeFile("work/.git/hooks/keep", "")
	w.addIntruder(fmt.Sprintf("fs = [{ path = \"${project}\", access = \"rw\" }, { path = %q, access = \"r\" }]\ndeny = [\"**/.env\", \"private/**\"]\ngit = []\n", w.path("reference")))
	return w
}

// TestPathsOutsideGrantAreUnreachable also covers denied and protected paths inside the grant.
func TestPathsOutsideGrantAreUnreachable(t *testing.T) {
	t.Parallel()
	w := newLinkedWorkspace(t)
	check := w.unchanged(t, "outside", "workshop", "reference", "work/.git", "work/private")
	s := w.serve()
	reading := func(path string) action { return action{Do: "read", Path: path} }
	all := []intrusion{
		{"a file of the project", reading("@work/plain.txt"), "", "nothing special"},
		{"a file granted to read", reading("@reference/guide.txt"), "", "read me"},
		{"a link inside the project", reading("@work/inside"), "", "inside"},

		{"a file outside", reading("@outside/secret.txt"), "", absent},
		{"a sibling with the project's name as prefix", reading("@workshop/secret.txt"), "", absent},
		{"dot-dot out of the project", reading("@work/../outside/secret.txt"), "", absent},
		{"dot-dot out of the project, not cleaned by Go", action{Do: "read raw", Path: strings.TrimPrefix(w.path("work"), "/") + "/../outside/secret.txt"}, "", absent},
		{"above the root", action{Do: "read raw", Path: "../../../../../../etc/hostname"}, "", refused},
		{"a relative link out", reading("@work/relative"), "", denied},
		{"an absolute link out", reading("@work/absolute"), "", denied},
		{"a link to a directory outside", reading("@work/directory/secret.txt"), "", denied},
		{"a chain of links out", reading("@work/chain-1"), "", denied},
		{"a link in a subdirectory to the sibling", reading("@work/deep/up/secret.txt"), "", denied},
		{"a link to the root", reading("@work/root" + w.path("outside/secret.txt")), "", denied},
		{"a link to itself", reading("@work/around"), "", "Too many symbolic links"},
		{"a link to a file of the system", reading("@work/system"), "", denied},
		{"a file of the system", reading("/etc/hostname"), "", absent},
		{"/proc", reading("/proc/self/environ"), "", absent},
		{"/proc by a link", reading("@work/process"), "", denied},
		{"a device", reading("/dev/zero"), "", absent},
		{"a device by a link", reading("@work/zero"), "", denied},
		{"a FIFO", reading("@work/fifo"), "", refused},
		{"a directory that is not granted", action{Do: "list", Path: "@outside"}, "", absent},
		{"the parent lists granted directories only", action{Do: "list", Path: "@"}, "", "reference work"},
		{"the root lists one entry", action{Do: "list", Path: "/"}, "", strings.Split(w.dir, "/")[1] + ".*"},
		{"the config", reading("@bulkhead.toml"), "", absent},
		{"the audit log", reading("@audit.jsonl"), "", absent},

		{"a hidden file", reading("@work/.env"), "", absent},
		{"a hidden file by a link", reading("@work/to-env"), "", absent},
		{"creating a link to a hidden file", action{Do: "symlink", Path: "@work/mine", To: "@work/.env"}, "", "made"},
		{"that link", reading("@work/mine"), "", absent},
		{"a hidden file by a hard link", action{Do: "link", Path: "@work/.env", To: "@work/visible"}, "", absent},
		{"renaming a hidden file", action{Do: "rename", Path: "@work/.env", To: "@work/visible"}, "", absent},
		{"renaming a hidden directory", action{Do: "rename", Path: "@work/private", To: "@work/public"}, "", absent},
		{"renaming the parent of a hidden file", action{Do: "rename", Path: "@work/private/deeper", To: "@work/public"}, "", absent},
		{"a file in a hidden directory", reading("@work/private/deeper/key.pem"), "", absent},
		{"a file in a hidden directory by a link", reading("@work/to-private/deeper/key.pem"), "", absent},
		{"hidden files are not listed", action{Do: "list", Path: "@work"}, "", "\\.git absolute around chain-1 chain-2 dangling deep directory elsewhere fifo inside mine plain\\.txt .* zero"},
		{"a scan", action{Do: "scan", Path: "@work"}, "", "\\.git \\.git/config=\\[core\\].* absolute! around! chain-1! chain-2! dangling! deep deep/chain-3! deep/inner\\.txt=inside deep/up! directory! elsewhere elsewhere/empty.txt= fifo inside=inside mine! plain\\.txt=nothing special process! relative! root system! to-env! to-private! zero!"},
		{"a scan of a directory that is not granted", action{Do: "scan", Path: "@outside"}, "", absent},
		{"a scan through a link out", action{Do: "scan", Path: "@work/directory"}, "", denied},
		{"a scan of a hidden directory", action{Do: "scan", Path: "@work/private"}, "", absent},
		{"a scan of all that is granted", action{Do: "scan", Path: "/"}, "", ".*/reference/guide\\.txt=read me .*/work/plain\\.txt=nothing special.*"},
		{"creating a hidden file", action{Do: "write", Path: "@work/.env"}, "", denied},

		{"writing outside", action{Do: "write", Path: "@outside/new.txt"}, "", absent},
		{"writing through a link", action{Do: "write", Path: "@work/relative"}, "", denied},
		{"writing through a dangling link", action{Do: "write", Path: "@work/dangling"}, "", denied},
		{"writing in a directory granted to read", action{Do: "write", Path: "@reference/guide.txt"}, "", denied},
		{"removing there", action{Do: "remove", Path: "@reference/guide.txt"}, "", denied},
		{"moving a file out", action{Do: "rename", Path: "@work/plain.txt", To: "@outside/plain.txt"}, "", absent},
		{"moving a file in", action{Do: "rename", Path: "@outside/secret.txt", To: "@work/secret.txt"}, "", absent},
		{"hard-linking a file in", action{Do: "link", Path: "@outside/secret.txt", To: "@work/secret.txt"}, "", absent},
		{"creating a link out", action{Do: "symlink", Path: "@work/new-link", To: "../outside/secret.txt"}, "", denied},
		{"creating a link to a system file", action{Do: "symlink", Path: "@work/new-link", To: "/etc/passwd"}, "", denied},
		{"removing the project", action{Do: "remove", Path: "@work"}, "", refused},
		{"moving the project", action{Do: "rename", Path: "@work", To: "@gone"}, "", refused},

		{"changing the repository's configuration", action{Do: "write", Path: "@work/.git/config"}, "", refused},
		{"creating a hook", action{Do: "write", Path: "@work/.git/hooks/post-commit"}, "", refused},
		{"creating a .git directory", action{Do: "mkdir", Path: "@work/deep/.git"}, "", refused},
		{"creating a .git file", action{Do: "write", Path: "@work/deep/.git"}, "", refused},
		{"creating a .GIT file", action{Do: "write", Path: "@work/deep/.GIT"}, "", refused},
		{"renaming a directory to .git", action{Do: "rename", Path: "@work/deep", To: "@work/elsewhere/.git"}, "", refused},
		{"renaming .git", action{Do: "rename", Path: "@work/.git", To: "@work/old"}, "", refused},
		{"reading .git", reading("@work/.git/config"), "", ".*bare = false\n"},

		{"setting the set-user-ID bit", action{Do: "ask", Op: "fs/mode", Params: map[string]any{"path": w.path("work/plain.txt"), "mode": 0o4755}}, "", ".*bits beyond 0777.*"},
		{"changing the mode of a file outside", action{Do: "ask", Op: "fs/mode", Params: map[string]any{"path": w.path("outside/secret.txt"), "mode": 0o777}}, "", ".*no such file.* .failed."},
		{"the environment", action{Do: "environment"}, "", "[^=]*=[^=]*(\n(PWD|BULKHEAD_[A-Z]+)=[^\n]*)*"},
	}
	w.intrude(t, s, all)
	s.end()
	check()
	w.checkRecords(all)
	for i, call := range w.calls("intruder") {
		scanned := slices.ContainsFunc(call.Operations, func(o struct{ Op, Target, Outcome, Code string }) bool { return o.Op == abi.OpFSScan && o.Code == "" })
		if all[i].name == "a scan" && !scanned {
			t.Errorf("the scan is not recorded: %+v", call)
		}
	}
	if info, err := os.Stat(w.path("work/plain.txt")); err != nil || info.Mode()&os.ModeSetuid != 0 {
		t.Errorf("plain.txt has the set-user-ID bit: %v %v", info, err)
	}
}

// TestSwappedLinksAreNotFollowed races with a second process. The second process repeatedly changes the target of a link from
// a directory in the project to one outside and back, while the intruder reads and writes through the link.
func TestSwappedLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.writeFile("outside/secret.txt", secret)
	w.writeFile("work/real/secret.txt", "nothing to see")
	w.addIntruder("")
	check := w.unchanged(t, "outside")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	swapper := exec.Command(self)
	swapper.Env = append(os.Environ(), swapVariable+"="+w.dir)
	if err := swapper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = swapper.Process.Kill(); _ = swapper.Wait() }()
	s := w.serve()
	all := []intrusion{
		{"reading", action{Do: "read often", Path: "@work/swapped/secret.txt", Count: 3000}, "", ".*nothing to see.*"},
		{"writing", action{Do: "write often", Path: "@work/swapped/new", Count: 1000}, "", "[0-9]+ of 1000"},
		{"scanning", action{Do: "scan often", Path: "@work/swapped", Count: 1000}, "", ".*secret\\.txt=nothing to see.*"},
		{"reading again", action{Do: "read often", Path: "@work/swapped/secret.txt", Count: 3000}, "", ".*(" + denied + "|" + absent + ").*"},
	}
	w.intrude(t, s, all)
	s.end()
	check()
	w.checkRecords(all)
}
