package hostile

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// grounds are the folders around the project: a sibling whose name begins like the project's, one outside with
// the secret, one that may be read; and in the project what leads there, and what is hidden.
func newLinkedWorkspace(t *testing.T) *workspace {
	w := newWorkspace(t)
	w.writeFile("outside/secret.txt", secret)
	w.writeFile("workshop/secret.txt", secret)
	w.writeFile("reference/guide.txt", "read me")
	w.writeFile("work/deep/inner.txt", "inside")
	w.writeFile("work/elsewhere/empty.txt", "")
	for name, target := range map[string]string{
		"relative": "../outside/secret.txt", "absolute": w.path("outside/secret.txt"), "folder": "../outside",
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

// TestPathsOutsideGrantAreUnreachable, by whatever name; and what is hidden stays so.
func TestPathsOutsideGrantAreUnreachable(t *testing.T) {
	t.Parallel()
	w := newLinkedWorkspace(t)
	check := w.unchanged(t, "outside", "workshop", "reference", "work/.git", "work/private")
	s := w.serve()
	reading := func(path string) action { return action{Do: "read", Path: path} }
	all := []intrusion{
		{"a file of the project", reading("@work/plain.txt"), "", "nothing special"},
		{"a file that may be read", reading("@reference/guide.txt"), "", "read me"},
		{"a link within", reading("@work/inside"), "", "inside"},

		{"a file outside", reading("@outside/secret.txt"), "", absent},
		{"a sibling whose name begins alike", reading("@workshop/secret.txt"), "", absent},
		{"up and out", reading("@work/../outside/secret.txt"), "", absent},
		{"up and out, as it is written", action{Do: "read raw", Path: strings.TrimPrefix(w.path("work"), "/") + "/../outside/secret.txt"}, "", absent},
		{"above the root", action{Do: "read raw", Path: "../../../../../../etc/hostname"}, "", refused},
		{"a relative link out", reading("@work/relative"), "", denied},
		{"an absolute link out", reading("@work/absolute"), "", denied},
		{"a link to a folder outside", reading("@work/folder/secret.txt"), "", denied},
		{"a chain of links out", reading("@work/chain-1"), "", denied},
		{"a link from a folder to the sibling", reading("@work/deep/up/secret.txt"), "", denied},
		{"a link to the root", reading("@work/root" + w.path("outside/secret.txt")), "", denied},
		{"a link to itself", reading("@work/around"), "", "Too many symbolic links"},
		{"a link to a file of the system", reading("@work/system"), "", denied},
		{"a file of the system", reading("/etc/hostname"), "", absent},
		{"processes", reading("/proc/self/environ"), "", absent},
		{"processes by a link", reading("@work/process"), "", denied},
		{"a device", reading("/dev/zero"), "", absent},
		{"a device by a link", reading("@work/zero"), "", denied},
		{"a FIFO", reading("@work/fifo"), "", refused},
		{"a folder that is not granted", action{Do: "list", Path: "@outside"}, "", absent},
		{"the folder above shows what is granted and no more", action{Do: "list", Path: "@"}, "", "reference work"},
		{"the root is bare", action{Do: "list", Path: "/"}, "", strings.Split(w.dir, "/")[1] + ".*"},
		{"the config", reading("@bulkhead.toml"), "", absent},
		{"the audit log", reading("@audit.jsonl"), "", absent},

		{"a hidden file", reading("@work/.env"), "", absent},
		{"a hidden file by a link", reading("@work/to-env"), "", absent},
		{"a hidden file by a link of its own making", action{Do: "symlink", Path: "@work/mine", To: "@work/.env"}, "", "made"},
		{"which leads nowhere", reading("@work/mine"), "", absent},
		{"a hidden file by a hard link", action{Do: "link", Path: "@work/.env", To: "@work/visible"}, "", absent},
		{"a hidden file under another name", action{Do: "rename", Path: "@work/.env", To: "@work/visible"}, "", absent},
		{"a hidden folder under another name", action{Do: "rename", Path: "@work/private", To: "@work/public"}, "", absent},
		{"a parent of what is hidden under another name", action{Do: "rename", Path: "@work/private/deeper", To: "@work/public"}, "", absent},
		{"what lies in a hidden folder", reading("@work/private/deeper/key.pem"), "", absent},
		{"what lies there by a link", reading("@work/to-private/deeper/key.pem"), "", absent},
		{"hidden files are not listed", action{Do: "list", Path: "@work"}, "", "\\.git absolute around chain-1 chain-2 dangling deep elsewhere fifo folder inside mine plain\\.txt .* zero"},
		{"a file in the place of a hidden one", action{Do: "write", Path: "@work/.env"}, "", denied},

		{"to write outside", action{Do: "write", Path: "@outside/new.txt"}, "", absent},
		{"to write through a link", action{Do: "write", Path: "@work/relative"}, "", denied},
		{"to write through a link to nothing", action{Do: "write", Path: "@work/dangling"}, "", denied},
		{"to write where one may only read", action{Do: "write", Path: "@reference/guide.txt"}, "", denied},
		{"to remove there", action{Do: "remove", Path: "@reference/guide.txt"}, "", denied},
		{"to move a file out", action{Do: "rename", Path: "@work/plain.txt", To: "@outside/plain.txt"}, "", absent},
		{"to move a file in", action{Do: "rename", Path: "@outside/secret.txt", To: "@work/secret.txt"}, "", absent},
		{"to link a file in", action{Do: "link", Path: "@outside/secret.txt", To: "@work/secret.txt"}, "", absent},
		{"to make a link out", action{Do: "symlink", Path: "@work/new-link", To: "../outside/secret.txt"}, "", denied},
		{"to make a link to the system", action{Do: "symlink", Path: "@work/new-link", To: "/etc/passwd"}, "", denied},
		{"to remove the project", action{Do: "remove", Path: "@work"}, "", refused},
		{"to move the project", action{Do: "rename", Path: "@work", To: "@gone"}, "", refused},

		{"to change the repository's configuration", action{Do: "write", Path: "@work/.git/config"}, "", refused},
		{"to plant a hook", action{Do: "write", Path: "@work/.git/hooks/post-commit"}, "", refused},
		{"to plant a repository", action{Do: "mkdir", Path: "@work/deep/.git"}, "", refused},
		{"to plant a file that names a repository", action{Do: "write", Path: "@work/deep/.git"}, "", refused},
		{"to plant one under another case", action{Do: "write", Path: "@work/deep/.GIT"}, "", refused},
		{"to make a repository of a folder", action{Do: "rename", Path: "@work/deep", To: "@work/elsewhere/.git"}, "", refused},
		{"to move the repository away", action{Do: "rename", Path: "@work/.git", To: "@work/old"}, "", refused},
		{"to see the repository is no secret", reading("@work/.git/config"), "", ".*bare = false\n"},

		{"a set-uid bit", action{Do: "ask", Op: "fs/mode", Params: map[string]any{"path": w.path("work/plain.txt"), "mode": 0o4755}}, "", ".*bits beyond 0777.*"},
		{"the mode of a file outside", action{Do: "ask", Op: "fs/mode", Params: map[string]any{"path": w.path("outside/secret.txt"), "mode": 0o777}}, "", ".*no such file.* .failed."},
		{"the environment", action{Do: "environment"}, "", "[^=]*=[^=]*(\n(PWD|BULKHEAD_[A-Z]+)=[^\n]*)*"},
	}
	w.intrude(t, s, all)
	s.end()
	check()
	w.checkRecords(all)
	if info, err := os.Stat(w.path("work/plain.txt")); err != nil || info.Mode()&os.ModeSetuid != 0 {
		t.Errorf("plain.txt: %v %v", info, err)
	}
}

// TestSwappedLinksAreNotFollowed has a second process swap a folder for a link that leads out, over and over,
// while the intruder reads and writes in it.
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
		{"reading on", action{Do: "read often", Path: "@work/swapped/secret.txt", Count: 3000}, "", ".*(" + denied + "|" + absent + ").*"},
	}
	w.intrude(t, s, all)
	s.end()
	check()
	w.checkRecords(all)
}
