package client

import (
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
