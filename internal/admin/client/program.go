package client

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

// stableProgram returns a path of this program that remains valid after an upgrade. The result of os.Executable becomes invalid: a
// package manager installs each version in a directory of its own and changes a symbolic link in PATH to it, and os.Executable
// returns the path with links resolved. stableProgram returns the first path in PATH that resolves to this program. If there is
// none, it returns the path by which the program was started (argv0), or else the result of os.Executable.
func stableProgram(argv0, path string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return stableName(self, argv0, path)
}

// stableName implements stableProgram for the program at self.
func stableName(self, argv0, path string) (string, error) {
	info, err := os.Stat(self)
	if err != nil {
		return "", err
	}
	if parent := filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(self)))); strings.HasPrefix(parent, "go-build") {
		return "", usage.Errorf("%s is a temporary file of `go run`: build the program with `go build ./cmd/bulkhead`, and run that", self)
	}
	var candidates []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			candidates = append(candidates, filepath.Join(dir, filepath.Base(argv0)))
		}
	}
	if found, err := exec.LookPath(argv0); err == nil {
		if found, err = filepath.Abs(found); err == nil {
			candidates = append(candidates, found)
		}
	}
	for _, candidate := range candidates {
		if other, err := os.Stat(candidate); err == nil && os.SameFile(info, other) {
			return candidate, nil
		}
	}
	return self, nil
}

// runner is a program that runs packages without installing them, from a cache of its own.
type runner struct{ name, install, command string }

var runners = map[string]runner{
	"npx":  {"npx", "npm install --global bulkhead-mcp", "npx -y bulkhead-mcp serve"},
	"pnpm": {"pnpm dlx", "pnpm add --global bulkhead-mcp", "pnpm dlx bulkhead-mcp serve"},
	"bun":  {"bunx", "bun add --global bulkhead-mcp", "bunx bulkhead-mcp serve"},
	"uv":   {"uvx", "uv tool install bulkhead-mcp", "uvx bulkhead-mcp serve"},
	"pipx": {"pipx run", "pipx install bulkhead-mcp", "pipx run bulkhead-mcp serve"},
}

// Warning returns why entries may stop working that start this program: it is in the cache of a runner of packages. Empty: nothing is known.
func (s System) Warning() string {
	for _, path := range []string{s.Program, resolved(s.Program)} {
		if r, ok := runners[cachedBy(path)]; ok {
			return fmt.Sprintf("%s is in the cache of %s, and vanishes when that is cleared: install the program (`%s`), or write an entry that starts `%s`", path, r.name, r.install, r.command)
		}
	}
	return ""
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// cachedBy returns the key of the runner in whose cache a path is, by the names of directories there.
func cachedBy(path string) string {
	names := strings.Split(filepath.ToSlash(path), "/")
	for i, name := range names[:len(names)-1] {
		parent := ""
		if i > 0 {
			parent = names[i-1]
		}
		switch {
		case name == "_npx":
			return "npx"
		case strings.HasPrefix(name, "archive-v") || strings.HasPrefix(name, "environments-v"): // below a directory that UV_CACHE_DIR names
			return "uv"
		case strings.HasPrefix(name, "bunx-"):
			return "bun"
		case (name == "dlx" || strings.HasPrefix(name, "dlx-")) && strings.Contains(path, "pnpm"):
			return "pnpm"
		case name == "pipx" && (parent == ".cache" || parent == "Caches"), name == ".cache" && parent == "pipx":
			return "pipx"
		}
	}
	return ""
}

// sameProgram reports whether two paths resolve to the same program.
func sameProgram(a, b string) bool {
	if a == b {
		return true
	}
	infoA, err := os.Stat(a)
	if err != nil {
		return false
	}
	infoB, err := os.Stat(b)
	return err == nil && os.SameFile(infoA, infoB)
}
