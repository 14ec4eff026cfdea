//go:build unix

package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newDir creates a temporary directory with files, given by relative path.
func newDir(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		putFile(t, filepath.Join(dir, name), content)
	}
	return dir
}

func putFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// snapshot maps the paths below dir to file content, link target, or file type.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, item os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		switch {
		case err != nil:
		case item.Type()&os.ModeSymlink != 0:
			all[name], err = os.Readlink(path)
		case item.Type().IsRegular():
			all[name] = readFile(t, path)
		default:
			all[name] = item.Type().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// specText is the content of a chant spec file.
func specText(status, title string, more ...string) string {
	return "---\ntype: code\nstatus: " + status + "\n---\n\n# " + title + "\n" + strings.Join(more, "\n")
}

// copyPlugins copies built plugins into a new directory, where a test may damage them.
func copyPlugins(t testing.TB, names ...string) string {
	t.Helper()
	dir := newDir(t, nil)
	for _, name := range names {
		from := filepath.Join(built.plugins(t), name)
		if name == "misbehave" {
			from = filepath.Join(builtPlugins(t, "testdata/guests/misbehave"), name)
		}
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// servePlugins serves all plugins of a directory on an empty project.
func servePlugins(t testing.TB, dir string) *server {
	t.Helper()
	return startServer(t, programCommand(t, "serve", "--plugins", dir, "--project", newDir(t, map[string]string{".chant/specs/.gitkeep": ""})))
}
