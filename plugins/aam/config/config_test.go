package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files/faults"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// folders creates a home directory and a project directory with the given configuration files. For "-" it creates no
// file.
func folders(t *testing.T, global, project string) (home, dir string) {
	t.Helper()
	root := t.TempDir()
	home, dir = filepath.Join(root, "home"), filepath.Join(root, "project")
	for folder, text := range map[string]string{home: global, dir: project} {
		if text == "-" {
			continue
		}
		path := config.Path(folder)
		testenv.WriteFile(t, path, text)
	}
	return home, dir
}

func load(t *testing.T, global, project string) (config.Config, config.Layers) {
	t.Helper()
	home, dir := folders(t, global, project)
	c, layers, err := config.Load(files.Disk{}, home, dir)
	if err != nil {
		t.Fatal(err)
	}
	return c, layers
}

func TestDefaults(t *testing.T) {
	want := config.Config{
		DefaultPlatform: "cursor",
		ActivePlatforms: []string{"cursor"},
		Registries:      []config.Registry{},
		Security:        config.Security{RequireChecksum: true, OnSignatureFailure: "warn"},
		Sources:         []config.Source{},
		RemovedDefaults: []string{},
	}
	tests := []struct{ name, global, project string }{
		{"no files", "-", "-"},
		{"empty files", "", "\n"},
		{"comments only", "# nothing\n", "---\n"},
		{"a document that is not a mapping", "- 1\n", "text\n"},
		{"unknown keys", "nope: 1\nsecurity: {install_policy: strict}\n", "cache: {}\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, _ := load(t, test.global, test.project)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestPrecedence(t *testing.T) {
	const (
		global  = "default_platform: codex\nregistries:\n- {name: a, url: file:///a, default: true}\n- {name: b, url: file:///b}\nsecurity: {require_checksum: no, require_signature: yes}\n"
		project = "registries: [{name: c, url: file:///c, type: local}]\nsecurity:\n  require_signature: false\n"
	)
	tests := []struct {
		name, key, source string
		want              any
	}{
		{"set only by the user", "default_platform", "global", "codex"},
		{"sections are merged: one key from the user", "security.require_checksum", "global", false},
		{"sections are merged: one key from the project", "security.require_signature", "project", false},
		{"a default", "security.on_signature_failure", "default", "warn"},
		{"an unset setting is null", "author.name", "default", nil},
		{"a default section", "publish", "default", nil},
		{"a section that both layers set", "security", "project", nil},
		{"a list shadows that of the lower layer", "registries", "project", nil},
	}
	c, layers := load(t, global, project)
	if diff := cmp.Diff([]config.Registry{{Name: "c", URL: "file:///c", Type: "local"}}, c.Registries); diff != "" {
		t.Errorf("registries (-want +got)\n%s", diff)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := config.Get(c, layers, test.key)
			if err != nil || got.Source != test.source {
				t.Fatalf("got %+v, %v, want source %s", got, err, test.source)
			}
			if (test.want != nil || test.key == "author.name") && got.Value != test.want {
				t.Errorf("got %v, want %v", got.Value, test.want)
			}
		})
	}
}

func TestGetUnknownKeys(t *testing.T) {
	c, layers := load(t, "registries: [{name: a, url: file:///a}]", "-")
	for _, key := range []string{"", "nope", "security.nope", "registries.0", "a.b.c", "security.", ".security", "author.name.x", "Security"} {
		_, err := config.Get(c, layers, key)
		if got := fault.From(err); got == nil || got.Code != fault.InvalidArgument || !strings.Contains(got.Message, "publish.default_scope") {
			t.Errorf("%q: got %v, want one that lists the keys", key, err)
		}
	}
}

func TestLoadReportsInvalidFiles(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"no YAML", "a: [", []string{}},
		{"two problems", "default_platform: 12345\nactive_platforms: not-a-list\n", []string{"default_platform", "active_platforms"}},
		{"a section is null", "security:\n", []string{"security"}},
		{"a list is null", "registries:\n", []string{"registries"}},
		{"a registry is a string", "registries: [team]\n", []string{"registries.0"}},
		{"a registry without name and url", "registries: [{type: local}]\n", []string{"registries.0.name", "registries.0.url"}},
		{"an invalid boolean", "security: {require_checksum: banana}\n", []string{"security.require_checksum"}},
		{"a platform is a number in a list", "active_platforms: [1]\n", []string{"active_platforms.0"}},
		{"a source's count is not a number", "sources: [{name: a, url: b, artifact_count: many}]\n", []string{"sources.0.artifact_count"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, global := range []bool{true, false} {
				texts := [2]string{"-", test.text}
				if global {
					texts = [2]string{test.text, "-"}
				}
				home, dir := folders(t, texts[0], texts[1])
				_, _, err := config.Load(files.Disk{}, home, dir)
				got := fault.From(err)
				if got == nil || got.Code != fault.Internal || !strings.Contains(got.Text(), "config.yaml") || !strings.Contains(got.Text(), "aam_doctor") {
					t.Fatalf("got %v", err)
				}
				for _, field := range test.want {
					if !strings.Contains(got.Message, field+": ") {
						t.Errorf("the message lacks the field %s: %s", field, got.Message)
					}
				}
				if strings.Contains(got.Message, "12345") || strings.Contains(got.Message, "banana") {
					t.Errorf("the error quotes a value: %s", got.Message)
				}
			}
		})
	}
}

func TestSet(t *testing.T) {
	const kept = "# mine\ndefault_platform: cursor # now\nlocal_extension:\n  keep: me\nsecurity:\n  trusted_identities:\n  - '*@example.org'\n"
	tests := []struct {
		name, before, key, value, want string
	}{
		{"a missing file is created", "-", "author.email", "a@b.c", "author:\n  email: a@b.c\n"},
		{"an empty file is filled", "", "default_platform", "vscode", "default_platform: vscode\n"},
		{"unknown keys and comments are kept", kept, "default_platform", "claude", strings.Replace(kept, ": cursor", ": claude", 1)},
		{"a key of a section is added", kept, "security.require_signature", "YES", kept + "  require_signature: true\n"},
		{"strings separated by commas are a list", "", "active_platforms", " cursor, claude,,", "active_platforms:\n- cursor\n- claude\n"},
		{"a string that resolves to another type is quoted", "", "default_platform", "yes", "default_platform: 'yes'\n"},
		{"a string that cannot be plain is quoted", "", "author.name", "a: b # c\n- d", ""},
		{"any string is accepted", "", "security.on_signature_failure", "explode", "security:\n  on_signature_failure: explode\n"},
		{"off is false", "", "security.require_checksum", "Off", "security:\n  require_checksum: false\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			home, dir := folders(t, test.before, "-")
			path := config.Path(home)
			if err := config.Set(files.Disk{}, home, test.key, test.value); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(data); test.want != "" && got != test.want {
				t.Errorf("(-want +got)\n%s", cmp.Diff(test.want, got))
			}
			c, layers, err := config.Load(files.Disk{}, home, dir)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := config.Get(c, layers, test.key); err != nil || got.Source != "global" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	const fine = "default_platform: cursor\n"
	tests := []struct {
		name, before, key, value string
		code                     fault.Code
	}{
		{"a key that is unknown", fine, "nope", "x", fault.InvalidArgument},
		{"a key too deep", fine, "a.b.c", "x", fault.InvalidArgument},
		{"no key", fine, "", "x", fault.InvalidArgument},
		{"a section", fine, "author", "x", fault.InvalidArgument},
		{"registries", fine, "registries", "x", fault.InvalidArgument},
		{"sources", fine, "sources", "x", fault.InvalidArgument},
		{"an invalid boolean", fine, "security.require_checksum", "banana", fault.InvalidArgument},
		{"a value above the size limit", fine, "author.name", strings.Repeat("x", 5000), fault.InvalidArgument},
		{"a NUL", fine, "author.name", "\x00", fault.InvalidArgument},
		{"a file that is not YAML", "a: [", "author.name", "x", fault.Internal},
		{"an invalid file", "active_platforms: x\n", "author.name", "x", fault.Internal},
		{"a file that is not a mapping", "- 1\n", "author.name", "x", fault.Internal},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			home, _ := folders(t, test.before, "-")
			path := config.Path(home)
			if got := fault.From(config.Set(files.Disk{}, home, test.key, test.value)); got == nil || got.Code != test.code {
				t.Errorf("got %v, want %s", got, test.code)
			}
			if data, err := os.ReadFile(path); err != nil || string(data) != test.before {
				t.Errorf("the file was changed: %q, %v", data, err)
			}
		})
	}
}

func TestAddRegistry(t *testing.T) {
	home, dir := folders(t, "registries:\n- name: a\n  url: file:///a\n  default: true\n  note: kept\nextra: [1]\n", "-")
	for _, added := range []struct {
		name      string
		isDefault bool
	}{{"b", false}, {"c", true}} {
		r := config.Registry{Name: added.name, URL: "file:///" + added.name, Type: config.Local}
		if err := config.AddRegistry(files.Disk{}, home, r, added.isDefault); err != nil {
			t.Fatal(err)
		}
	}
	c, _, err := config.Load(files.Disk{}, home, dir)
	want := []config.Registry{{"a", "file:///a", "local", false}, {"b", "file:///b", "local", false}, {"c", "file:///c", "local", true}}
	if diff := cmp.Diff(want, c.Registries); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	data, _ := os.ReadFile(config.Path(home))
	for _, text := range []string{"note: kept", "extra: [1]"} {
		if !strings.Contains(string(data), text) {
			t.Errorf("Set lost %q:\n%s", text, data)
		}
	}
}

func TestSetPreservesCommentsAndLineEnds(t *testing.T) {
	const before = "# My settings\r\n\r\ndefault_platform: a # now\r\nregistries:\r\n# the first\r\n- name: a # A\r\n  url: file:///a\r\n  default: yes # D\r\n\r\n# the end\r\n"
	home, _ := folders(t, before, "-")
	r := config.Registry{Name: "b", URL: "file:///b", Type: config.Local}
	if err := errors.Join(config.Set(files.Disk{}, home, "default_platform", "b"), config.AddRegistry(files.Disk{}, home, r, true)); err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(": a # now", ": b # now", "yes # D\r\n", "false # D\r\n- name: b\r\n  url: file:///b\r\n  type: local\r\n  default: true\r\n").Replace(before)
	got, err := os.ReadFile(config.Path(home))
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestNewRegistry(t *testing.T) {
	tests := []struct {
		name, url string
		want      config.Registry // the expected registry without its name, which is r
	}{
		{"a file URL", "file:///srv/r", config.Registry{URL: "file:///srv/r", Type: "local"}},
		{"a file URL with a host", "file://LocalHost/srv/r", config.Registry{URL: "file:///srv/r", Type: "local"}},
		{"a path", "/srv/r/", config.Registry{URL: "file:///srv/r", Type: "local"}},
		{"a path from the project", "../r", config.Registry{URL: "file:///work/r", Type: "local"}},
		{"percent signs are kept", "/srv/a%20b", config.Registry{URL: "file:///srv/a%20b", Type: "local"}},
		{"https", "https://r.example.org", config.Registry{URL: "https://r.example.org", Type: "http"}},
		{"another scheme", "ssh://r", config.Registry{}},
		{"a relative file URL", "file://srv/r", config.Registry{}},
		{"nothing", " ", config.Registry{}},
		{"control characters", "/srv/\nr", config.Registry{}},
		{"a question mark", "/srv/r?x", config.Registry{}},
		{"a path above the size limit", "/" + strings.Repeat("x", 5000), config.Registry{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := config.NewRegistry("r", test.url, "/work/project")
			if test.want.URL == "" {
				if fault.From(err) == nil || fault.From(err).Code != fault.InvalidArgument {
					t.Errorf("got %+v, %v", got, err)
				}
				return
			}
			test.want.Name = "r"
			if err != nil || got != test.want {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
	for _, name := range []string{"", "  ", "a\nb", "a\x1b[1m", strings.Repeat("x", 129)} {
		if _, err := config.NewRegistry(name, "/srv/r", "/"); fault.From(err) == nil || fault.From(err).Code != fault.InvalidArgument {
			t.Errorf("NewRegistry with the name %q: got %v", name, err)
		}
	}
}

func TestRoot(t *testing.T) {
	tests := []struct {
		name, url, kind, want string
	}{
		{"a file URL", "file:///srv/r", "local", "/srv/r"},
		{"a file URL with the host localhost", "file://localhost/srv/r", "local", "/srv/r"},
		{"the host is ignored", "file://host/srv/r", "local", "/srv/r"},
		{"query and fragment are ignored", "file:///srv/r?a#b", "local", "/srv/r"},
		{"percent signs are not decoded", "file:///srv/a%20b", "local", "/srv/a%20b"},
		{"a plain path", "/srv/r/../s", "local", "/srv/s"},
		{"a relative path has no root", "srv/r", "local", ""},
		{"a host alone has no root", "file://srv", "local", ""},
		{"another scheme has no root", "https://r", "local", ""},
		{"another type has no root", "file:///srv/r", "http", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := config.Registry{URL: test.url, Type: test.kind}.Root()
			if got != test.want || ok != (test.want != "") {
				t.Errorf("got %q, %t", got, ok)
			}
		})
	}
}

func TestDefaultRegistry(t *testing.T) {
	a, b := config.Registry{Name: "a"}, config.Registry{Name: "b", Default: true}
	if got, ok := (config.Config{Registries: []config.Registry{a, b}}).DefaultRegistry(); !ok || got != b {
		t.Errorf("DefaultRegistry with a registry that is marked as default: got %+v", got)
	}
	if got, ok := (config.Config{Registries: []config.Registry{a, {Name: "c"}}}).DefaultRegistry(); !ok || got != a {
		t.Errorf("DefaultRegistry without a registry that is marked as default: got %+v", got)
	}
	if _, ok := (config.Config{}).DefaultRegistry(); ok {
		t.Error("got a default registry from an empty configuration")
	}
}

func TestSetPreservesSymlinkAndMode(t *testing.T) {
	home, _ := folders(t, "-", "-")
	folder := filepath.Join(home, ".aam")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(folder, "real.yaml")
	if err := errors.Join(os.WriteFile(real, []byte("default_platform: codex\n"), 0o600), os.Symlink("real.yaml", config.Path(home))); err != nil {
		t.Fatal(err)
	}
	if err := config.Set(files.Disk{}, home, "default_platform", "claude"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(real)
	if err != nil || info.Mode().Perm() != 0o600 || !info.Mode().IsRegular() {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(config.Path(home)); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the symbolic link was replaced: %v, %v", info.Mode(), err)
	}
}

func TestLoadRefusesSymlinkOutOfProject(t *testing.T) {
	home, dir := folders(t, "-", "-")
	target := filepath.Join(home, ".aam", "credentials.yaml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, []byte("default_platform: s3cr3t\n"), 0o644),
		os.MkdirAll(filepath.Join(dir, ".aam"), 0o755), os.Symlink(target, config.Path(dir))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := config.Load(files.Disk{}, home, dir); fault.From(err) == nil || !errors.Is(err, contain.ErrOutside) {
		t.Errorf("got %v", err)
	}
}

func TestSetIsAtomicWhenKilledAtEachWrite(t *testing.T) {
	const before, after = "default_platform: cursor\n", "default_platform: claude\n"
	for n := 1; ; n++ {
		home, _ := folders(t, before, "-")
		system := faults.New(n, true)
		_ = config.Set(system, home, "default_platform", "claude")
		if system.Count() < n {
			return
		}
		if data, _ := os.ReadFile(config.Path(home)); string(data) != before && string(data) != after {
			t.Errorf("kill at write %d: the file has the content %q", n, data)
		}
		if err := config.Set(files.Disk{}, home, "default_platform", "claude"); err != nil {
			t.Fatal(err)
		}
		if entries, _ := os.ReadDir(filepath.Join(home, ".aam")); len(entries) != 1 {
			t.Errorf("kill at write %d: the next call leaves the files %v", n, entries)
		}
	}
}

func TestSetLeavesFileUnchangedAfterFailureAtEachWrite(t *testing.T) {
	const before = "default_platform: cursor\n"
	for n := 1; ; n++ {
		home, _ := folders(t, before, "-")
		system := faults.New(n, false)
		err := config.Set(system, home, "default_platform", "claude")
		if system.Count() < n {
			return
		}
		data, _ := os.ReadFile(config.Path(home))
		entries, _ := os.ReadDir(filepath.Join(home, ".aam"))
		if strings.HasPrefix(system.Operations()[n-1], "sync directory") && string(data) != before {
			continue // only the sync of the directory failed, after the file was renamed
		}
		if err == nil || string(data) != before || len(entries) != 1 {
			t.Errorf("failure of write %d: error %v, content %q, files %v", n, err, data, entries)
		}
	}
}

// FuzzLayer checks that Set on a valid file either changes only the one setting or changes nothing.
func FuzzLayer(f *testing.F) {
	for _, text := range []string{"", "- 1", "a: &x 1\nb: *x", "security: {require_checksum: no}\nregistries: [{name: a, url: b, x: y}]", "<<: {default_platform: x}", "author: &a\n  name: ~\npublish: *a", "? a\n: b"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		home, dir := folders(t, string(data), "-")
		before, _, err := config.Load(files.Disk{}, home, dir)
		if err != nil {
			return
		}
		if err := config.Set(files.Disk{}, home, "author.email", "new"); err != nil {
			if after, _, again := config.Load(files.Disk{}, home, dir); again != nil || !cmp.Equal(before, after) {
				t.Errorf("Set returned %v, but changed the file: %v", err, again)
			}
			return
		}
		after, _, err := config.Load(files.Disk{}, home, dir)
		if err != nil {
			t.Fatalf("the changed file does not load: %v", err)
		}
		email := "new"
		before.Author.Email = &email
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%q: another setting changed (-before +after)\n%s", data, diff)
		}
	})
}
