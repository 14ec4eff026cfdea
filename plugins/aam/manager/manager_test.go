package manager_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manager"
)

// spy notes what is opened and read.
type spy struct {
	files.System
	opened []string
}

func (s *spy) Open(path string) (io.ReadCloser, error) {
	s.opened = append(s.opened, path)
	return s.System.Open(path)
}

// TestSecretFilesAreNotOpened goes the whole way of a package beside files that nobody may open.
func TestSecretFilesAreNotOpened(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"home/.aam/credentials.yaml", "home/.env", "project/.env", "project/.env.local", "project/.aam/credentials.yaml"} {
		write(name, "token: s3cr3t")
	}
	write("project/prompts/p.md", "x")
	write("registry/registry.yaml", "name: r\n")
	seen := &spy{System: files.Disk{}}
	m := &manager.Manager{
		Files: seen, Project: filepath.Join(root, "project"), Home: filepath.Join(root, "home"), Now: time.Unix(0, 0), Limits: archive.DefaultLimits(),
		Lock: func(string) error { return nil }, Probe: func(string) bool { return false }, Warn: func(text string) { t.Errorf("warned: %s", text) },
	}
	name := "pkg"
	steps := []func() error{
		func() error { _, err := m.RegistryAdd("r", filepath.Join(root, "registry"), true); return err },
		func() error { _, err := m.CreatePackage(manager.NewPackage{Path: ".", Name: &name}); return err },
		func() error { _, err := m.Validate("."); return err },
		func() error { _, err := m.Publish(nil, "latest"); return err },
		func() error { _, err := m.Search("", 10, "prompt"); return err },
		func() error { _, err := m.Install(manager.Request{Packages: []string{"pkg"}}); return err },
		func() error { _, err := m.Info("pkg", ""); return err },
		func() error { _, err := m.ConfigSet("author.name", "x"); return err },
		func() error { m.Doctor(); return nil },
		func() error { _, err := m.Uninstall("pkg"); return err },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	for _, path := range seen.opened {
		if base := filepath.Base(path); base == "credentials.yaml" || strings.HasPrefix(base, ".env") {
			t.Errorf("%s was opened", path)
		}
	}
	if len(seen.opened) == 0 {
		t.Error("nothing was opened: the test shows nothing")
	}
}

// refusing is a file system that lets nothing be written below some folders, and nothing be read below others.
type refusing struct {
	files.System
	writes, reads []string
}

func under(path string, folders []string) bool {
	for _, folder := range folders {
		if files.Within(folder, path) {
			return true
		}
	}
	return false
}

func (r refusing) refuse(op, path string) error {
	if under(path, r.writes) {
		return &fs.PathError{Op: op, Path: path, Err: fs.ErrPermission}
	}
	return nil
}

func (r refusing) Create(path string) (io.WriteCloser, error) {
	if err := r.refuse("create", path); err != nil {
		return nil, err
	}
	return r.System.Create(path)
}

func (r refusing) Mkdir(path string) error {
	if err := r.refuse("mkdir", path); err != nil {
		return err
	}
	return r.System.Mkdir(path)
}

func (r refusing) Stat(path string) (fs.FileInfo, error) {
	if under(path, r.reads) {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrPermission}
	}
	return r.System.Stat(path)
}
