//go:build linux || darwin

package vfs_test

import (
	"slices"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// aliased grants directories by paths with symbolic links. A module must find the directories at these paths.
func aliased(t *testing.T, more ...vfs.Mount) *world {
	w := newWorld(t)
	w.put("home/.codex", "->../w")
	c := vfs.Config{
		Mounts: vfs.MountsAt(t, append(more,
			vfs.Mount{Path: w.at("w"), Aliases: []string{w.at("home/.codex")}, Write: true},
			vfs.Mount{Path: w.at("ro"), Aliases: []string{w.at("home/deep/ro"), w.at("other")}},
			vfs.Mount{Path: w.at("absent"), Aliases: []string{w.at("home/absent")}, Write: true},
		)...),
		Denied: func(op, path string) { w.denied = append(w.denied, op+" "+path) },
	}
	w.mounts, w.fs = c.Mounts, vfs.New(c)
	return w
}

func TestMountIsFoundByItsAliases(t *testing.T) {
	w := aliased(t)
	if errno := w.write("home/.codex/new.txt", "n"); errno != 0 || w.host("w/new.txt") != "n" {
		t.Errorf("writing through an alias: got %v; the file contains %q", errno, w.host("w/new.txt"))
	}
	for _, path := range []string{"w/new.txt", "home/.codex/new.txt", "home/../w/new.txt", "home/deep/../.codex/new.txt"} {
		if got, errno := w.read(path); got != "n" || errno != 0 {
			t.Errorf("reading %s: got %q, %v", path, got, errno)
		}
	}
	for dir, want := range map[string][]string{"home": {".codex", "deep"}, "home/deep": {"ro"}} {
		f, errno := w.open(dir, sys.O_RDONLY)
		if errno != 0 {
			t.Fatalf("opening %s: got %v", dir, errno)
		}
		entries, errno := f.Readdir(-1)
		var names []string
		for _, entry := range entries {
			names = append(names, entry.Name)
		}
		if errno != 0 || !slices.Equal(names, want) {
			t.Errorf("%s: got %q, %v, want %q", dir, names, errno, want)
		}
	}
	for _, path := range []string{"home/deep/ro/x", "other/x", "home/new", "home/deep/x"} {
		if errno := w.write(path, "x"); errno != sys.EACCES {
			t.Errorf("writing %s: got %v, want EACCES", path, errno)
		}
	}
	for name, do := range map[string]change{
		"remove an alias": func(w *world) sys.Errno { return w.fs.Rmdir(w.in("home/.codex")) },
		"move an alias":   renames("home/.codex", "home/deep"),
		"link an alias":   func(w *world) sys.Errno { return w.fs.Symlink("x", w.in("home/.codex")) },
	} {
		if errno := do(w); errno == 0 || w.host("w/new.txt") != "n" {
			t.Errorf("%s: got %v, want an error and the file unchanged", name, errno)
		}
	}
}

// TestAliasInGitIsReadOnly grants a directory by an alias inside .git, where git would run hooks from it.
func TestAliasInGitIsReadOnly(t *testing.T) {
	w := newWorld(t)
	w.put("hooks/old", "o")
	w.fs = vfs.New(vfs.Config{Mounts: vfs.MountsAt(t, vfs.Mount{Path: w.at("hooks"), Aliases: []string{w.at("repo/.git/hooks")}, Write: true})})
	for _, path := range []string{"repo/.git/hooks", "hooks"} {
		if got, errno := w.read(path + "/old"); got != "o" || errno != 0 {
			t.Errorf("reading %s: got %q, %v", path, got, errno)
		}
		if errno := w.write(path+"/new", "n"); errno != sys.EPERM {
			t.Errorf("writing %s: got %v, want EPERM", path, errno)
		}
	}
}

func TestAbsentMountIsCreatedByItsAlias(t *testing.T) {
	w := aliased(t)
	if _, errno := w.read("home/absent/x"); errno != sys.ENOENT {
		t.Errorf("reading in an absent mount: got %v, want ENOENT", errno)
	}
	if errno := w.fs.Mkdir(w.in("home/absent"), 0o755); errno != 0 {
		t.Fatalf("mkdir of an absent mount by its alias: got %v", errno)
	}
	if errno := w.write("home/absent/x", "n"); errno != 0 || w.host("absent/x") != "n" {
		t.Errorf("writing in the created mount: got %v; the file contains %q", errno, w.host("absent/x"))
	}
}

// TestAliasInMountIsSymbolicLink checks that inside another mount, the path of an alias shows the host's current file.
func TestAliasInMountIsSymbolicLink(t *testing.T) {
	w := newWorld(t)
	w.put("home/.codex", "->../w")
	w.put("home/file", "f")
	w.put("home/.moved", "->../out")
	w.fs = vfs.New(vfs.Config{Mounts: vfs.MountsAt(t,
		vfs.Mount{Path: w.at("home")}, vfs.Mount{Path: w.at("w"), Aliases: []string{w.at("home/.codex"), w.at("home/.moved")}, Write: true},
	)})
	if errno := w.write("home/.codex/new.txt", "n"); errno != 0 || w.host("w/new.txt") != "n" {
		t.Errorf("writing through an alias in a mount: got %v", errno)
	}
	if got, errno := w.read("home/file"); got != "f" || errno != 0 {
		t.Errorf("read beside it: %q, %v", got, errno)
	}
	if _, errno := w.read("home/.moved/canary.txt"); errno == 0 {
		t.Error("a link to a directory that is not granted was followed")
	}
}
