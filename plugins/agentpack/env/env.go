// Package env describes the environment of a call: time, home directory, working directory, variables, project and
// machine. Env is passed as a value, so that other packages read no global state. DetectProject and MachineID return
// the ids of project and machine, which select overlays. The remaining functions return agentpack's directories and
// file names.
package env

import (
	"path/filepath"
	"strings"
	"time"
)

// Env is the environment of one call.
type Env struct {
	Now  time.Time // start of the call
	Home string    // the user's home directory; "" if unknown
	Cwd  string    // the working directory, absolute, with symbolic links resolved
	// Var returns an environment variable; "" if it is unset.
	Var func(name string) string
}

// DataDir returns agentpack's data directory: AGENTPACK_HOME, or ~/.agentpack.
func (e Env) DataDir() string {
	if named := e.Var("AGENTPACK_HOME"); named != "" {
		return e.AbsolutePath(named)
	}
	return e.AbsolutePath("~/.agentpack")
}

// RepoDir returns the directory of the config repo. If named is not "", it is the path that is resolved against the
// working directory without expansion of "~"; otherwise RepoDir returns the directory "repo" in DataDir.
func (e Env) RepoDir(named string) string {
	switch {
	case named == "":
		return filepath.Join(e.DataDir(), "repo")
	case filepath.IsAbs(named):
		return filepath.Clean(named)
	}
	return filepath.Join(e.Cwd, named)
}

// SnapshotDir returns the directory of snapshots.
func (e Env) SnapshotDir() string { return filepath.Join(e.DataDir(), "state", "snapshots") }

// GitCacheDir returns the directory of checkouts of git modules.
func (e Env) GitCacheDir() string { return filepath.Join(e.DataDir(), "cache", "git") }

// AbsolutePath expands a leading "~/" and makes a relative path absolute. A bare "~" is not expanded.
func (e Env) AbsolutePath(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(e.Home, rest)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(e.Cwd, path)
}
