package module_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
)

func TestTreeHash(t *testing.T) {
	for want, files := range map[string]module.Tree{
		"75095c2d8d5f1150f64d9445944cbe1423fcacbb78ae70598889754926250417": {"prompt.md": []byte("# prompt\n")},
		"0103dd9b217ff85e925d0c38b466749fca8dbfc1944bb44d819327f578f3d110": {"dir/b.txt": []byte("b"), "a.txt": []byte("a")},
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855": {},
	} {
		if got := files.Hash(); got != want {
			t.Errorf("%q: got %s, want %s", files.Paths(), got, want)
		}
	}
}

func TestReadTreeSkipsNonUTF8Names(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a\xff.md"), nil, 0o644); err != nil {
		t.Skipf("this file system has no such names: %v", err)
	}
	bound, err := disk.NewBound(root)
	if err != nil {
		t.Fatal(err)
	}
	testenv.WriteFile(t, filepath.Join(root, "b.md"), "b")
	files, warnings, err := module.ReadTree(root, bound)
	if err != nil || len(files) != 1 || string(files["b.md"]) != "b" || len(warnings) != 1 || !strings.Contains(warnings[0], `"a\xff.md" is left out`) {
		t.Errorf("got %q, %q, %v", files.Paths(), warnings, err)
	}
}
