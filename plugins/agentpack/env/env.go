// Package env describes the environment of a call: time, home directory, working directory, environment variables,
// project and machine. Callers pass an Env as a value, so that other packages read no global state. DetectProject and
// MachineID return the ids of the project and the machine, which select overlays. The other functions return the
// directories and file names that agentpack uses.
package env

import (
	"path/filepath"
	"strings"
	"time"
)

// Env is the environment of one call of a tool.
type Env struct {
	Now  time.Time // the time at which the call started
	Home string    // the home directory of the user; "" if unknown
	Cwd  string    // the working directory, as an absolute path with symbolic links resolved
	// Var returns the value of an environment variable; "" if the variable is unset.
	Var func(name string) string
}

// DataDir returns agentpack's data directory: the value of AGENTPACK_HOME, or ~/.agentpack if that variable is unset.
func (e Env) DataDir() string {
	if named := e.Var("AGENTPACK_HOME"); named != "" {
		return e.AbsolutePath(named)
	}
	return e.AbsolutePath("~/.agentpack")
}

// RepoDir returns the directory of the config repo. If named is not "", RepoDir resolves named against the working
// directory, and does not expand "~". Otherwise it returns the directory repo in DataDir.
func (e Env) RepoDir(named string) string {
	switch {
	case named == "":
		return filepath.Join(e.DataDir(), "repo")
	case filepath.IsAbs(named):
		return filepath.Clean(named)
	}
	return filepath.Join(e.Cwd, named)
}

// SnapshotDir returns the directory that holds all snapshots.
func (e Env) SnapshotDir() string { return filepath.Join(e.DataDir(), "state", "snapshots") }

// GitCacheDir returns the directory that holds the checkouts of git modules.
func (e Env) GitCacheDir() string { return filepath.Join(e.DataDir(), "cache", "git") }

// AbsolutePath expands a leading "~/" in path, and makes a relative path absolute. It does not expand "~" alone.
func (e Env) AbsolutePath(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(e.Home, rest)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(e.Cwd, path)
}
