//go:build unix

package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// packageUser is a user with an empty home directory, whose PATH contains only the programs that are named, and no Go.
type packageUser struct {
	t              *testing.T
	files, version string // directory of the release, and its version
	home, bin, dir string
	env            []string
}

func newPackageUser(t *testing.T, programs ...string) *packageUser {
	t.Helper()
	testenv.All(t, "builds a release")
	t.Parallel()
	u := &packageUser{t: t, home: newDir(t, nil), bin: newDir(t, nil), dir: newDir(t, nil)}
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err == nil && name == "python3" { // which may be a script that needs others
			var out []byte
			out, err = exec.CommandContext(t.Context(), path, "-c", "import sys; print(sys.executable)").Output()
			path = strings.TrimSpace(string(out))
		}
		if err != nil {
			t.Skipf("NOT TESTED: %v", err)
		}
		if err := os.Symlink(path, filepath.Join(u.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	archive, version := releaseArchive(t)
	u.files, u.version = filepath.Dir(archive), version
	u.env = []string{"HOME=" + u.home, "PATH=" + u.bin, "npm_config_offline=true", "npm_config_audit=false", "npm_config_fund=false", "npm_config_update_notifier=false"}
	return u
}

func (u *packageUser) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(u.t.Context(), name, args...)
	if path := filepath.Join(u.bin, name); filepath.Base(name) == name {
		cmd.Path, cmd.Err = path, nil
	}
	cmd.Dir, cmd.Env = u.dir, u.env
	return cmd
}

func (u *packageUser) run(name string, args ...string) string {
	u.t.Helper()
	out, err := u.command(name, args...).CombinedOutput()
	if err != nil {
		u.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// checkProgram runs the program, which must find the plugins that are beside it.
func (u *packageUser) checkProgram(name string, args ...string) {
	u.t.Helper()
	if got := u.run(name, append(args, "version")...); !strings.Contains(got, "bulkhead v"+u.version+", commit ") {
		u.t.Errorf("%s: version: %q", name, got)
	}
	if got := u.run(name, append(args, "call", "get_current_time", "--no-config", "--plugin", "time", "--arg", "timezone=UTC")...); !strings.Contains(got, `"timezone": "UTC"`) {
		u.t.Errorf("%s: get_current_time: %q", name, got)
	}
}

func (u *packageUser) file(pattern string) string {
	u.t.Helper()
	found, err := filepath.Glob(filepath.Join(u.files, pattern))
	if err != nil || len(found) != 1 {
		u.t.Fatalf("the release has the files %q for %s: %v", found, pattern, err)
	}
	return found[0]
}

// TestNPMPackagesStartWithoutGo starts the program by npx from the file of the platform's package, as a client would, and by the package that
// depends on it.
func TestNPMPackagesStartWithoutGo(t *testing.T) {
	u := newPackageUser(t, "node", "npm", "npx", "sh")
	carrier, launcher := u.file("bulkhead_"+u.version+"_"+runtime.GOOS+"_"+runtime.GOARCH+".npm.tgz"), u.file("bulkhead_"+u.version+".npm.tgz")
	npx := []string{"--yes", "--package", carrier, "--", "bulkhead"}
	u.checkProgram("npx", npx...)
	client := connectGoSDK(t, u.command("npx", append(npx, "serve", "--no-config", "--plugin", "time")...), "", make(chan string, 100))
	if text, isError, err := client.call(t.Context(), "get_current_time", map[string]any{"timezone": "UTC"}); err != nil || isError || !strings.Contains(text, "UTC") {
		t.Errorf("get_current_time: %q (error: %t) %v", text, isError, err)
	}
	u.run("npm", "install", "--no-save", carrier, launcher)
	u.checkProgram("node", filepath.Join("node_modules", "bulkhead-mcp", "bulkhead.js"))
	if out, err := u.command("node", filepath.Join("node_modules", "bulkhead-mcp", "bulkhead.js"), "call", "absent", "--no-config").CombinedOutput(); err == nil {
		t.Errorf("an unknown tool is no error: %s", out)
	}
}

// TestWheelStartsWithoutGo installs the wheel of the platform into a virtual environment, as pipx and uvx do.
func TestWheelStartsWithoutGo(t *testing.T) {
	u := newPackageUser(t, "python3", "sh")
	if out, err := u.command("python3", "-m", "venv", "environment").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: no virtual environment: %v\n%s", err, out)
	}
	python := filepath.Join(u.dir, "environment", "bin", "python")
	u.run(python, "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", u.file("bulkhead_mcp-*.whl"))
	for _, name := range []string{"bulkhead", "bulkhead-mcp"} {
		u.checkProgram(filepath.Join(u.dir, "environment", "bin", name))
	}
	if out := u.run(python, "-m", "pip", "--disable-pip-version-check", "check"); !strings.Contains(out, "No broken requirements") {
		t.Errorf("pip check: %s", out)
	}
}

// TestInstallerOfReleaseInstalls runs the script on the files of a release.
func TestInstallerOfReleaseInstalls(t *testing.T) {
	sums := "sha256sum"
	if _, err := exec.LookPath(sums); err != nil {
		sums = "shasum"
	}
	u := newPackageUser(t, "sh", "uname", "mkdir", "mktemp", "dirname", "cp", "rm", "mv", "ln", "cut", "cat", "tar", "gzip", sums)
	u.run("sh", u.file("install.sh"), "--from", u.files)
	u.checkProgram(filepath.Join(u.home, ".local", "bin", "bulkhead"))
}
