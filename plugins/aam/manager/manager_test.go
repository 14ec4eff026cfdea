package manager_test

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manager"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// spy is a file system that records which files are opened and read.
type spy struct {
	files.System
	opened []string
}

func (s *spy) Open(path string) (io.ReadCloser, error) {
	s.opened = append(s.opened, path)
	return s.System.Open(path)
}

// TestSecretFilesAreNotOpened creates, publishes, installs and uninstalls a package. The directories contain files with
// secrets, which the calls must not open.
func TestSecretFilesAreNotOpened(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, filepath.FromSlash(name))
		testenv.WriteFile(t, path, text)
	}
	for _, name := range []string{"home/.aam/credentials.yaml", "home/.env", "project/.env", "project/.env.local", "project/.aam/credentials.yaml"} {
		write(name, "token: s3cr3t")
	}
	write("project/prompts/p.md", "x")
	write("registry/registry.yaml", "name: r\n")
	seen := &spy{System: files.Disk{}}
	m := &manager.Manager{
		Files: seen, Project: filepath.Join(root, "project"), Home: filepath.Join(root, "home"), Now: time.Unix(0, 0), Limits: archive.DefaultLimits(),
		Lock: func(_, _ string) error { return nil }, Probe: func(string) bool { return false }, Warn: func(text string) { t.Errorf("the call logged the warning: %s", text) },
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
			t.Errorf("a call opened the secret file %s", path)
		}
	}
	if len(seen.opened) == 0 {
		t.Error("no file was opened, so the test checks nothing")
	}
}

// refusing is a file system that refuses writes below one directory, or reads below another directory.
type refusing struct {
	files.System
	writes, reads []string
	as            error // the error of a refused read
}

func under(path string, folders []string) bool {
	for _, folder := range folders {
		if contain.Within(folder, path) {
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

func (r refusing) Create(path string, mode fs.FileMode) (filesystem.File, error) {
	if err := r.refuse("create", path); err != nil {
		return nil, err
	}
	return r.System.Create(path, mode)
}

func (r refusing) Mkdir(path string, mode fs.FileMode) error {
	if err := r.refuse("mkdir", path); err != nil {
		return err
	}
	return r.System.Mkdir(path, mode)
}

func (r refusing) Stat(path string) (fs.FileInfo, error) {
	if under(path, r.reads) {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: r.as}
	}
	return r.System.Stat(path)
}

func (r refusing) Lstat(path string) (fs.FileInfo, error) {
	if under(path, r.reads) {
		return nil, &fs.PathError{Op: "lstat", Path: path, Err: r.as}
	}
	return r.System.Lstat(path)
}

// TestPermissionErrorsOfHost refuses an access. The error must have the code PermissionDenied, and the call must change
// nothing.
func TestPermissionErrorsOfHost(t *testing.T) {
	tests := []struct {
		name         string
		write, read  string // the directories below which writes and reads are refused
		do           func(m *manager.Manager, root string) error
		alsoMessages string
	}{
		{"install into a read-only project", "project", "-", func(m *manager.Manager, _ string) error {
			result, err := m.Install(manager.Request{Packages: []string{"pkg"}})
			return failure(result, err)
		}, ""},
		{"create", "project", "-", func(m *manager.Manager, _ string) error {
			_, err := m.CreatePackage(manager.NewPackage{Path: "."})
			return err
		}, ""},
		{"config in a read-only home", "home", "-", func(m *manager.Manager, _ string) error {
			_, err := m.ConfigSet("author.name", "x")
			return err
		}, "Grant the directory"},
		{"codex without its directory", "home/.codex", "-", func(m *manager.Manager, _ string) error {
			codex := "codex"
			result, err := m.Install(manager.Request{Packages: []string{"pkg"}, Platform: &codex})
			return failure(result, err)
		}, ""},
		{"uninstall from codex without its directory", "home/.codex", "home/.codex", func(m *manager.Manager, root string) error {
			granted := *m
			granted.Files = files.Disk{}
			codex := "codex"
			if _, err := granted.Install(manager.Request{Packages: []string{"pkg"}, Platform: &codex}); err != nil {
				return err
			}
			before := tree(t, root)
			_, err := m.Uninstall("pkg")
			if diff := cmp.Diff(before, tree(t, root)); diff != "" {
				t.Errorf("(-before +after)\n%s", diff)
			}
			if _, err := granted.Uninstall("pkg"); err != nil {
				t.Error(err)
			}
			for _, name := range []string{"aam-lock.yaml", "deployments.yaml"} {
				if err := os.Remove(filepath.Join(root, "project", ".aam", name)); err != nil {
					t.Error(err)
				}
			}
			return err
		}, ""},
		{"publish to a read-only registry", "registry", "-", func(m *manager.Manager, root string) error {
			m.Project = filepath.Join(root, "other")
			_, err := m.Publish(nil, "latest")
			return err
		}, ""},
		{"validate an unreadable package", "-", "other", func(m *manager.Manager, root string) error {
			_, err := m.Validate(filepath.Join(root, "other"))
			return err
		}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root, m := published(t)
			refused := refusing{files.Disk{}, []string{filepath.Join(root, test.write)}, []string{filepath.Join(root, test.read)}, fs.ErrPermission}
			if strings.Contains(test.read, "codex") {
				refused.as = fs.ErrNotExist // a sandbox returns this error for paths that are not granted
			}
			m.Files = refused
			before := tree(t, root)
			got := fault.From(test.do(m, root))
			if got == nil || got.Code != fault.PermissionDenied || !strings.Contains(got.Text(), test.alsoMessages) {
				t.Errorf("got %v", got)
			}
			if diff := cmp.Diff(before, tree(t, root)); diff != "" {
				t.Errorf("(-before +after)\n%s", diff)
			}
		})
	}
}

// failure returns the first failure in the result of an install, or else err.
func failure(result *manager.Result, err error) error {
	if err != nil || len(result.Failed) == 0 {
		return err
	}
	return &fault.Error{Code: result.Failed[0].Code, Message: result.Failed[0].Message}
}

// published returns a directory, and a manager for the project in it. The directory contains the project, a home
// directory, a registry with the package pkg, and an unpublished package in the directory "other".
func published(t *testing.T) (string, *manager.Manager) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"home/.aam/config.yaml": "registries: [{name: r, url: 'file://" + root + "/registry'}]\n", "registry/registry.yaml": "name: r\n",
		"first/aam.yaml": "name: pkg\nversion: 1.0.0\ndescription: d\nartifacts: {prompts: [{name: p, path: p.md, description: d}]}\n", "first/p.md": "x",
		"other/aam.yaml": "name: other\nversion: 1.0.0\ndescription: d\nartifacts: {prompts: [{name: p, path: p.md, description: d}]}\n", "other/p.md": "x",
		"project/.aam/config.yaml": "", "project/prompts/p.md": "x", "home/.codex/auth": "x",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		testenv.WriteFile(t, path, text)
	}
	m := &manager.Manager{
		Files: files.Disk{}, Project: filepath.Join(root, "first"), Home: filepath.Join(root, "home"), Now: time.Unix(0, 0), Limits: archive.DefaultLimits(),
		Lock: func(_, _ string) error { return nil }, Probe: func(string) bool { return false }, Warn: func(string) {},
	}
	if _, err := m.Publish(nil, "latest"); err != nil {
		t.Fatal(err)
	}
	m.Project = filepath.Join(root, "project")
	return root, m
}

// tree returns the content of all files below root.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestSymlinksOutOfProjectAreNotRead checks that symbolic links in an untrusted project do not disclose other files.
func TestSymlinksOutOfProjectAreNotRead(t *testing.T) {
	for _, name := range []string{"aam.yaml", ".aam/aam-lock.yaml", ".aam/deployments.yaml"} {
		root, m := published(t)
		secret := filepath.Join(root, "home", ".aam", "credentials.yaml")
		if err := os.WriteFile(secret, []byte("name: s3cr3t\npackages: {s3cr3t: {version: '1', source: s, checksum: ''}}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(m.Project, filepath.FromSlash(name))
		if err := os.Symlink(secret, link); err != nil {
			t.Fatal(err)
		}
		calls := map[string]func() (any, error){
			"manifest":  func() (any, error) { return m.Manifest() },
			"validate":  func() (any, error) { return m.Validate(".") },
			"publish":   func() (any, error) { return m.Publish(nil, "latest") },
			"list":      func() (any, error) { return m.List() },
			"info":      func() (any, error) { return m.Info("s3cr3t", "") },
			"install":   func() (any, error) { return m.Install(manager.Request{Packages: []string{"pkg"}, NoDeploy: true}) },
			"uninstall": func() (any, error) { return m.Uninstall("nobody") },
			"doctor":    func() (any, error) { return m.Doctor(), nil },
		}
		for call, do := range calls {
			if _, err := os.Lstat(link); err != nil {
				t.Fatalf("%s: the symbolic link was removed: %v", name, err)
			}
			result, err := do()
			text, _ := json.Marshal(result)
			if err != nil {
				text = []byte(err.Error())
			}
			if call != "info" && strings.Contains(string(text), "s3cr3t") {
				t.Errorf("%s is a symbolic link, and %s shows its target: %s", name, call, text)
			}
		}
		if data, err := os.ReadFile(secret); err != nil || !strings.Contains(string(data), "s3cr3t") {
			t.Errorf("%s: the target of the symbolic link is %q, %v", name, data, err)
		}
	}
}
