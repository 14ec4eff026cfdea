package module_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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

func TestReadTreeRefusesNonUTF8Names(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a\xff.md"), nil, 0o644); err != nil {
		t.Skipf("this file system has no such names: %v", err)
	}
	bound, err := disk.NewBound(root)
	if err != nil {
		t.Fatal(err)
	}
	if files, err := module.ReadTree(root, bound); err == nil || !strings.Contains(err.Error(), `"a\xff.md" is not UTF-8`) {
		t.Errorf("got %q, %v", files.Paths(), err)
	}
}
