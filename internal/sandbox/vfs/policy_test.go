//go:build linux || darwin

package vfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unicode"
)

func TestIsGit(t *testing.T) {
	for name, want := range map[string]bool{
		".git": true, ".GIT": true, ".Git": true, "git~1": true, "GIT~1": true,
		".g\u200cit": true, "\ufeff.git": true, ".gi\u206ft": true,
		"git": false, ".gi": false, ".gitignore": false, ".github": false, ".git2": false, "a.git": false,
		"": false, ".": false, "git~2": false, ".g it": false,
	} {
		if got := isGit(name); got != want {
			t.Errorf("isGit(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestFoldName(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "plain.txt": "plain.txt", "README": "readme", "Z": "z", "@[": "@[", "\u212aelvin": "kelvin", "re\u017f": "res",
		"caf\u00e9": "caf\u00e9", "cafe\u0301": "caf\u00e9", "CAFE\u0301": "caf\u00e9", "a\u200cb\ufe0fc\u00add\u3164e": "abcde",
		"stra\u00dfe": "strasse", "/A/b": "/a/b",
	} {
		if got := FoldName(name); got != want {
			t.Errorf("FoldName(%q) = %q, want %q", name, got, want)
		}
	}
}

// All letters that differ in case only are equal, in whichever direction a file system folds them.
func TestFoldNameFoldsCase(t *testing.T) {
	for c := rune(0x80); c <= unicode.MaxRune; c++ {
		for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
			if FoldName(string(c)) != FoldName(string(other)) {
				t.Errorf("FoldName maps %U and %U, which differ in case only, to different forms", c, other)
			}
		}
	}
}

func TestFailedMoveRestoresMode(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"new": 0o640, "old": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	f := New(Config{Mounts: MountsAt(t, Mount{Path: dir, Write: true})})
	src, dst, err := f.resolveBoth(dir+"/new", dir+"/old")
	if err != nil {
		t.Fatal(err)
	}
	defer src.close()
	defer dst.close()
	mode := func() os.FileMode {
		info, err := os.Stat(filepath.Join(dir, "new"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	broken := errors.New("the move broke")
	err = src.moveWithMode(dst, func() error {
		if mode() != 0o600 {
			t.Errorf("the file is moved with the mode %v, want 0600", mode())
		}
		return broken
	})
	if !errors.Is(err, broken) || mode() != 0o640 {
		t.Errorf("got %v, mode %v", err, mode())
	}
}
