package build_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

func sparse(path string, size int64) error {
	return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size))
}

func TestBuildReplacesOnlyBuiltPlugins(t *testing.T) {
	built := head + "sha256 = '" + sum("x") + "'\n" + tools("one")
	for name, c := range map[string]struct {
		before files
		want   string
	}{
		"a directory without a manifest":                  {files{"hand/diary.txt": "d"}, "plugin.toml: there is no such file"},
		"a directory with an invalid manifest":            {files{"hand/plugin.toml": "]"}, "is not TOML"},
		"a plugin's source":                               {files{"hand/plugin.toml": head, "hand/main.go": "m"}, "its plugin.toml has no module.sha256"},
		"a built plugin with another file":                {files{"hand/plugin.toml": built, "hand/hand.wasm": "x", "hand/main.go": "m"}, `it contains "main.go"`},
		"a built plugin with another directory":           {files{"hand/plugin.toml": built, "hand/hand.wasm": "x", "hand/.git/config": "c"}, `it contains ".git"`},
		"a built plugin with a licence in a subdirectory": {files{"hand/plugin.toml": strings.Replace(built, "hand.wasm", "a/b.wasm", 1), "hand/a/LICENSE": "l"}, `it contains "a/LICENSE"`},
		"a file": {files{"hand": "f"}, "is not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			out := c.before.write(t, t.TempDir())
			before := read(t, out)
			_, err := build.Build(t.Context(), good().write(t, t.TempDir()), build.Options{Out: out})
			ps := problems(t, err)
			if len(ps) != 1 || ps[0].File != filepath.Join(out, "hand") || !strings.Contains(ps[0].What, c.want) || ps[0].Remedy == "" {
				t.Errorf("got the problems %v", ps)
			}
			if diff := cmp.Diff(before, read(t, out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBuildReplacesEmptyDirectory(t *testing.T) {
	out := t.TempDir()
	if err := os.Mkdir(filepath.Join(out, "hand"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := build.Build(t.Context(), good().write(t, t.TempDir()), build.Options{Out: out}); err != nil {
		t.Error(err)
	}
}

func TestBuildDoesNotReplaceAncestorOfSource(t *testing.T) {
	// All directories look like built plugins, so only their location protects them.
	source := good()
	source["plugin.toml"] = head + "sha256 = '" + sum(source["hand.wasm"]) + "'\n" + tools("one")
	root := t.TempDir()
	source.write(t, filepath.Join(root, "hand"))
	source.write(t, filepath.Join(root, "hand", "sub"))
	if err := os.Symlink(filepath.Join(root, "hand"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	before := read(t, root)
	for _, dir := range []string{"hand", "link", "hand/sub"} {
		_, err := build.Build(t.Context(), filepath.Join(root, dir), build.Options{Out: root})
		if err == nil || !strings.Contains(err.Error(), "would be replaced, but contains the plugin's source") {
			t.Errorf("%s: got %v", dir, err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../hand", filepath.Join(root, "out", "hand")); err != nil {
		t.Fatal(err)
	}
	if _, err := build.Build(t.Context(), filepath.Join(root, "hand"), build.Options{Out: filepath.Join(root, "out")}); err == nil || !strings.Contains(err.Error(), "is not a directory") {
		t.Errorf("a link: got %v", err)
	}
	if err := os.RemoveAll(filepath.Join(root, "out")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, read(t, root)); diff != "" {
		t.Error(diff)
	}
}

func TestBuildReportsUnusableOutputDirectory(t *testing.T) {
	dir := good().write(t, t.TempDir())
	_, err := build.Build(t.Context(), dir, build.Options{Out: filepath.Join(dir, "hand.wasm", "out")})
	if err == nil || !strings.HasPrefix(err.Error(), dir+": not built: output directory: ") {
		t.Errorf("got %v", err)
	}
}

func TestBuildIntoSourceDirectory(t *testing.T) {
	dir := good().write(t, t.TempDir())
	t.Chdir(dir)
	for range 2 {
		result, err := build.Build(t.Context(), ".", build.Options{})
		if err != nil || result.Dir != "dist/plugins/hand" {
			t.Fatalf("got the result %v, %v", result, err)
		}
	}
}

func TestConcurrentBuildsAreAtomic(t *testing.T) {
	out, cache := t.TempDir(), t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		source := good().with(files{"README.md": strings.Repeat("r", i+1)}).write(t, t.TempDir())
		all.Go(func() {
			for range testenv.Count(2, 5, 5) {
				if _, err := build.Build(t.Context(), source, build.Options{Out: out, CacheDir: cache}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if ps := build.Check(t.Context(), filepath.Join(out, "hand"), build.Options{CacheDir: cache}); len(ps) > 0 {
		t.Error(ps)
	}
	if left, _ := os.ReadDir(out); len(left) != 1 {
		t.Errorf("the output directory contains %v, want only the plugin", left)
	}
}

func TestBuildRemovesAbandonedStagingDirectories(t *testing.T) {
	out := t.TempDir()
	names := map[string]struct {
		age  time.Duration
		stay bool
	}{
		".hand.staged-1":  {48 * time.Hour, false},
		".hand.staged-2":  {time.Hour, true}, // its build may still be running
		".hand2.staged-1": {48 * time.Hour, true},
		".hand-backup":    {48 * time.Hour, true},
	}
	for name, n := range names {
		dir := files{"plugin/x": "x"}.write(t, filepath.Join(out, name))
		then := time.Now().Add(-n.age)
		if err := os.Chtimes(dir, then, then); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := build.Build(t.Context(), good().write(t, t.TempDir()), build.Options{Out: out}); err != nil {
		t.Fatal(err)
	}
	left := read(t, out)
	for name, n := range names {
		if (left[name] != "") != n.stay {
			t.Errorf("%s exists: %t, want %t", name, left[name] != "", n.stay)
		}
	}
}

func TestBuildRestoresPluginMovedByKilledBuild(t *testing.T) {
	const leftover = ".hand.staged-1"
	old := head + "sha256 = '" + sum("x") + "'\n" + tools("one")
	for name, c := range map[string]struct {
		target files // the current plugin
		source files
		want   files // a subset of the remaining files
	}{
		"restored, if there is no current plugin": {
			nil, good().with(files{"hand.wasm": "no module"}), // the build fails, so the restored plugin stays
			files{"hand/plugin.toml": old, "hand/hand.wasm": "x"},
		},
		"kept in the staging directory, if there is one": {
			files{"plugin.toml": old, "hand.wasm": "x", "README.md": "newer"}, good().with(files{"hand.wasm": "no module"}),
			files{"hand/README.md": "newer", leftover + "/old/plugin.toml": old, leftover + "/old/hand.wasm": "x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			dir := files{"plugin/x": "x", "old/plugin.toml": old, "old/hand.wasm": "x"}.write(t, filepath.Join(out, leftover))
			c.target.write(t, filepath.Join(out, "hand"))
			then := time.Now().Add(-48 * time.Hour)
			if err := os.Chtimes(dir, then, then); err != nil {
				t.Fatal(err)
			}
			if _, err := build.Build(t.Context(), c.source.write(t, t.TempDir()), build.Options{Out: out}); err == nil {
				t.Fatal("an invalid module was built")
			}
			left := read(t, out)
			for path, want := range c.want {
				if left[path] != want {
					t.Errorf("%s: got %q, want %q", path, left[path], want)
				}
			}
			if _, kept := left[leftover]; kept != (c.target != nil) {
				t.Errorf("the staging directory exists: %t", kept)
			}
		})
	}
	t.Run("a successful build replaces it", func(t *testing.T) {
		out := t.TempDir()
		dir := files{"old/plugin.toml": old, "old/hand.wasm": "x"}.write(t, filepath.Join(out, leftover))
		then := time.Now().Add(-48 * time.Hour)
		if err := os.Chtimes(dir, then, then); err != nil {
			t.Fatal(err)
		}
		if _, err := build.Build(t.Context(), good().write(t, t.TempDir()), build.Options{Out: out}); err != nil {
			t.Fatal(err)
		}
		left := read(t, out)
		if left["hand/hand.wasm"] != good()["hand.wasm"] || left[leftover] != "" {
			t.Errorf("the output directory contains %v", left)
		}
	})
}
