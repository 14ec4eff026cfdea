package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
)

// envProject names the project where no option does.
const envProject = "BULKHEAD_PROJECT"

// findPlaces says what the variables in paths stand for.
func findPlaces(o Options) (config.Places, error) {
	s := o.System
	p := config.Places{Cwd: s.Dir, Home: home(s)}
	if p.State = stateDir(s); p.State != "" {
		if err := ownedpath.Check(p.State); err != nil {
			p.State, p.NoState = "", ownedpath.Explain(err)
		}
	}
	named, by := o.Project, "--project"
	if named == "" {
		named, by = s.getenv(envProject), "$"+envProject
	}
	if named == "" {
		p.Project, p.NoProject = nearestProject(p)
		return p, nil
	}
	dir, err := folder(s.absolute(named))
	if err != nil {
		return p, usage("%s: %w", by, err)
	}
	if p.Broad(dir) {
		return p, usage("%s: %s is no project: everything in it would be granted; name a folder in it, or grant it to a plugin in %s", by, dir, config.FileName)
	}
	p.Project = dir
	return p, nil
}

// nearestProject is the repository around the working directory, else the working directory. Desktop
// clients start their servers in the root or the home folder: neither is ever a project.
func nearestProject(p config.Places) (dir, whyNone string) {
	if top, ok := git.TopLevel(p.Cwd); ok && !p.Broad(top) {
		return top, ""
	}
	if !p.Broad(p.Cwd) {
		return p.Cwd, ""
	}
	return "", fmt.Sprintf("the working directory, %s, is no project: pass --project DIR or set %s", p.Cwd, envProject)
}

// folder resolves the links in the path of a folder that must be there.
func folder(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		if os.IsNotExist(err) {
			return "", fmt.Errorf("%s: there is no such folder", path)
		}
		// The error names a part of the path, or nothing at all.
		if part := (*fs.PathError)(nil); errors.As(err, &part) {
			err = part.Err
		}
		return "", fmt.Errorf("%s: %w", path, err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", path)
	}
	return real, nil
}

// home is the user's home folder, "" if there is none that can be found.
func home(s System) string {
	dir := s.getenv("HOME")
	if dir == "" {
		if u, err := user.Current(); err == nil {
			dir = u.HomeDir
		}
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// baseDir is a folder of the XDG base directory specification: the variable's value if it is absolute,
// else the default below the home folder.
func baseDir(s System, variable, home, otherwise string) string {
	if dir := s.getenv(variable); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, otherwise)
}

// stateDir holds the plugins' state folders and what the user trusts; "" where there is no place for it.
func stateDir(s System) string {
	dir := baseDir(s, "XDG_STATE_HOME", home(s), ".local/state")
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "bulkhead")
}

// StateDir is where the host of a process keeps the plugins' state folders and what the user trusts; "" where
// there is no place for it. The error says why it is not used.
func StateDir(s System) (string, error) {
	s, err := s.complete()
	if err != nil {
		return "", err
	}
	dir := stateDir(s)
	if dir == "" {
		return "", nil
	}
	return dir, ownedpath.Check(dir)
}

// CacheDir is where the host of a process keeps compiled modules; "" where there is no place for it. The error
// says why it is not used: what it holds is native code, so it has to be the user's own.
func CacheDir(s System) (string, error) {
	s, err := s.complete()
	if err != nil {
		return "", err
	}
	dir := cacheDir(s)
	if dir == "" {
		return "", nil
	}
	return dir, ownedpath.Check(dir)
}

func cacheDir(s System) string {
	otherwise := ".cache"
	if runtime.GOOS == "darwin" {
		otherwise = "Library/Caches"
	}
	dir := baseDir(s, "XDG_CACHE_HOME", home(s), otherwise)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "bulkhead")
}

// openStore opens the store of compiled code. Without a cache directory modules are compiled into a private one.
func openStore(o Options) (*code.Store, error) {
	c := code.Config{Dir: cacheDir(o.System), Compiler: reexec.Command(reexec.Compiler), Log: o.Log}
	if c.Dir == "" {
		o.Log.Warn("compiled modules are not kept: there is neither $XDG_CACHE_HOME nor a home folder")
		return code.Open(c)
	}
	if err := ownedpath.Make(c.Dir); err != nil {
		level := hclog.Warn
		if errors.As(err, new(*ownedpath.Error)) {
			level = hclog.Error // nothing is read there either: what it holds is native code
		}
		o.Log.Log(level, "compiled modules are not kept", "reason", ownedpath.Explain(err))
		c.Dir = ""
		return code.Open(c)
	}
	store, err := code.Open(c)
	if err != nil {
		o.Log.Warn("compiled modules are not kept", "reason", err)
		c.Dir = ""
		return code.Open(c)
	}
	return store, nil
}
