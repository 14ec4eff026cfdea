package publish

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	inprocess "github.com/google/go-containerregistry/pkg/registry"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
)

func TestMain(m *testing.M) {
	host.RunChild()
	testenv.UseMemoryUnlessAll()
	os.Exit(m.Run())
}

const manifestText = `manifest = 1
[plugin]
name = "hand"
version = "1.2.3"
description = "Made by hand."
license = "MIT"
[module]
file = "hand.wasm"
[build]
command = ["cp", "lib/module.bin", "hand.wasm"]
[[tools]]
name = "one"
description = "does it"
access = "read"
`

// newSource writes the source of a plugin.
func newSource(t *testing.T, more map[string]string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the plugin's build command is cp")
	}
	files := map[string]string{
		"plugin.toml": manifestText, "README.md": "# Hand\n", "LICENSE": "MIT\n", "lib/module.bin": string(wasmtest.Answering(`{"result":{"tools":["one"],"prompts":false,"resources":false,"completions":false}}`)),
		"lib/z.c": "z", "lib/.cache": "hidden", ".git/HEAD": "hidden", "dist/x": "output", "node_modules/x": "output", "tests/a.toml": "",
	}
	for name, content := range more {
		files[name] = content
	}
	return testenv.Tree(t, files)
}

// run publishes a plugin with a key below home, and builds into out.
func run(t *testing.T, dir, ref, home string) (*Published, error) {
	t.Helper()
	return Publish(t.Context(), Options{Dir: dir, Ref: ref, Key: filepath.Join(home, "config", "signing.key"), Build: build.Options{Out: filepath.Join(t.TempDir(), "built")},
		Password: func() (string, error) { return "", errors.New("asked for a password") }, Client: &registry.Client{}})
}

func TestPublishToDirectory(t *testing.T) {
	dir, home, out := newSource(t, nil), t.TempDir(), filepath.Join(t.TempDir(), "new", "out")
	p, err := run(t, dir, "file:"+out, home)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(out, "hand-1.2.3.plugin.tar")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	files, err := archive.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]string{}
	for _, f := range files {
		content[f.Name] = string(f.Data)
	}
	module := content["hand.wasm"]
	wantSources := ""
	for _, name := range []string{"LICENSE", "README.md", "lib/module.bin", "lib/z.c", "plugin.toml", "tests/a.toml"} {
		source, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		wantSources += fmt.Sprintf("%x  %s\n", sha256.Sum256(source), name)
	}
	if diff := cmp.Diff(wantSources, content["sources.sha256"]); diff != "" {
		t.Error(diff)
	}
	if content["README.md"] != "# Hand\n" || content["LICENSE"] != "MIT\n" || !strings.Contains(content["plugin.toml"], userfile.Digest([]byte(module))) || len(files) != 6 {
		t.Errorf("got %v", p.Files)
	}
	text, err := os.ReadFile(file + ".minisig")
	if err != nil {
		t.Fatal(err)
	}
	s, err := signature.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	key, err := signature.ParseKey(p.Signer)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Verify(bytes.NewReader(data), key); err != nil || got != key || s.Comment() != "hand 1.2.3 plugin.toml sha256:"+userfile.Digest([]byte(content["plugin.toml"])) {
		t.Errorf("got %v, %v, %q", got, err, s.Comment())
	}
	want := &Published{Name: "hand", Version: "1.2.3", From: "file:" + file + "#sha256=" + userfile.Digest(data), Manifest: userfile.Digest([]byte(content["plugin.toml"])),
		Archive: userfile.Digest(data), Size: len(data), Signer: key.String(), KeyFile: filepath.Join(home, "config", "signing.key"), NewKey: true,
		Files: []string{"plugin.toml", "hand.wasm", "LICENSE", "README.md", "sbom.cdx.json", "sources.sha256"}, Entry: p.Entry}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
	if program, err := exec.LookPath("sha256sum"); err == nil {
		check := exec.Command(program, "-c", "-")
		check.Dir, check.Stdin = dir, strings.NewReader(content["sources.sha256"])
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("sha256sum: %v: %s", err, out)
		}
	}
}

func TestPublishTwiceGivesSameBytes(t *testing.T) {
	home, out := t.TempDir(), [2]string{t.TempDir(), t.TempDir()}
	var got [2]*Published
	for i, dir := range []string{newSource(t, nil), newSource(t, map[string]string{".hidden": "differs", "dist/x": "differs"})} {
		var err error
		if got[i], err = run(t, dir, "file:"+out[i], home); err != nil {
			t.Fatal(err)
		}
	}
	if !got[0].NewKey || got[1].NewKey || got[0].Archive != got[1].Archive || got[0].Signer != got[1].Signer {
		t.Errorf("got %+v and %+v", got[0], got[1])
	}
	if diff := cmp.Diff(testenv.ReadFiles(t, out[0]), testenv.ReadFiles(t, out[1])); diff != "" {
		t.Errorf("the files differ: %s", diff)
	}
	dir := newSource(t, nil) // published to a directory in itself
	for range 2 {
		if p, err := run(t, dir, "file:"+filepath.Join(dir, "out"), home); err != nil || p.Archive != got[0].Archive {
			t.Errorf("got %+v, %v", p, err)
		}
	}
}

// TestPublishedFilesAreNoSources leaves what was published in the directory of the source, and publishes elsewhere: the archive is the same.
func TestPublishedFilesAreNoSources(t *testing.T) {
	dir, host := newSource(t, nil), newRegistry(t)
	key := filepath.Join(dir, "release.key")
	push := func(ref, list string) *Published {
		t.Helper()
		p, err := Publish(t.Context(), Options{Dir: dir, Ref: ref, Key: key, Catalogue: list, Build: build.Options{Out: filepath.Join(t.TempDir(), "built")}, Client: &registry.Client{}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	out := filepath.Join(dir, "out")
	list := filepath.Join(out, "list.toml")
	first := push("file:"+out, list)
	mustRevoke(t, RevokeOptions{File: filepath.Join(dir, "revoked"), Key: filepath.Join(dir, "revoke.key"), Client: &registry.Client{}})
	for range 2 {
		for _, again := range []*Published{push(host+"/team/hand", ""), push("file:"+t.TempDir(), ""), push("file:"+out, list), push("file:"+dir, "")} {
			if again.Archive != first.Archive {
				t.Errorf("published to %s, the archive is another one", again.From)
			}
		}
		if err := os.Remove(list + signature.Extension); err != nil { // as if it had been edited
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"lib/catalogue.toml": "catalogue = 1\n", "lib/revocations.toml": "# serial\n", "lib/x.minisigs": "", "lib/short": "untrusted", "lib/large.toml": "#" + strings.Repeat("x", 1<<20)} {
		testenv.WriteFile(t, filepath.Join(dir, name), text)
		before := first.Archive
		if first = push("file:"+out, ""); first.Archive == before {
			t.Errorf("%s is no source", name)
		}
	}
}

func TestPublishSaysWhatDiffers(t *testing.T) {
	host, home, dir := newRegistry(t), t.TempDir(), newSource(t, nil)
	repository := host + "/team/hand"
	if _, err := run(t, dir, repository, home); err != nil {
		t.Fatal(err)
	}
	_, err := run(t, dir, repository, t.TempDir())
	hosttest.WantUsage(t, err, "the archive is the same, and is signed with another key there")
	for name, text := range map[string]string{"lib/z.c": "changed", "lib/new.c": "new", "README.md": "# Other\n"} {
		testenv.WriteFile(t, filepath.Join(dir, name), text)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "LICENSE")), os.Remove(filepath.Join(dir, "tests", "a.toml"))); err != nil {
		t.Fatal(err)
	}
	_, err = run(t, dir, repository, home)
	hosttest.WantUsage(t, err, "has another artifact under this version", "change the version in plugin.toml\n  compared with what is published:\n  LICENSE is missing now\n  README.md has changed\n  sources.sha256 has changed\n",
		"\n  sources.sha256: lib/new.c is new\n  sources.sha256: lib/z.c has changed\n  sources.sha256: tests/a.toml is missing now")
}

func TestDifferencesAreBoundedAndVisible(t *testing.T) {
	list := func(sources string) []byte {
		data, err := archive.Encode([]archive.File{{Name: sourcesFile, Data: []byte(sources)}})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "%064x  file\x1b[31m%d\n", i, i)
	}
	all := differences(list(many.String()), list("x"))
	if len(all) != 12 || all[11] != sourcesFile+": and 990 more" || strings.Contains(strings.Join(all, ""), "\x1b") {
		t.Errorf("got %q", all)
	}
	if got := differences([]byte("x"), list("x")); len(got) != 1 || !strings.Contains(got[0], "is not the archive of a plugin") {
		t.Errorf("got %q", got)
	}
}

func TestPublishWarnsOfTemplate(t *testing.T) {
	dir := newSource(t, map[string]string{"plugin.toml": strings.NewReplacer("Made by hand.", "Greets people: replace this with what the plugin does.", "license = \"MIT\"\n", "").Replace(manifestText)})
	testenv.WriteFile(t, filepath.Join(dir, "README.md"), "The last command prints `Hello, Ada!`.")
	if err := os.Remove(filepath.Join(dir, "LICENSE")); err != nil {
		t.Fatal(err)
	}
	p, err := run(t, dir, "file:"+t.TempDir(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.Warnings, "\n"); len(p.Warnings) != 3 || !strings.Contains(got, "description") || !strings.Contains(got, "README.md") || !strings.Contains(got, "licence") {
		t.Errorf("got %q", p.Warnings)
	}
	testenv.WriteFile(t, filepath.Join(dir, "LICENSE.txt"), "MIT")
	if p, err = run(t, dir, "file:"+t.TempDir(), t.TempDir()); err != nil || len(p.Warnings) != 2 {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestPublishToRegistry(t *testing.T) {
	server := httptest.NewServer(inprocess.New(inprocess.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	repository := "oci://" + strings.TrimPrefix(server.URL, "http://") + "/team/hand"
	dir, home := newSource(t, nil), t.TempDir()
	p, err := run(t, dir, repository, home)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(p.From, repository+":1.2.3@sha256:") {
		t.Errorf("got %s", p.From)
	}
	ref, err := registry.Parse(p.From)
	if err != nil {
		t.Fatal(err)
	}
	got, err := (&registry.Client{}).Pull(t.Context(), ref)
	if err != nil || got.Title != "hand" || got.Version != "1.2.3" || userfile.Digest(got.Content) != p.Archive {
		t.Fatalf("got %v", err)
	}
	s, err := signature.Parse(got.Signature)
	if err != nil {
		t.Fatal(err)
	}
	if key, ok := s.ClaimedKey(); !ok || key.String() != p.Signer {
		t.Errorf("claims the key %v", key)
	}
	if again, err := run(t, dir, repository, home); err != nil || again.From != p.From {
		t.Errorf("the same again: got %v, %v", again, err)
	}
	for tag, want := range map[string]string{":latest": "", ":v1.2.3": "", ":1.2.4": "names another version than plugin.toml, which has 1.2.3"} {
		if _, err := run(t, dir, repository+tag, home); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", tag, err, want)
		}
	}
	changed := newSource(t, map[string]string{"lib/z.c": "changed"})
	if _, err := run(t, changed, repository, home); err == nil || !strings.Contains(err.Error(), "has another artifact under this version") {
		t.Errorf("got %v", err)
	}
}

func TestPublishRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		ref    string
		want   string
	}{
		"a reference without a scheme":   {nil, "out", `"out" is neither oci://REGISTRY/NAME nor file:DIRECTORY`},
		"a web server":                   {nil, "https://a.example/x", "is neither oci://REGISTRY/NAME nor file:DIRECTORY"},
		"a file on a host":               {nil, "file://a.example/x", "write file:DIRECTORY"},
		"no directory":                   {nil, "file:", "write file:DIRECTORY"},
		"a repository that is not valid": {nil, "oci://a.example/Notes", "has a repository that is not valid"},
		"a digest":                       {nil, "oci://a.example/notes@sha256:" + strings.Repeat("0", 64), "names a digest"},
		"a module with other handlers":   {writing("plugin.toml", strings.Replace(manifestText, `"one"`, `"two"`, 1)), "", "two"},
		"a manifest with a fault":        {writing("plugin.toml", manifestText+"unknown = 1\n"), "", "is not a known key"},
		"a symbolic link":                {linking("lib/link"), "", "lib/link is no regular file"},
		"a name with a line break":       {writing("lib/a\nb", ""), "", "has a name that the list of digests cannot contain"},
		"a name with a backslash":        {writing(`lib/a\b`, ""), "", "has a name that the list of digests cannot contain"},
		"names that differ by case":      {writing("LICENSE-a", "a", "LICENSE-A", "A"), "", "differ only in upper and lower case"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, home, out := newSource(t, nil), t.TempDir(), t.TempDir()
			if c.change != nil {
				c.change(t, dir)
			}
			if c.ref == "" {
				c.ref = "file:" + out
			}
			if _, err := run(t, dir, c.ref, home); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if _, err := os.Stat(filepath.Join(home, "config")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a key was made: %v", err)
			}
			if entries, err := os.ReadDir(out); err != nil || len(entries) > 0 {
				t.Errorf("got %v, %v in the directory", entries, err)
			}
		})
	}
}

func writing(files ...string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		for pair := range slices.Chunk(files, 2) {
			testenv.WriteFile(t, filepath.Join(dir, pair[0]), pair[1])
		}
	}
}

func linking(name string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		if err := os.Symlink("z.c", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPublishBuiltPlugin publishes the output of a build, which has no sources.
func TestPublishBuiltPlugin(t *testing.T) {
	built, err := build.Build(t.Context(), newSource(t, nil), build.Options{Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := run(t, built.Dir, "file:"+t.TempDir(), t.TempDir())
	if want := []string{"plugin.toml", "hand.wasm", "LICENSE", "README.md", "sbom.cdx.json"}; err != nil || !slices.Equal(p.Files, want) {
		t.Errorf("got %v, %v", p, err)
	}
}

func TestBillOfMaterialsOfGoModule(t *testing.T) {
	info := &debug.BuildInfo{Path: "example.com/notes", Deps: []*debug.Module{
		{Path: "example.com/Upper", Version: "v1.0.0"},
		{Path: "example.com/forked", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.1.0"}},
		{Path: "example.com/local", Version: "v1.0.0", Replace: &debug.Module{Path: "/home/ada/local"}},
	}}
	module := "\x00asm0w\xaf\f\x92t\b\x02A\xe1\xc1\a\xe6\xd6\x18\xe6" + info.String() + "\xf92C1\x86\x18 r\x00\x82B\x10A\x16\xd8\xf2rest"
	got := buildInfo([]byte(module))
	if got == nil {
		t.Fatal("found no build information")
	}
	want := []component{
		{Type: "library", Ref: "example.com/Upper@v1.0.0", Name: "example.com/Upper", Version: "v1.0.0", PURL: "pkg:golang/example.com/upper@v1.0.0"},
		{Type: "library", Ref: "example.com/fork@v1.1.0", Name: "example.com/fork", Version: "v1.1.0", PURL: "pkg:golang/example.com/fork@v1.1.0"},
		{Type: "library", Ref: "example.com/local@v1.0.0", Name: "example.com/local", Version: "v1.0.0"},
		{Type: "library", Ref: "std@1.26.1", Name: "std", Version: "1.26.1", PURL: "pkg:golang/std@1.26.1"},
	}
	if diff := cmp.Diff(want, goComponents(got, "1.26.1")); diff != "" {
		t.Error(diff)
	}
	for _, module := range []string{"", "0w\xaf\f\x92t\b\x02A\xe1\xc1\a\xe6\xd6\x18\xe6without end"} {
		if buildInfo([]byte(module)) != nil {
			t.Errorf("found build information in %q", module)
		}
	}
}

func TestBillOfMaterialsSaysWhatIsUnknown(t *testing.T) {
	dir, out := newSource(t, nil), t.TempDir()
	if _, err := run(t, dir, "file:"+out, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(out, "hand-1.2.3.plugin.tar"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := archive.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(files, func(f archive.File) bool { return f.Name == sbomFile })
	var got bill
	if err := json.Unmarshal(files[i].Data, &got); err != nil {
		t.Fatal(err)
	}
	self := got.Metadata.Component
	if got.Format != "CycloneDX" || self.Name != "hand" || self.Version != "1.2.3" || self.Licenses[0].Expression != "MIT" || len(self.Hashes) != 1 ||
		len(got.Components) != 0 || got.Compositions[0].Aggregate != "unknown" {
		t.Errorf("got %+v", got)
	}
}
