// Command guest exercises package os in the given directories, and exits with the first failure.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The paths: a writable directory, which is also the working directory, a read-only one, and a file that is not granted.
var work, read, secret = os.Args[1], os.Args[2], os.Args[3]

func main() {
	for _, c := range []struct {
		rule string
		do   func() error
	}{
		{"the working directory is PWD", workingDirectory},
		{"files are read and written by absolute and relative paths", files},
		{"a directory of 3000 entries is listed in full", bigFolder},
		{"rename moves, and replaces", rename},
		{"directories are made and removed with all in them", folders},
		{"temporary files and directories are made", temporary},
		{"a tree is walked", walk},
		{"links are made, read and resolved", links},
		{"times are set and kept", times},
		{"O_EXCL, O_APPEND and truncating work", flags},
		{"files and directories are synced", sync},
		{"os.Root works inside", root},
		{"what is not granted is a clear error", refusals},
	} {
		if err := c.do(); err != nil {
			fmt.Printf("%s: %v\n", c.rule, err)
			os.Exit(1)
		}
	}
	fmt.Println("all well")
}

func at(name string) string { return filepath.Join(work, name) }

// differ returns an error if the content of a file differs.
func differ(name, want string) error {
	got, err := os.ReadFile(name)
	if err == nil && string(got) != want {
		err = fmt.Errorf("%s contains %q, want %q", name, got, want)
	}
	return err
}

func workingDirectory() error {
	dir, err := os.Getwd()
	if err == nil && dir != work {
		err = fmt.Errorf("got %s, want %s", dir, work)
	}
	return err
}

func files() error {
	big := strings.Repeat("0123456789", 100_000)
	return errors.Join(
		os.WriteFile(at("abs.txt"), []byte(big), 0o600), differ("abs.txt", big),
		os.WriteFile("rel.txt", []byte("rel"), 0o600), differ(at("rel.txt"), "rel"), differ("./x/../rel.txt", "rel"),
		differ(filepath.Join(read, "r.txt"), "r"))
}

func bigFolder() error {
	if err := os.Mkdir("big", 0o700); err != nil {
		return err
	}
	for i := range 3000 {
		if err := os.WriteFile(fmt.Sprintf("big/a-file-with-a-name-of-some-length-%04d", i), nil, 0o600); err != nil {
			return err
		}
	}
	for range 2 {
		entries, err := os.ReadDir("big")
		if err != nil || len(entries) != 3000 {
			return fmt.Errorf("got %d entries, want 3000; %v", len(entries), err)
		}
		if last := entries[2999]; last.Name() != "a-file-with-a-name-of-some-length-2999" || last.IsDir() {
			return fmt.Errorf("the last entry is %v", last)
		}
	}
	return os.RemoveAll("big")
}

func rename() error {
	return errors.Join(
		os.WriteFile("one", []byte("one"), 0o600), os.WriteFile("two", []byte("two"), 0o600),
		os.Rename("one", at("three")), differ("three", "one"),
		os.Rename("three", "two"), differ("two", "one"))
}

func folders() error {
	if err := os.MkdirAll("a/b/c/d", 0o700); err != nil {
		return err
	}
	if err := os.MkdirAll(at("a/b"), 0o700); err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile("a/b/c/f", nil, 0o600), os.RemoveAll("a")); err != nil {
		return err
	}
	if _, err := os.Stat("a"); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("a removed directory: %v", err)
	}
	return nil
}

func temporary() error {
	f, err := os.CreateTemp(work, "tmp-*.txt")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(work, "dir-*")
	return errors.Join(err, f.Close(), os.Rename(f.Name(), filepath.Join(dir, "t")), os.RemoveAll(dir))
}

func walk() error {
	if err := errors.Join(os.MkdirAll("tree/x/y", 0o700), os.WriteFile("tree/x/y/z", nil, 0o600)); err != nil {
		return err
	}
	var seen []string
	err := filepath.WalkDir("tree", func(p string, _ fs.DirEntry, err error) error {
		seen = append(seen, p)
		return err
	})
	if err == nil && !slices.Equal(seen, []string{"tree", "tree/x", "tree/x/y", "tree/x/y/z"}) {
		err = fmt.Errorf("seen %q", seen)
	}
	return err
}

func links() error {
	if err := errors.Join(os.Symlink("tree/x", "short"), os.Symlink(at("tree"), "absolute"),
		os.Link("two", "hard"), differ("hard", "one")); err != nil {
		return err
	}
	for name, want := range map[string]string{"short/y/z": "tree/x/y/z", at("absolute/x"): at("tree/x")} {
		got, err := filepath.EvalSymlinks(name)
		if err != nil || got != want {
			return fmt.Errorf("%s is %s, %v", name, got, err)
		}
	}
	a, err := os.Stat("two")
	if err != nil {
		return err
	}
	b, err := os.Stat("hard")
	if err != nil || !os.SameFile(a, b) {
		return fmt.Errorf("a hard link and its original are different files, %v", err)
	}
	return nil
}

func times() error {
	when := time.Unix(1_500_000_000, 0)
	if err := os.Chtimes("two", when, when); err != nil {
		return err
	}
	info, err := os.Stat("two")
	if err == nil && !info.ModTime().Equal(when) {
		err = fmt.Errorf("got %v", info.ModTime())
	}
	return err
}

func flags() error {
	if _, err := os.OpenFile("two", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("O_EXCL: %v", err)
	}
	f, err := os.OpenFile("log", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	g, err := os.OpenFile("log", os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	for range 3 {
		_, err1 := io.WriteString(f, "f")
		_, err2 := io.WriteString(g, "g")
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
	}
	return errors.Join(differ("log", "fgfgfg"), f.Truncate(2), f.Close(), g.Close(), differ("log", "fg"))
}

func sync() error {
	f, err := os.OpenFile("two", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	d, err := os.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), d.Sync(), d.Close())
}

func root() error {
	r, err := os.OpenRoot(at("tree"))
	if err != nil {
		return err
	}
	defer r.Close()
	if err := errors.Join(r.WriteFile("x/in", []byte("in"), 0o600), differ("tree/x/in", "in"),
		r.Mkdir("made", 0o700), r.Remove("made"), r.Rename("x/in", "x/out"), differ("tree/x/out", "in")); err != nil {
		return err
	}
	if _, err := r.ReadFile("../two"); err == nil {
		return errors.New("os.Root opened a file outside of its directory")
	}
	return nil
}

func refusals() error {
	if b, err := os.ReadFile(secret); !errors.Is(err, fs.ErrNotExist) || len(b) > 0 {
		return fmt.Errorf("a file in no grant: %q, %v", b, err)
	}
	for rule, err := range map[string]error{
		"write in a directory to read": os.WriteFile(filepath.Join(read, "n"), nil, 0o600),
		"make a .git":                  os.Mkdir(".git", 0o700),
		"link out of the grants":       os.Symlink(secret, "out"),
		"remove the granted directory": os.Remove(work),
		"write in a virtual directory": os.WriteFile(filepath.Join(filepath.Dir(work), "n"), nil, 0o600),
		"remove a whole granted one":   os.RemoveAll(read),
	} {
		if !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("%s: %v", rule, err)
		}
	}
	for dir := work; dir != "/"; dir = filepath.Dir(dir) {
		if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) == 0 {
			return fmt.Errorf("list %s: %d entries, %v", filepath.Dir(dir), len(entries), err)
		}
	}
	b, err := os.ReadFile(filepath.Join(read, "r.txt"))
	if err == nil && !bytes.Equal(b, []byte("r")) {
		err = fmt.Errorf("the file in the read-only directory contains %q", b)
	}
	return err
}
