package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
)

const module = "not a module, but the store does not run it"

func manifestOf(name, version, file, sum string) string {
	return fmt.Sprintf("manifest = 1\n[plugin]\nname = %q\nversion = %q\ndescription = \"x\"\n[module]\nfile = %q\nsha256 = %q\n[[tools]]\nname = \"t\"\ndescription = \"x\"\naccess = \"read\"\n",
		name, version, file, sum)
}

// packed returns the archive of a plugin with further files.
func packed(t *testing.T, version string, more ...archive.File) []byte {
	t.Helper()
	data, err := archive.Encode(append(more, archive.File{Name: "plugin.toml", Data: []byte(manifestOf("it", version, "bin/it.wasm", userfile.Digest([]byte(module))))},
		archive.File{Name: "bin/it.wasm", Data: []byte(module)}))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func open(t *testing.T, data []byte) *Plugin {
	t.Helper()
	p, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var origin = Origin{From: "file:/x.tar", Fetched: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}

func TestAddedPluginIsReadAsItWas(t *testing.T) {
	s := In(filepath.Join(t.TempDir(), "data", "plugins"))
	data := packed(t, "1.2.0", archive.File{Name: "README.md", Data: []byte("# It")})
	p := open(t, data)
	dir, err := s.Add(t.Context(), p, origin)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "bin", "it.wasm")); err != nil || string(got) != module || dir != s.Path(p.Manifest.Digest) {
		t.Errorf("%s: %q, %v", dir, got, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has the mode %v, %v", info.Mode(), err)
	}
	want := origin
	want.Archive, want.Size = userfile.Digest(data), int64(len(data))
	items, err := s.List()
	if err != nil || len(items) != 1 {
		t.Fatalf("%+v, %v", items, err)
	}
	if diff := cmp.Diff(Item{Digest: p.Manifest.Digest, Name: "it", Version: "1.2.0", Module: p.Manifest.Module.SHA256, Dir: dir, Origin: want}, items[0]); diff != "" {
		t.Error(diff)
	}
	out, have, err := s.Export(p.Manifest.Digest)
	if err != nil || !bytes.Equal(out, data) || have != want {
		t.Errorf("Export returned %d bytes, %+v, %v", len(out), have, err)
	}
	// The first origin stays.
	if _, err := s.Add(t.Context(), p, Origin{From: "https://other.example/x.tar"}); err != nil {
		t.Fatal(err)
	}
	if _, have, err = s.Export(p.Manifest.Digest); err != nil || have != want {
		t.Errorf("after a second Add the origin is %+v, %v", have, err)
	}
	if err := s.Remove(t.Context(), p.Manifest.Digest); err != nil {
		t.Fatal(err)
	}
	if left := names(t, s.Dir); !slices.Equal(left, []string{lockName}) {
		t.Errorf("Remove left %q", left)
	}
	if err := s.Remove(t.Context(), "../x"); err == nil {
		t.Error("Remove accepts a path")
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestOpenRefusesInvalidPlugins(t *testing.T) {
	sum := userfile.Digest([]byte(module))
	wasm := archive.File{Name: "it.wasm", Data: []byte(module)}
	toml := func(text string) archive.File { return archive.File{Name: "plugin.toml", Data: []byte(text)} }
	for name, c := range map[string]struct {
		files []archive.File
		want  string
	}{
		"no manifest":                 {[]archive.File{wasm}, "has no plugin.toml"},
		"a manifest in a directory":   {[]archive.File{{Name: "it/plugin.toml", Data: []byte(manifestOf("it", "1.0.0", "it.wasm", sum))}}, "has no plugin.toml"},
		"an invalid manifest":         {[]archive.File{wasm, toml("manifest = 2\n")}, "plugin.toml:1: manifest"},
		"a manifest that is not TOML": {[]archive.File{wasm, toml("= 1")}, "is not TOML"},
		"no digest of the module":     {[]archive.File{wasm, toml(strings.Replace(manifestOf("it", "1.0.0", "it.wasm", sum), "sha256", "# sha256", 1))}, "does not contain the module's SHA-256"},
		"no module":                   {[]archive.File{toml(manifestOf("it", "1.0.0", "it.wasm", sum))}, "has no it.wasm"},
		"another module":              {[]archive.File{{Name: "it.wasm", Data: []byte("other")}, toml(manifestOf("it", "1.0.0", "it.wasm", sum))}, "and the manifest names " + sum},
		"a module outside":            {[]archive.File{wasm, toml(manifestOf("it", "1.0.0", "../it.wasm", sum))}, "is not a clean relative path"},
		"another skill": {[]archive.File{wasm, toml(manifestOf("it", "1.0.0", "it.wasm", sum) + "[[skills]]\npath = 'skills/a'\nsha256 = '" + sum + "'\n"),
			{Name: "skills/a/SKILL.md", Data: []byte("obey")}}, "its skill skills/a has the digest"},
		"no digest of a skill": {[]archive.File{wasm, toml(manifestOf("it", "1.0.0", "it.wasm", sum) + "[[skills]]\npath = 'skills/a'\n"),
			{Name: "skills/a/SKILL.md", Data: []byte("obey")}}, "and the manifest names none"},
		"a record of the store's origin":     {[]archive.File{wasm, toml(manifestOf("it", "1.0.0", "it.wasm", sum)), {Name: originName}}, "the store uses the name origin.json itself"},
		"a record in upper case":             {[]archive.File{wasm, toml(manifestOf("it", "1.0.0", "it.wasm", sum)), {Name: "ORIGIN.JSON"}}, "the store uses the name origin.json itself"},
		"a directory with the record's name": {[]archive.File{wasm, toml(manifestOf("it", "1.0.0", "it.wasm", sum)), {Name: originName + "/x"}}, "the store uses the name origin.json itself"},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := archive.Encode(c.files)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Open(data); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := Open([]byte("x")); err == nil || !strings.Contains(err.Error(), "not the archive of a plugin: it is truncated") {
		t.Errorf("got %v", err)
	}
}

func TestDamagedPluginIsReportedAndReplaced(t *testing.T) {
	data := packed(t, "1.0.0", archive.File{Name: "README.md", Data: []byte("# It")})
	p := open(t, data)
	for name, c := range map[string]struct {
		damage func(dir string) error
		want   string
	}{
		"a changed manifest": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "plugin.toml"), []byte(manifestOf("evil", "1.0.0", "bin/it.wasm", userfile.Digest([]byte(module)))), 0o600)
		}, "its plugin.toml has the SHA-256"},
		"a changed module": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "bin/it.wasm"), []byte("evil"), 0o600) }, "its module bin/it.wasm has the SHA-256"},
		"a changed text":   {func(dir string) error { return os.WriteFile(filepath.Join(dir, "README.md"), []byte("evil"), 0o600) }, "its archive has the SHA-256"},
		"a missing module": {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "bin")) }, "has no bin/it.wasm"},
		"a further file":   {func(dir string) error { return os.WriteFile(filepath.Join(dir, "x"), nil, 0o600) }, "its archive has the SHA-256"},
		"a hidden file":    {func(dir string) error { return os.WriteFile(filepath.Join(dir, ".x"), nil, 0o600) }, "begins with"},
		"no origin":        {func(dir string) error { return os.Remove(filepath.Join(dir, originName)) }, originName},
		"an invalid origin": {func(dir string) error { return os.WriteFile(filepath.Join(dir, originName), []byte("{}"), 0o600) },
			"archive is not a SHA-256"},
		"a huge origin": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, originName), make([]byte, MaxOrigin+1), 0o600)
		}, "too large"},
		"a symbolic link": {func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "README.md")), os.Symlink("/etc/passwd", filepath.Join(dir, "README.md")))
		}, "README.md is not a regular file"},
		"a file in place of the directory": {func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) }, "is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			s := In(t.TempDir())
			dir, err := s.Add(t.Context(), p, origin)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.damage(dir); err != nil {
				t.Fatal(err)
			}
			items, err := s.List()
			if err != nil || len(items) != 1 || items[0].Problem == nil || !strings.Contains(items[0].Problem.Error(), c.want) {
				t.Errorf("List returned %+v, %v; want the problem %q", items, err, c.want)
			}
			if _, _, err := s.Export(p.Manifest.Digest); err == nil {
				t.Error("Export accepts it")
			}
			if _, err := s.Add(t.Context(), p, origin); err != nil {
				t.Fatal(err)
			}
			if out, _, err := s.Export(p.Manifest.Digest); err != nil || !bytes.Equal(out, data) {
				t.Errorf("after another Add, Export returned %d bytes, %v", len(out), err)
			}
			if left := names(t, s.Dir); len(left) != 2 {
				t.Errorf("there are %q", left)
			}
		})
	}
}

func TestPluginIsNotReplacedByAnotherArchive(t *testing.T) {
	s := In(t.TempDir())
	first := open(t, packed(t, "1.0.0"))
	if _, err := s.Add(t.Context(), first, origin); err != nil {
		t.Fatal(err)
	}
	_, err := s.Add(t.Context(), open(t, packed(t, "1.0.0", archive.File{Name: "README.md"})), origin)
	if err == nil || !strings.Contains(err.Error(), "from another archive") {
		t.Errorf("got %v", err)
	}
	if _, have, err := s.Export(first.Manifest.Digest); err != nil || have.Archive != first.Archive {
		t.Errorf("the first one is now %+v, %v", have, err)
	}
}

// TestAddIsAtomic injects a fault, a full disk and a kill at each operation, with and without a damaged plugin in the place.
func TestAddIsAtomic(t *testing.T) {
	data := packed(t, "1.0.0")
	p := open(t, data)
	old := open(t, packed(t, "0.9.0"))
	for _, damaged := range []bool{false, true} {
		for _, mode := range faultfs.Modes {
			faultfs.Each(filesystem.OS{}, mode, func(f *faultfs.FS) {
				s := In(t.TempDir())
				if _, err := s.Add(t.Context(), old, origin); err != nil {
					t.Fatal(err)
				}
				if damaged {
					if err := os.MkdirAll(s.Path(p.Manifest.Digest), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				_, err := Store{Dir: s.Dir, fsys: f}.Add(t.Context(), p, origin)
				out, _, gone := s.Export(p.Manifest.Digest)
				switch {
				case err == nil && !bytes.Equal(out, data):
					t.Errorf("%s at operation %d: Add returned no error, and Export %v", mode, f.At, gone)
				case err != nil && out != nil && !bytes.Equal(out, data):
					t.Errorf("%s at operation %d: a part of the plugin is there", mode, f.At)
				case gone != nil && !damaged && !errors.Is(gone, fs.ErrNotExist):
					t.Errorf("%s at operation %d: %v", mode, f.At, gone)
				}
				if _, _, err := s.Export(old.Manifest.Digest); err != nil {
					t.Errorf("%s at operation %d: the version before is lost: %v", mode, f.At, err)
				}
				// The next process removes what is left.
				if _, err := s.Add(t.Context(), p, origin); err != nil {
					t.Errorf("%s at operation %d: the next Add returned %v", mode, f.At, err)
				}
				if left := names(t, s.Dir); len(left) != 3 {
					t.Errorf("%s at operation %d: there are %q", mode, f.At, left)
				}
			})
		}
	}
}

// TestAddReplacesSignature adds a plugin that is there without a signature again with one.
func TestAddReplacesSignature(t *testing.T) {
	p := open(t, packed(t, "1.0.0"))
	again := Origin{From: "https://other.example/x.tar", Signer: "RWA", Signature: "by RWA"}
	signed := origin
	signed.Archive, signed.Size, signed.Signer, signed.Signature = p.Archive, p.Size, again.Signer, again.Signature
	s := In(t.TempDir())
	for _, o := range []Origin{origin, again, origin} {
		if _, err := s.Add(t.Context(), p, o); err != nil {
			t.Fatal(err)
		}
	}
	if _, have, err := s.Export(p.Manifest.Digest); err != nil || have != signed {
		t.Errorf("got %+v, %v; want %+v", have, err, signed)
	}
	for _, mode := range faultfs.Modes {
		faultfs.Each(filesystem.OS{}, mode, func(f *faultfs.FS) {
			s := In(t.TempDir())
			if _, err := s.Add(t.Context(), p, origin); err != nil {
				t.Fatal(err)
			}
			_, err := Store{Dir: s.Dir, fsys: f}.Add(t.Context(), p, again)
			switch _, have, damaged := s.Export(p.Manifest.Digest); {
			case damaged != nil:
				t.Errorf("%s at operation %d: %v", mode, f.At, damaged)
			case have.Signature != again.Signature && (err == nil || have.Signature != ""):
				t.Errorf("%s at operation %d: the signature is %q, and Add returned %v", mode, f.At, have.Signature, err)
			}
			if _, err := s.Add(t.Context(), p, again); err != nil {
				t.Errorf("%s at operation %d: the next Add returned %v", mode, f.At, err)
			}
			if left := names(t, s.Dir); len(left) != 2 {
				t.Errorf("%s at operation %d: there are %q", mode, f.At, left)
			}
		})
	}
}

func TestPluginsAreAddedConcurrently(t *testing.T) {
	s := In(t.TempDir())
	p, other := open(t, packed(t, "1.0.0")), open(t, packed(t, "2.0.0"))
	var wait sync.WaitGroup
	for n := range 8 {
		wait.Go(func() {
			if _, err := s.Add(t.Context(), []*Plugin{p, other}[n%2], origin); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	items, err := s.List()
	if err != nil || len(items) != 2 || items[0].Problem != nil || items[1].Problem != nil || len(names(t, s.Dir)) != 3 {
		t.Errorf("%+v, %v", items, err)
	}
}

// TestStoreIsLockedBetweenProcesses waits for a lock that another open file holds, as another process would.
func TestStoreIsLockedBetweenProcesses(t *testing.T) {
	s := In(t.TempDir())
	lock, err := filelock.Open(filepath.Join(s.Dir, lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if free, err := filelock.Try(lock, filelock.Exclusive); err != nil || !free {
		t.Fatal(free, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	p := open(t, packed(t, "1.0.0"))
	if _, err := s.Add(ctx, p, origin); err == nil || !strings.Contains(err.Error(), "cannot be locked: interrupted") {
		t.Errorf("got %v", err)
	}
	if err := filelock.Unlock(lock); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(t.Context(), p, origin); err != nil {
		t.Error(err)
	}
}

func TestStoreThatOthersCanWriteIsNotUsed(t *testing.T) {
	s := In(filepath.Join(t.TempDir(), "plugins"))
	p := open(t, packed(t, "1.0.0"))
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(t.Context(), p, origin); err == nil || !strings.Contains(err.Error(), "can be written by others") {
		t.Errorf("Add returned %v", err)
	}
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "chmod") {
		t.Errorf("Check returned %v", err)
	}
	for _, s := range []Store{{}, In("")} {
		if _, err := s.Add(t.Context(), p, origin); err == nil || !strings.Contains(err.Error(), "XDG_DATA_HOME") || s.Check() == nil {
			t.Errorf("without a directory: %v", err)
		}
		if items, err := s.List(); err != nil || items != nil {
			t.Errorf("without a directory: %v, %v", items, err)
		}
	}
}
