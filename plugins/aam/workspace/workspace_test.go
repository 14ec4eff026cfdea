package workspace_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files/faults"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/workspace"
)

// TestMain has temporary directories created in memory if the system supports that, because the tests of this package
// create thousands of them.
func TestMain(m *testing.M) {
	testenv.UseMemory()
	os.Exit(m.Run())
}

// world holds the paths of a project with a workspace, of a home directory, and of the directory that contains both and
// the archives.
type world struct{ root, project, home string }

func newWorld(t *testing.T) world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := world{root, filepath.Join(root, "project"), filepath.Join(root, "home")}
	w.write(t, "project/.aam/config.yaml", "default_platform: claude\n")
	w.write(t, "project/CLAUDE.md", "Ours\n")
	w.write(t, "project/AGENTS.md", "Ours, too\n")
	w.write(t, "home/.codex/auth", "theirs")
	return w
}

// copy returns a copy of the world in a new directory.
func (w world) copy(t *testing.T) world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.CopyFS(root, os.DirFS(w.root))
	}
	if err != nil {
		t.Fatal(err)
	}
	return world{root, filepath.Join(root, "project"), filepath.Join(root, "home")}
}

func (w world) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(w.root, filepath.FromSlash(name))
	testenv.WriteFile(t, path, text)
}

func (w world) open(s files.System) *workspace.Workspace {
	return &workspace.Workspace{Files: s, Project: w.project, Home: w.home, Now: time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)}
}

// read returns the content of all files in the project and in the home directory.
func (w world) read(t *testing.T) map[string]string {
	t.Helper()
	return testenv.ReadFiles(t, w.root, w.project, w.home)
}

// artifact is the type and name of an artifact.
type artifact struct{ typ, name string }

// pack creates an archive of a package with the given artifacts. Prompts and instructions are files, and other
// artifacts are directories with one file. pack returns the package in the form that Install requires.
func (w world) pack(t *testing.T, name, version, dependencies string, artifacts ...artifact) workspace.Package {
	t.Helper()
	text := fmt.Sprintf("name: '%s'\nversion: %s\ndescription: d\ndependencies: {%s}\nartifacts:\n", name, version, dependencies)
	contents := map[string]string{}
	for _, typ := range manifest.Types() {
		text += "  " + typ.Plural() + ": ["
		for _, a := range artifacts {
			if a.typ == string(typ) {
				text += fmt.Sprintf("{name: %s, path: %s/x.md, description: d}, ", a.name, a.name)
				contents[a.name+"/x.md"] = name + " " + version
			}
		}
		text += "]\n"
	}
	contents["aam.yaml"] = text
	dir := t.TempDir()
	for name, text := range contents {
		path := filepath.Join(dir, filepath.FromSlash(name))
		testenv.WriteFile(t, path, text)
	}
	m, err := manifest.Load(files.Disk{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	listing, err := archive.Pack(files.Disk{}, dir, m, &packed, archive.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.root, strings.ReplaceAll(name, "/", "-")+version)
	if err := os.WriteFile(path, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return workspace.Package{Name: name, Version: version, Registry: "team", Archive: path, Checksum: listing.Checksum, Verify: true}
}

// one returns one artifact of each type. The names of the artifacts begin with prefix.
func one(prefix string) []artifact {
	return []artifact{{"agent", prefix + "agent"}, {"skill", prefix + "skill"}, {"prompt", prefix + "prompt"}, {"instruction", prefix + "rule"}}
}

func options(platform string) workspace.Options {
	return workspace.Options{Platform: platform, DefaultPlatform: "claude", Limits: archive.DefaultLimits()}
}

func (w world) install(t *testing.T, platform string, group ...workspace.Package) {
	t.Helper()
	if _, err := w.open(files.Disk{}).Install(group, options(platform)); err != nil {
		t.Fatal(err)
	}
}

func TestInstallAndUninstall(t *testing.T) {
	for _, platform := range []string{"cursor", "claude", "copilot", "codex", "vscode", ""} {
		t.Run("platform "+platform, func(t *testing.T) {
			w := newWorld(t)
			before := w.read(t)
			w.install(t, platform, w.pack(t, "b", "2.0.0", "", artifact{"skill", "s"}), w.pack(t, "@a/all", "1.0.0", "b: ^2.0.0", one("")...))
			lock, err := w.open(files.Disk{}).Lock()
			if err != nil || len(lock.Packages) != 2 || lock.Packages[1].Name != "@a/all" || lock.Packages[1].Source != "team" {
				t.Fatalf("got %+v, %v", lock, err)
			}
			got := w.read(t)
			deployed := len(got) - len(before) - 2 - 5 - 2 // subtract the lock file, the ledger and the files in the directories of the packages
			if want := map[string]int{"cursor": 5, "claude": 4, "copilot": 5, "codex": 3}[platform]; deployed != want {
				t.Errorf("%d files deployed, want %d: %v", deployed, want, got)
			}
			done, err := w.open(files.Disk{}).Uninstall("b", "claude")
			if err != nil || done.Version != "2.0.0" || !cmp.Equal(done.Dependents, []string{"@a/all"}) {
				t.Fatalf("got %+v, %v", done, err)
			}
			if _, err := w.open(files.Disk{}).Uninstall("@a/all", "claude"); err != nil {
				t.Fatal(err)
			}
			after := w.read(t)
			delete(after, "project/.aam/aam-lock.yaml")
			delete(after, "project/.aam/deployments.yaml")
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("all is as before (-want +got)\n%s", diff)
			}
		})
	}
}

func TestLockAndLedger(t *testing.T) {
	w := newWorld(t)
	p := w.pack(t, "b", "1.0.0", "c: '*'", artifact{"prompt", "ask"})
	w.install(t, "cursor", p)
	got := w.read(t)
	lock := "lockfile_version: 1\nresolved_at: '2026-02-10T12:00:00.000000+00:00'\npackages:\n  b:\n    version: 1.0.0\n    source: team\n    checksum: " + p.Checksum +
		"\n    dependencies:\n      c: '*'\n    file_checksums: null\n    source_name: null\n    source_commit: null\n"
	if diff := cmp.Diff(lock, got["project/.aam/aam-lock.yaml"]); diff != "" {
		t.Errorf("lock (-want +got)\n%s", diff)
	}
	ledger := "packages:\n  b:\n  - platform: cursor\n    type: prompt\n    name: ask\n    digest: " + files.TextDigest("b 1.0.0") +
		"\ninstalled:\n  b:\n    version: 1.0.0\n    checksum: " + p.Checksum + "\nresolved_at: '2026-02-10T12:00:00.000000+00:00'\n"
	if diff := cmp.Diff(ledger, got["project/.aam/deployments.yaml"]); diff != "" {
		t.Errorf("ledger (-want +got)\n%s", diff)
	}
	paths, err := w.open(files.Disk{}).Deployed()
	if diff := cmp.Diff(map[string]bool{".cursor/prompts/ask.md": true}, paths); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestInstallReplacesVersion(t *testing.T) {
	old := func(w world, t *testing.T) workspace.Package {
		return w.pack(t, "b", "1.0.0", "", artifact{"prompt", "kept"}, artifact{"prompt", "stale"}, artifact{"skill", "shared"})
	}
	tests := []struct {
		name     string
		platform string
		want     []string // the expected deployed files after the call
	}{
		{"artifacts of the old version are removed unless shared", "cursor", []string{".cursor/prompts/kept.md 2.0.0", ".cursor/skills/shared/x.md 1.0.0"}},
		{"artifacts of the old version are removed from other platforms", "claude", []string{".claude/prompts/kept.md 2.0.0", ".cursor/prompts/kept.md 1.0.0", ".cursor/skills/shared/x.md 1.0.0"}},
		{"artifacts of the old version are removed without a deployment", "", []string{".cursor/prompts/kept.md 1.0.0", ".cursor/skills/shared/x.md 1.0.0"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.install(t, "cursor", old(w, t), w.pack(t, "c", "1.0.0", "", artifact{"skill", "shared"}))
			w.install(t, test.platform, w.pack(t, "b", "2.0.0", "", artifact{"prompt", "kept"}))
			var got []string
			for name, text := range w.read(t) {
				if name = strings.TrimPrefix(name, "project/"); strings.HasPrefix(name, ".c") {
					got = append(got, name+" "+text[strings.LastIndexByte(text, ' ')+1:])
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestInstallRefuses(t *testing.T) {
	w := newWorld(t)
	w.install(t, "cursor", w.pack(t, "a--b", "1.0.0", "", artifact{"prompt", "x"}))
	before := w.read(t)
	fine := w.pack(t, "fine", "1.0.0", "", artifact{"prompt", "f"})
	changed := func(change func(*workspace.Package)) workspace.Package {
		p := fine
		change(&p)
		return p
	}
	tests := []struct {
		name string
		pack workspace.Package
		code fault.Code
	}{
		{"another checksum", changed(func(p *workspace.Package) { p.Checksum = "sha256:00" }), fault.ChecksumMismatch},
		{"no checksum", changed(func(p *workspace.Package) { p.Checksum = "" }), fault.ChecksumMismatch},
		{"another name", changed(func(p *workspace.Package) { p.Name = "other" }), fault.ArchiveInvalid},
		{"another version", changed(func(p *workspace.Package) { p.Version = "1.0.1" }), fault.ArchiveInvalid},
		{"no archive", changed(func(p *workspace.Package) { p.Archive += ".gone" }), ""},
		{"two names with one directory", w.pack(t, "@a/b", "1.0.0", "", artifact{"prompt", "y"}), fault.InvalidArgument},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			also := w.pack(t, "also", "1.0.0", "", artifact{"prompt", "also"})
			_, err := w.open(files.Disk{}).Install([]workspace.Package{also, test.pack}, options("cursor"))
			if got := fault.From(err); got == nil || test.code != "" && got.Code != test.code {
				t.Errorf("got %v, want %s", err, test.code)
			}
			if diff := cmp.Diff(before, w.read(t)); diff != "" {
				t.Errorf("something is left of it (-before +after)\n%s", diff)
			}
		})
	}
	t.Run("the same version in another form is the same", func(t *testing.T) {
		w.install(t, "", changed(func(p *workspace.Package) { p.Version = "v1.0" }))
	})
	t.Run("without verification any checksum is accepted", func(t *testing.T) {
		w.install(t, "", changed(func(p *workspace.Package) { p.Checksum, p.Verify = "sha256:00", false }))
	})
}

func TestUninstallRefuses(t *testing.T) {
	w := newWorld(t)
	w.write(t, "project/.aam/aam-lock.yaml", "packages:\n  a--b: {version: '1', source: s, checksum: ''}\n  '@a/b': {version: '1', source: s, checksum: ''}\n")
	tests := []struct {
		name, pack string
		code       fault.Code
	}{
		{"a package that is not installed", "nope", fault.PackageNotInstalled},
		{"a directory that two names share", "a--b", fault.InvalidArgument},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := w.open(files.Disk{}).Uninstall(test.pack, "cursor")
			if got := fault.From(err); got == nil || got.Code != test.code {
				t.Errorf("got %v, want %s", err, test.code)
			}
		})
	}
	t.Run("no workspace", func(t *testing.T) {
		_, err := (&workspace.Workspace{Files: files.Disk{}, Project: t.TempDir()}).Uninstall("x", "cursor")
		if got := fault.From(err); got == nil || got.Code != fault.PackageNotInstalled {
			t.Errorf("got %v", err)
		}
	})
}

func TestUninstallWithoutLedger(t *testing.T) {
	w := newWorld(t)
	w.install(t, "claude", w.pack(t, "b", "1.0.0", "", artifact{"instruction", "rule"}, artifact{"prompt", "ask"}))
	if err := os.Remove(filepath.Join(w.project, ".aam", "deployments.yaml")); err != nil {
		t.Fatal(err)
	}
	done, err := w.open(files.Disk{}).Uninstall("b", "claude")
	got := w.read(t)
	if err != nil || done.FilesRemoved != 1 || got["project/CLAUDE.md"] != "Ours\n" {
		t.Errorf("want the default platform: got %+v, %v, %q", done, err, got["project/CLAUDE.md"])
	}
}

func TestDamagedPackageCanBeRemovedAndReplaced(t *testing.T) {
	for _, damage := range []func(dir string) error{os.RemoveAll, func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "aam.yaml"), []byte("name: BAD"), 0o644)
	}} {
		w := newWorld(t)
		p := w.pack(t, "b", "1.0.0", "", artifact{"prompt", "ask"})
		w.install(t, "", p)
		if err := damage(filepath.Join(w.project, ".aam", "packages", "b")); err != nil {
			t.Fatal(err)
		}
		w.install(t, "cursor", p)
		if err := damage(filepath.Join(w.project, ".aam", "packages", "b")); err != nil {
			t.Fatal(err)
		}
		done, err := w.open(files.Disk{}).Uninstall("b", "claude")
		if err != nil || done.FilesRemoved != 1 {
			t.Errorf("got %+v, %v", done, err)
		}
	}
}

func TestInvalidLockAndLedgerAreNotOverwritten(t *testing.T) {
	for name, text := range map[string]string{
		"aam-lock.yaml":    "packages: [",
		"deployments.yaml": "packages: {b: [{platform: cursor, type: prompt, name: ../../x}]}",
	} {
		w := newWorld(t)
		w.write(t, "project/.aam/"+name, text)
		before := w.read(t)
		_, err := w.open(files.Disk{}).Install([]workspace.Package{w.pack(t, "b", "1.0.0", "", artifact{"prompt", "ask"})}, options("cursor"))
		_, err2 := w.open(files.Disk{}).Uninstall("b", "cursor")
		for _, err := range []error{err, err2} {
			if got := fault.From(err); got == nil || got.Code != fault.Internal || got.Hint == "" || !strings.Contains(got.Message, name) {
				t.Errorf("got %v", err)
			}
		}
		if diff := cmp.Diff(before, w.read(t)); diff != "" {
			t.Errorf("(-before +after)\n%s", diff)
		}
	}
}

// atEachWrite repeats an operation, and at another write each time lets the write fail or simulates the end of the
// process. After the recovery, the files must be those before or those after the operation, and the checks must
// succeed.
func atEachWrite(t *testing.T, prepare func(world), do func(*workspace.Workspace) error, checks ...func(*testing.T, world)) {
	template := newWorld(t)
	prepare(template)
	before := template.read(t)
	for _, kill := range []bool{false, true} {
		var after map[string]string
		made := false // set once the operation was committed; it must then be committed for all later writes, too
		for n := 1; ; n++ {
			w := template.copy(t)
			system := faults.New(n, kill)
			err := do(w.open(system))
			if system.Count() < n {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			if _, err := w.open(files.Disk{}).Uninstall("nobody", ""); fault.From(err).Code != fault.PackageNotInstalled {
				t.Fatalf("recovery: %v", err)
			}
			for _, check := range checks {
				check(t, w)
			}
			got := w.read(t)
			changed := !cmp.Equal(before, got)
			switch {
			case err == nil && !changed, err != nil && !kill && changed:
				t.Fatalf("write %d, kill %t: %v, changed %t", n, kill, err, changed)
			case kill && made && !changed:
				t.Fatalf("write %d: rolled back, although a failure at an earlier write was rolled forward", n)
			case changed && after != nil && !cmp.Equal(after, got):
				t.Fatalf("write %d, kill %t: (-first +got)\n%s", n, kill, cmp.Diff(after, got))
			case changed:
				made, after = true, got
			}
		}
		if !made {
			t.Error("no failure after the commit")
		}
	}
}

func TestInstallFailsAtEachWrite(t *testing.T) {
	testenv.NotShort(t, "fails at each of many writes")
	var packed []workspace.Package
	w := newWorld(t)
	old := w.pack(t, "b", "1.0.0", "", artifact{"prompt", "stale"}, artifact{"skill", "s"})
	packed = append(packed, w.pack(t, "b", "2.0.0", "", artifact{"skill", "s"}), w.pack(t, "c", "1.0.0", "b: ^2.0.0", artifact{"agent", "a"}))
	atEachWrite(t, func(w world) { w.install(t, "codex", old) }, func(ws *workspace.Workspace) error {
		_, err := ws.Install(packed, options("codex"))
		return err
	})
}

func TestUninstallFailsAtEachWrite(t *testing.T) {
	w := newWorld(t)
	c := w.pack(t, "c", "1.0.0", "", artifact{"skill", "s"}, artifact{"instruction", "i"})
	atEachWrite(t, func(w world) { w.install(t, "codex", c) }, func(ws *workspace.Workspace) error {
		_, err := ws.Uninstall("c", "")
		return err
	})
}

func TestInstallClearsForeignStage(t *testing.T) {
	w := newWorld(t)
	w.write(t, "project/.aam/.tmp/partial-pkg/aam.yaml", "x")
	w.install(t, "", w.pack(t, "b", "1.0.0", "", artifact{"prompt", "ask"}))
	if _, err := os.Stat(filepath.Join(w.project, ".aam", ".tmp")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
