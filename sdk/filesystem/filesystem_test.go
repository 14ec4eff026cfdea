package filesystem_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	long := strings.Repeat("x", 10_000)
	if err := os.WriteFile(path, []byte(long), 0o644); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		path  string
		limit int64
		want  error
	}{
		{path, 10_000, nil},
		{path, 9_999, filesystem.ErrTooLarge},
		{dir, 10, filesystem.ErrNotRegular},
		{os.DevNull, 10, filesystem.ErrNotRegular},
		{filepath.Join(dir, "absent"), 10, fs.ErrNotExist},
	}
	for _, test := range cases {
		content, err := filesystem.ReadFile(filesystem.OS{}, test.path, test.limit)
		if !errors.Is(err, test.want) || err == nil && string(content) != long {
			t.Errorf("%s, limit %d: got %d bytes, %v", test.path, test.limit, len(content), err)
		}
	}
}

// growing is a file system in which files are larger than the size that Stat returns.
type growing struct{ filesystem.OS }

func (g growing) Stat(path string) (fs.FileInfo, error) {
	info, err := g.OS.Stat(path)
	return small{info}, err
}

type small struct{ fs.FileInfo }

func (small) Size() int64 { return 1 }

func TestReadFileOfGrowingFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("0123456789"), 0o644); err != nil {
		t.Fatal(err)
	}
	if content, err := filesystem.ReadFile(growing{}, path, 10); err != nil || string(content) != "0123456789" {
		t.Errorf("got %q, %v", content, err)
	}
	if _, err := filesystem.ReadFile(growing{}, path, 9); !errors.Is(err, filesystem.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestRemoveEmptyKeepsFilesAndNonEmptyDirectories(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.MkdirAll(at("full/empty"), 0o755), os.Symlink("full/empty", at("link")), os.WriteFile(at("file"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"full", "link", "file", "absent", "file/below"} {
		if err := filesystem.RemoveEmpty(filesystem.OS{}, at(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"full", "link", "file"} {
		if exists, err := filesystem.Exists(filesystem.OS{}, at(name)); !exists || err != nil {
			t.Errorf("%s: got %t, %v", name, exists, err)
		}
	}
	if err := filesystem.RemoveEmpty(filesystem.OS{}, at("full/empty")); err != nil {
		t.Fatal(err)
	}
	if exists, _ := filesystem.Exists(filesystem.OS{}, at("full/empty")); exists {
		t.Error("the empty directory is still there")
	}
}

func ExampleReadFile() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "f")
	_ = os.WriteFile(path, []byte("four"), 0o644)
	content, err := filesystem.ReadFile(filesystem.OS{}, path, 4)
	fmt.Println(string(content), err)
	_, err = filesystem.ReadFile(filesystem.OS{}, path, 3)
	fmt.Println(errors.Is(err, filesystem.ErrTooLarge))
	// Output:
	// four <nil>
	// true
}
