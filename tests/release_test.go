//go:build unix

package tests

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// TestReleaseArchiveWorksInEmptyHome builds the release archive for this platform, unpacks it, and sets it up as a user
// without Go would: the client's configuration that results starts a server that answers a call.
func TestReleaseArchiveWorksInEmptyHome(t *testing.T) {
	testenv.All(t, "builds a release")
	t.Parallel()
	testcache.DependOn(t, "..")
	testcache.DependOn(t, "../.ci/release")
	home, path := newDir(t, nil), newDir(t, nil) // path contains no program
	unpackRelease(t, buildRelease(t), home)
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
	if got := run("version"); !strings.HasPrefix(got, "bulkhead v0.0.0-test, commit ") {
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

// buildRelease builds the archive of a release for this platform, and returns its path. The release command reads the commit and
// the tracked files from git.
func buildRelease(t *testing.T) string {
	t.Helper()
	if text, err := exec.CommandContext(t.Context(), "git", "-C", "..", "rev-parse", "--verify", "HEAD").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: a release is built from a git checkout, and this is none: %v\n%s", err, text)
	}
	out := filepath.Join(t.TempDir(), "release")
	platform := runtime.GOOS + "/" + runtime.GOARCH
	cmd := exec.CommandContext(t.Context(), "go", "run", "-C", "../.ci/release", ".", "v0.0.0-test", "--snapshot",
		"--platforms", platform, "--without", "deb,image,formula,sbom", "--out", out)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the release: %v\n%s", err, text)
	}
	return filepath.Join(out, "bulkhead_0.0.0-test_"+strings.ReplaceAll(platform, "/", "_")+".tar.gz")
}

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
