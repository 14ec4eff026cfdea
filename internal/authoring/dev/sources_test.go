package dev

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// relative returns paths below dir, joined.
func relative(t *testing.T, dir string, paths []string) string {
	t.Helper()
	var names []string
	for _, path := range paths {
		name, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.ToSlash(name))
	}
	return strings.Join(names, " ")
}

func TestWalkReturnsSources(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"plugin.toml", "main.go", "main.go~", ".main.go.swp", "4913", "main.go.new", ".#main.go", ".env", "out.wasm", "other.wasm",
		".git/HEAD", "node_modules/x/index.js", "target/debug/x", "dist/plugins/x", ".cargo/config.toml", ".vscode/x", "src/deep/lib.rs",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, dirs := walk([]string{dir}, filepath.Join(dir, "out.wasm"))
	if got, want := relative(t, dir, files), ".env main.go other.wasm plugin.toml .cargo/config.toml src/deep/lib.rs"; got != want {
		t.Errorf("files: got  %s\nwant %s", got, want)
	}
	if got, want := relative(t, dir, dirs), ". .cargo src src/deep"; got != want {
		t.Errorf("directories: got  %s\nwant %s", got, want)
	}
}

func TestWalkIsBounded(t *testing.T) {
	dir := t.TempDir()
	for n := range maxDirs + 100 {
		if err := os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", 1+n/100)+strings.Repeat("x", 1+n%100)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, dirs := walk([]string{dir}, ""); len(dirs) != maxDirs {
		t.Errorf("%d directories, want %d", len(dirs), maxDirs)
	}
	if files, dirs := walk([]string{filepath.Join(dir, "none")}, ""); len(files) != 0 || len(dirs) != 1 {
		t.Errorf("a missing directory: %q, %q; it must be watched until it exists", files, dirs)
	}
}
