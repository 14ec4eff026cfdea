package manager_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files/faults"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manager"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// creatable returns a manager for a project with one prompt, and a function that lists the files of the project.
func creatable(t *testing.T) (*manager.Manager, func() string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "prompts"), 0o755), os.WriteFile(filepath.Join(dir, "prompts", "p.md"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	m := &manager.Manager{Files: files.Disk{}, Project: dir, Lock: func(_, _ string) error { return nil }}
	return m, func() string {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return strings.Join(names, " ")
	}
}

// meanwhile is a file system that calls a function before a file is created or linked. The function acts as another
// program.
type meanwhile struct {
	files.System
	create, name func()
	noLinks      bool
}

func (m meanwhile) Create(path string, mode fs.FileMode) (filesystem.File, error) {
	if m.create != nil {
		m.create()
	}
	return m.System.Create(path, mode)
}

func (m meanwhile) Link(from, to string) error {
	if m.name != nil {
		m.name()
	}
	if m.noLinks {
		return &os.LinkError{Op: "link", Old: from, New: to, Err: syscall.EPERM}
	}
	return m.System.Link(from, to)
}

func TestCreatePackageNeverReplacesManifest(t *testing.T) {
	put := func(m *manager.Manager, make func(path string) error) func() {
		return func() {
			if err := make(filepath.Join(m.Project, "aam.yaml")); err != nil && !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
		}
	}
	file := func(path string) error { return os.WriteFile(path, []byte("mine"), 0o644) }
	tests := []struct {
		name    string
		make    func(path string) error
		late    bool
		noLinks bool
	}{
		{"a file created after the check", file, false, false},
		{"a file created before the link", file, true, false},
		{"a file created, without hard links", file, true, true},
		{"a directory", func(path string) error { return os.Mkdir(path, 0o755) }, true, false},
		{"a dangling symbolic link", func(path string) error { return os.Symlink("nowhere", path) }, true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, left := creatable(t)
			system := meanwhile{System: files.Disk{}, noLinks: test.noLinks}
			if test.late {
				system.name = put(m, test.make)
			} else {
				system.create = put(m, test.make)
			}
			m.Files = system
			_, err := m.CreatePackage(manager.NewPackage{Path: "."})
			if failure := fault.From(err); failure == nil || failure.Code != fault.InvalidArgument || !strings.Contains(failure.Text(), "already exists") {
				t.Errorf("got %v", err)
			}
			if got := left(); got != "aam.yaml prompts" {
				t.Errorf("remaining files: %s", got)
			}
			if data, err := os.ReadFile(filepath.Join(m.Project, "aam.yaml")); err == nil && string(data) != "mine" {
				t.Errorf("the file was replaced by %s", data)
			}
		})
	}
	m, left := creatable(t)
	m.Files = meanwhile{System: files.Disk{}, noLinks: true}
	if made, err := m.CreatePackage(manager.NewPackage{Path: "."}); err != nil || made.TotalArtifacts != 1 || left() != "aam.yaml prompts" {
		t.Errorf("without hard links: %v, %v, %s", made, err, left())
	}
}

// TestCreatePackageConcurrently calls CreatePackage concurrently without a lock. Exactly one of the calls must create
// the package.
func TestCreatePackageConcurrently(t *testing.T) {
	for range 20 {
		m, left := creatable(t)
		var group sync.WaitGroup
		var mu sync.Mutex
		made := []string{}
		for i := range 4 {
			group.Go(func() {
				name := fmt.Sprintf("made-by-%d", i)
				if _, err := m.CreatePackage(manager.NewPackage{Path: ".", Name: &name}); err == nil {
					mu.Lock()
					made = append(made, name)
					mu.Unlock()
				}
			})
		}
		group.Wait()
		data, err := os.ReadFile(filepath.Join(m.Project, "aam.yaml"))
		if err != nil || len(made) != 1 || !strings.HasPrefix(string(data), "name: "+made[0]+"\n") {
			t.Fatalf("%v calls succeeded, want 1; %v, %s", made, err, data)
		}
		if got := left(); got != "aam.yaml prompts" {
			t.Fatalf("remaining files: %s", got)
		}
	}
}

// TestCreatePackageIsAtomicAtEachWrite lets each write fail in turn, and simulates the end of the process at each
// write. Afterwards the manifest must be either complete or absent.
func TestCreatePackageIsAtomicAtEachWrite(t *testing.T) {
	m, _ := creatable(t)
	if _, err := m.CreatePackage(manager.NewPackage{Path: "."}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(m.Project, "aam.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Base(m.Project)
	for _, kill := range []bool{false, true} {
		for at := 1; ; at++ {
			m, left := creatable(t)
			system := faults.New(at, kill)
			m.Files = system
			_, err := m.CreatePackage(manager.NewPackage{Path: "."})
			name := fmt.Sprintf("write %d, kill %t: %v", at, kill, err)
			data, reading := os.ReadFile(filepath.Join(m.Project, "aam.yaml"))
			if want := strings.ReplaceAll(string(whole), base, filepath.Base(m.Project)); reading == nil && string(data) != want || reading != nil && err == nil {
				t.Errorf("%s: %v, %s", name, reading, data)
			}
			m.Files = files.Disk{}
			if _, again := m.CreatePackage(manager.NewPackage{Path: "."}); again != nil && reading != nil || left() != "aam.yaml prompts" {
				t.Errorf("%s: then %v, left are %s", name, again, left())
			}
			if system.Count() < at {
				if err != nil || at < 4 {
					t.Errorf("%d writes, %v", at, err)
				}
				break
			}
		}
	}
}
