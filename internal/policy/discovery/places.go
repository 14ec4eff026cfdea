package discovery

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signedfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
)

// envProject is the variable that names the project if no option does.
const envProject = "BULKHEAD_PROJECT"

// FindPlaces returns what the variables in paths stand for in a host with these options.
func FindPlaces(o Options) (config.Places, error) {
	_, places, err := located(o)
	return places, err
}

// findPlaces implements FindPlaces for options whose System is complete.
func findPlaces(o Options) (config.Places, error) {
	s := o.System
	p := config.Places{Cwd: s.Dir, Home: home(s)}
	if p.State = stateDir(s); p.State != "" {
		if err := ownedpath.CheckState(p.State); err != nil {
			p.State, p.NoState = "", ownedpath.Explain(err)
		}
	}
	named, by := o.Project, "--project"
	if named == "" {
		named, by = s.getenv(envProject), "$"+envProject
	}
	if named == "" {
		p.Project, p.NoProject, p.Narrow = nearestProject(p)
		return p, nil
	}
	dir, err := folder(s.absolute(named))
	if err != nil {
		return p, usage.Errorf("%s: %w", by, err)
	}
	if p.Broad(dir) {
		return p, usage.Errorf("%s: %s cannot be the project, since everything in it would be granted: name a directory inside it, or grant it to a plugin in %s", by, dir, config.FileName)
	}
	p.Project = dir
	p.Around = around(p, dir)
	return p, nil
}

// around returns the value of Places.Around for the named project dir. What is named is the project, even if it is a part of a repository:
// the rest of the repository was not named.
func around(p config.Places, dir string) string {
	if top, ok := topLevel(dir); ok && top != dir && !p.Broad(top) && checkTopLevel(top, dir) == nil {
		return top
	}
	return ""
}

// nearestProject returns the repository that contains the working directory, else the working directory. Desktop clients
// start their servers in the root or the home directory: neither can be the project. If another user may have created the repository,
// whyNarrow says so.
func nearestProject(p config.Places) (dir, whyNone, whyNarrow string) {
	if top, ok := topLevel(p.Cwd); ok && !p.Broad(top) {
		err := checkTopLevel(top, p.Cwd)
		if err == nil {
			return top, "", ""
		}
		whyNarrow = fmt.Sprintf("the repository %s is not the project, since another user may have created it: %s; or pass --project %s if you trust it", top, ownedpath.Explain(err), visible.ShellWord(top))
	}
	if !p.Broad(p.Cwd) {
		return p.Cwd, "", whyNarrow
	}
	return "", fmt.Sprintf("the working directory, %s, cannot be the project: pass --project DIR or set %s", p.Cwd, envProject), ""
}

// folder returns the path of an existing directory with symbolic links resolved.
func folder(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		if os.IsNotExist(err) {
			return "", fmt.Errorf("%s: there is no such directory", path)
		}
		// The error may name only a part of the path, so its path is replaced by the complete one.
		return "", fmt.Errorf("%s: %w", path, usage.Cause(err))
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", path)
	}
	return real, nil
}

// home returns the user's home directory, "" if none can be determined.
func home(s System) string {
	dir := s.getenv("HOME")
	if dir == "" {
		if u, err := user.Current(); err == nil {
			dir = u.HomeDir
		}
	}
	return resolvedHome(dir)
}

// resolvedHome returns the path of a home directory, "" if the path is not absolute. Symbolic links are resolved if the directory
// exists.
func resolvedHome(dir string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// ownDir returns the host's directory below one of the XDG base directory specification: below the variable's value if that is
// absolute, else below the system's default; "" if there is no location for it.
func ownDir(s System, variable string, otherwise baseDefault) string {
	const name = "bulkhead"
	if dir := s.getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, name)
	}
	if dir := s.getenv(otherwise.variable); otherwise.variable != "" && filepath.IsAbs(dir) {
		return filepath.Join(dir, otherwise.belowVariable, name)
	}
	if home := home(s); home != "" {
		return filepath.Join(home, otherwise.belowHome, name)
	}
	return ""
}

// baseDefault is a directory of the system for data of the user.
type baseDefault struct {
	variable      string // environment variable with the path of a directory; empty if the system has none
	belowVariable string // path below the directory that the variable names
	belowHome     string // path below the home directory, if the variable is unset
}

// stateDir returns the directory of the plugins' state and of the trust records; "" if there is no location for it.
func stateDir(s System) string { return ownDir(s, "XDG_STATE_HOME", defaultState) }

// dataDir returns the directory of what was fetched; "" if there is no location for it.
func dataDir(s System) string { return ownDir(s, "XDG_DATA_HOME", defaultData) }

// storeIn returns the store of plugins that were fetched.
func storeIn(s System) store.Store {
	if dir := dataDir(s); dir != "" {
		return store.In(filepath.Join(dir, "plugins"))
	}
	return store.In("")
}

// Store returns the store of plugins that were fetched, which need not exist.
func Store(s System) (store.Store, error) {
	s, err := s.complete()
	return storeIn(s), err
}

// Catalogues returns the directory of the catalogues that were fetched, which need not exist; its path is empty if there is no location for it.
func Catalogues(s System) (signedfile.Dir, error) {
	s, err := s.complete()
	if dir := dataDir(s); dir != "" && err == nil {
		return signedfile.Dir{Path: filepath.Join(dir, "catalogues")}, nil
	}
	return signedfile.Dir{}, err
}

func cacheDir(s System) string { return ownDir(s, "XDG_CACHE_HOME", defaultCache) }

// StateDir returns the directory of the plugins' state and of the trust records; "" and no error if there is no
// location for it. The error says why an existing directory must not be used.
func StateDir(s System) (string, error) { return checkedDir(s, stateDir, ownedpath.CheckState) }

// NamedTokens returns the file of the user's named tokens.
func NamedTokens(s System) (bearer.File, error) {
	state, err := StateDir(s)
	if err != nil {
		return bearer.File{}, err
	}
	return bearer.In(state), nil
}

// CacheDir returns the directory of compiled modules; "" and no error if there is no location for it. The error says
// why the directory must not be used: it contains native code, so no other user may be able to change it.
func CacheDir(s System) (string, error) { return checkedDir(s, cacheDir, ownedpath.Check) }

// SigningKey returns the file of the user's private key for signing plugins. It is beside the user's config, which plugins cannot access.
func SigningKey(s System) (string, error) {
	dir, err := checkedDir(s, configDir, ownedpath.Check)
	if dir == "" && err == nil {
		err = errors.New("there is no directory for the user's configuration: set HOME or XDG_CONFIG_HOME")
	}
	return filepath.Join(dir, "signing.key"), err
}

func checkedDir(s System, of func(System) string, check func(dir string) error) (string, error) {
	s, err := s.complete()
	if err != nil {
		return "", err
	}
	dir := of(s)
	if dir == "" {
		return "", nil
	}
	return dir, check(dir)
}

// configDir returns the directory of the user's config, with symbolic links resolved; "" if there is no location for
// it. It is a subdirectory of os.UserConfigDir(), except that XDG_CONFIG_HOME applies on macOS too, as XDG_CACHE_HOME
// does.
func configDir(s System) string {
	dir := ownDir(s, "XDG_CONFIG_HOME", defaultConfig)
	if real, err := filepath.EvalSymlinks(dir); dir != "" && err == nil {
		return real
	}
	return dir
}
