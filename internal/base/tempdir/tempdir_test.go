//go:build unix

package tempdir

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSweepRemovesDirectoriesOfDeadProcesses(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", root)
	abandoned := func(kind string) string {
		t.Helper()
		d, err := New(kind)
		if err != nil {
			t.Fatal(err)
		}
		closed := filepath.Join(d.Path, "closed")
		if err := os.Mkdir(closed, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(closed, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(closed, 0); err != nil {
			t.Fatal(err)
		}
		if err := d.lock.Close(); err != nil { // the system closes it when the process is killed
			t.Fatal(err)
		}
		return d.Path
	}
	link := filepath.Join(root, prefix+"link"+suffix()+"1")
	other := filepath.Join(root, prefix+"other-999999-1")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	dead := abandoned("code")
	alive, err := New("dev") // removes the dead one
	if err != nil {
		t.Fatal(err)
	}
	also := abandoned("scratch")
	Sweep()
	for path, want := range map[string]bool{dead: false, also: false, alive.Path: true, link: true, other: true, outside: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it to exist: %v", path, err, want)
		}
	}
	if err := alive.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(alive.Path); !os.IsNotExist(err) {
		t.Errorf("the directory is left: %v", err)
	}
}

func TestSweepKeepsDirectoriesOfOtherUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory to another user")
	}
	t.Setenv("TMPDIR", t.TempDir())
	d, err := New("code")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.lock.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(d.Path, 54321, 54321); err != nil {
		t.Fatal(err)
	}
	Sweep()
	if _, err := os.Lstat(d.Path); err != nil {
		t.Errorf("the directory of another user: %v", err)
	}
}
