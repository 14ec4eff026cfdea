package git_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
)

func TestReadUser(t *testing.T) {
	home := t.TempDir()
	read := func() git.User {
		t.Helper()
		u, err := git.ReadUser(home, "")
		gittest.Must(t, err)
		return u
	}
	if diff := cmp.Diff(git.User{}, read()); diff != "" {
		t.Errorf("without any file: %s", diff)
	}
	gittest.Write(t, home+"/.config/git/config", "[user]\n\tname = X\n\temail = x@example.com\n")
	gittest.Write(t, home+"/.config/git/ignore", "*.bak\n")
	want := git.User{Identity: git.Identity{Name: "X", Email: "x@example.com"}, Excludes: []byte("*.bak\n")}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("from the directory for configuration: %s", diff)
	}
	gittest.Write(t, home+"/.gitconfig", "[user]\n\tname = Y\n[core]\n\texcludesFile = ~/mine\n[include]\n\tpath = more\n")
	gittest.Write(t, home+"/mine", "*.tmp\n")
	gittest.Write(t, home+"/more", "[user]\n\tname = Z\n")
	want = git.User{Identity: git.Identity{Name: "Y", Email: "x@example.com"}, Excludes: []byte("*.tmp\n"),
		Settings: git.Settings{"?include": {Value: "more", File: home + "/.gitconfig"}}}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("the file in the home directory does not take precedence: %s", diff)
	}
	gittest.Write(t, home+"/.gitconfig", "[user\n")
	if u, err := git.ReadUser(home, ""); err == nil || !strings.Contains(err.Error(), ".gitconfig: line 1") || u.Identity.Name != "X" {
		t.Errorf("a file that cannot be read: got %+v, %v", u, err)
	}
}

// TestReadUserIsBounded checks that ReadUser reads no included files, and reads a file only up to the limit for its size.
func TestReadUserIsBounded(t *testing.T) {
	home := t.TempDir()
	gittest.Write(t, home+"/other", "[user]\n\tname = Other\n")
	gittest.Write(t, home+"/.gitconfig", "[include]\n\tpath = "+home+"/other\n")
	if u, err := git.ReadUser(home, ""); err != nil || u.Identity.Name != "" {
		t.Errorf("got %+v, %v", u, err)
	}
	gittest.Write(t, home+"/.gitconfig", "[user]\n\tname = X\n"+strings.Repeat("#\n", 16<<20))
	gittest.Write(t, home+"/.config/git/ignore", strings.Repeat("#\n", 16<<20))
	if u, err := git.ReadUser(home, ""); err == nil || u.Identity.Name != "" || u.Excludes != nil {
		t.Errorf("got %+v, %d bytes, %v", u.Identity, len(u.Excludes), err)
	}
}

// A relative path would be one of the host's working directory, which is the project in many cases.
func TestRelativeIgnoreFileIsNotRead(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	t.Chdir(work)
	gittest.Write(t, work+"/mine", "*\n")
	gittest.Write(t, home+"/.gitconfig", "[core]\n\texcludesFile = mine\n")
	if u, err := git.ReadUser(home, ""); err != nil || u.Excludes != nil {
		t.Errorf("got %q, %v", u.Excludes, err)
	}
}

// Users disable a setting that names a file by /dev/null.
func TestDeviceInPlaceOfIgnoreFileIsEmpty(t *testing.T) {
	home := t.TempDir()
	gittest.Write(t, home+"/.gitconfig", "[core]\n\texcludesFile = /dev/null\n")
	if u, err := git.ReadUser(home, ""); err != nil || u.Excludes != nil {
		t.Errorf("got %q, %v", u.Excludes, err)
	}
}
