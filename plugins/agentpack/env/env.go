// Package env is what a call finds around it: the time, the home folder, the working directory and
// variables. They come in as a value, so that the rest of agentpack reads none of them by itself.
package env

import (
	"path/filepath"
	"strings"
	"time"
)

// Env is the surroundings of one call.
type Env struct {
	Now  time.Time // when the call began
	Home string    // the user's home folder; "" if it is not known
	Cwd  string    // the working directory, absolute and without links
	// Var returns a variable; "" if it is not set.
	Var func(name string) string
}

// Data is the folder in which agentpack keeps its data: AGENTPACK_HOME, else ~/.agentpack.
func (e Env) DataDir() string {
	if named := e.Var("AGENTPACK_HOME"); named != "" {
		return e.AbsolutePath(named)
	}
	return e.AbsolutePath("~/.agentpack")
}

// Repo is the config repo: the one named by a caller, which is relative to the working directory, else the
// one in Data. What a caller names is taken as it is, "~" included.
func (e Env) RepoDir(named string) string {
	switch {
	case named == "":
		return filepath.Join(e.DataDir(), "repo")
	case filepath.IsAbs(named):
		return filepath.Clean(named)
	}
	return filepath.Join(e.Cwd, named)
}

// Snapshots is the folder of snapshots.
func (e Env) SnapshotDir() string { return filepath.Join(e.DataDir(), "state", "snapshots") }

// GitCache is the folder of checkouts of modules that come from git.
func (e Env) GitCacheDir() string { return filepath.Join(e.DataDir(), "cache", "git") }

// Absolute puts the home folder in the place of a leading "~/", and the working directory before what is
// relative. A bare "~" is a name like any other.
func (e Env) AbsolutePath(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(e.Home, rest)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(e.Cwd, path)
}

// Sync tells whether files are to be on the disk, and not only in the system's memory, before they take
// the place of others: AGENTPACK_FSYNC.
func (e Env) Sync() bool {
	switch strings.ToLower(strings.TrimSpace(e.Var("AGENTPACK_FSYNC"))) {
	case "1", "true", "yes", "y", "on":
		return true
	}
	return false
}
