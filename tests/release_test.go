//go:build unix

package tests

import (
	"archive/tar"
	"compress/gzip"
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
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// TestReleaseArchiveWorksInEmptyHome builds the release archive for this platform, unpacks it, and sets it up as a user
// without Go would: the client's configuration that results starts a server that answers a call.
func TestReleaseArchiveWorksInEmptyHome(t *testing.T) {
	testenv.All(t, "builds a release")
	t.Parallel()
	home, path := newDir(t, nil), newDir(t, nil) // path contains no program
	archive, version := releaseArchive(t)
	unpackRelease(t, archive, home)
	checkAllLinks(t, filepath.Join(home, "bulkhead"))
	program := filepath.Join(home, "bulkhead", "bulkhead")
	env := []string{"HOME=" + home, "PATH=" + path}
	project := newDir(t, map[string]string{goodFile: specText("pending", "Water the trees")})
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir, cmd.Env = project, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("bulkhead %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	if got := run("version"); !strings.HasPrefix(got, "bulkhead v"+version+", commit ") {
		t.Errorf("version: %q", got)
	}
	for _, plugin := range allPlugins {
		run("tools", "--no-config", "--plugin", plugin)
	}
	run("init", "--yes", "--plugin", "chant", "--plugin", "openspec")
	run("client", "add", "claude-code", "--project", project, "--yes")

	var file struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		}
	}
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(home, ".claude.json"))), &file); err != nil {
		t.Fatal(err)
	}
	entry, ok := file.MCPServers["bulkhead"]
	if !ok || entry.Command != program {
		t.Fatalf("the client's file has the entries %+v", file.MCPServers)
	}
	cmd := exec.CommandContext(t.Context(), entry.Command, entry.Args...)
	cmd.Dir, cmd.Env, cmd.Stderr = home, env, t.Output()
	for name, value := range entry.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	client := connectGoSDK(t, cmd, "", make(chan string, 100)) // the host reports the progress of compiling
	text, isError, err := client.call(t.Context(), "chant_status", map[string]any{"brief": true})
	if err != nil || isError || text != "1 pending" {
		t.Errorf("chant_status: %q (error: %t) %v", text, isError, err)
	}
}

// TestPluginsOfReleaseAreAddedByName signs a release, pushes its plugins to a registry, and adds one by its name in the release's catalogue.
func TestPluginsOfReleaseAreAddedByName(t *testing.T) {
	testenv.All(t, "builds a release")
	t.Parallel()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	repository := strings.TrimPrefix(server.URL, "http://") + "/ann/bulkhead"
	a := &author{machine: newMachine(t), registry: strings.TrimPrefix(server.URL, "http://")}
	a.key = a.path("home/signing.key")
	signer := a.push("time", strings.NewReplacer()).Signer // makes the key

	_, version := releaseArchive(t)
	files := newDir(t, nil)
	if err := os.CopyFS(files, os.DirFS(releaseFiles(t))); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"sign", "v" + version, "--key", a.key}, {"push", "v" + version}} {
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"run", "-C", "../.ci/release", "."}, append(args, "--out", files, "--registry", repository)...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	m := newMachine(t)
	catalogue := filepath.Join(files, "catalogue.toml")
	putFile(t, m.config, fmt.Sprintf("[sources]\ncatalogues = [{ from = %q, key = %q }]\n", catalogue, signer))
	if out := m.run(0, nil, "search"); strings.Contains(out, "warning") || strings.Count(out, "oci://"+repository+"/plugins/") < len(allPlugins) {
		t.Errorf("got %s", out)
	}
	m.run(0, nil, "add", "time@*", "--yes")
	if config := readFile(t, m.config); !containsAll(config, `from = "oci://`+repository+`/plugins/time:`, `signer = "`+signer+`"`) {
		t.Errorf("the config is\n%s", config)
	}
	if out := m.run(0, nil, "call", "get_current_time", `{"timezone":"UTC"}`); !strings.Contains(out, `"is_dst": false`) {
		t.Errorf("got %s", out)
	}

	// The program pushes the same artifact.
	cmd := a.command()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args = []string{cmd.Args[0], "plugin", "push", "oci://" + repository + "/plugins/time", filepath.Join(root, "plugins", "time"), "--key", a.key}
	cmd.Env = append(cmd.Env, goEnvironment(t)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// checkAllLinks checks the links of all pages below dir.
func checkAllLinks(t *testing.T, dir string) {
	t.Helper()
	pages := 0
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			pages++
			checkLinks(t, path, readFile(t, path))
		}
		return err
	})
	if err != nil || pages < 8 {
		t.Errorf("%d pages: %v", pages, err)
	}
}

// releaseArchive returns the path of the archive for this platform, and the version that its name contains.
func releaseArchive(t *testing.T) (path, version string) {
	t.Helper()
	dir, suffix := releaseFiles(t), "_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz"
	found, err := filepath.Glob(filepath.Join(dir, "bulkhead_*"+suffix))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s has the archives %q: %v", dir, found, err)
	}
	return found[0], strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "bulkhead_"), suffix)
}

// releaseFiles returns the directory with the files of a release for this platform: that which BULKHEAD_RELEASE names, such as one that is
// to be published, or one that is built from the checkout.
func releaseFiles(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("BULKHEAD_RELEASE"); dir != "" {
		return dir
	}
	testcache.DependOn(t, "..")
	testcache.DependOn(t, "../.ci/release")
	if text, err := exec.CommandContext(t.Context(), "git", "-C", "..", "rev-parse", "--verify", "HEAD").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: a release is built from a git checkout, and this is none: %v\n%s", err, text)
	}
	dir, err := buildRelease()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// buildRelease builds a release once. The release command reads the commit and the tracked files from git.
var buildRelease = sync.OnceValues(func() (string, error) {
	out := filepath.Join(scratch, "release")
	cmd := exec.Command("go", "run", "-C", "../.ci/release", ".", "v0.0.0-test", "--snapshot",
		"--platforms", runtime.GOOS+"/"+runtime.GOARCH, "--without", "deb,image,formula,sbom,ripgrep,script,sqlite", "--out", out)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the release: %w\n%s", err, text)
	}
	return out, nil
})

// unpackRelease unpacks an archive into dir.
func unpackRelease(t *testing.T, archive, dir string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	uncompressed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewReader(uncompressed)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, header.Name)
		if header.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, fs.FileMode(header.Mode)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, fs.FileMode(header.Mode)); err != nil {
			t.Fatal(err)
		}
	}
}
