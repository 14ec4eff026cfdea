package discovery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// envConfig is the variable that names the config if no option does.
const envConfig = "BULKHEAD_CONFIG"

// By is the reason why a config is in force. Lower values take precedence.
type By int

// The values of By.
const (
	ByFlag     By = iota // an option names it
	ByVariable           // envConfig names it
	ByWorkDir            // it is in the working directory
	ByProject            // it is in the project
	ByUser               // it is in the user's configuration directory
	ByNothing            // there is no config
)

func (b By) String() string {
	return [...]string{"named by --config", "named by $" + envConfig, "in the working directory", "in the project",
		"the user's config", "none"}[b]
}

// NeedsTrust reports whether someone other than the user may have put the config in its place, so that it is used only if
// the user trusts it.
func (b By) NeedsTrust() bool { return b == ByWorkDir || b == ByProject }

// Source says which config is in force, and why.
type Source struct {
	File string // absolute; if there is no config, the path at which `bulkhead add` creates one
	By   By
}

// checkPlace returns an error if other users can write file, for a config that is used because of its place.
func (s Source) checkPlace(file string) error {
	if s.By != ByUser {
		return nil
	}
	if err := ownedpath.CheckFile(file, os.Geteuid()); err != nil {
		return fmt.Errorf("the user's config cannot be used: %s", ownedpath.Explain(err))
	}
	return nil
}

// FindConfig returns the config that a host with these options uses, trusted or not. It ignores NoConfig, because the
// commands that edit a config do.
func FindConfig(o Options) (Source, error) {
	o.NoConfig = false
	o, places, err := located(o)
	if err != nil {
		return Source{}, err
	}
	return findConfig(o, places)
}

// UserConfig returns the user's config, which need not exist.
func UserConfig(o Options) (Source, error) {
	o, _, err := located(o)
	if err != nil {
		return Source{}, err
	}
	dir := configDir(o.System)
	if dir == "" {
		return Source{}, usage.Errorf("there is no directory for the user's config: set HOME or XDG_CONFIG_HOME to a directory of yours")
	}
	return Source{filepath.Join(dir, config.FileName), ByUser}, nil
}

// PassedOver returns the existing configs that a host with these options does not use because another one, or NoConfig,
// takes precedence.
func PassedOver(o Options) ([]Source, error) {
	o, places, err := located(o)
	if err != nil {
		return nil, err
	}
	var out []Source
	var seen []string
	for source, err := range searchConfigs(o, places) {
		isInForce := len(seen) == 0 && !o.NoConfig
		isNew := !slices.ContainsFunc(seen, func(file string) bool { return isSameConfig(file, source.File) })
		if _, serr := os.Stat(source.File); err == nil && serr == nil && source.By != ByNothing && !isInForce && isNew {
			out = append(out, source)
		}
		seen = append(seen, source.File)
	}
	return out, nil
}

// isSameConfig reports whether two paths are those of one config: a file in its usual place can also be named. Symbolic links are
// resolved as searchConfigs does.
func isSameConfig(a, b string) bool {
	return filepath.Base(a) == filepath.Base(b) && SameDirectory(filepath.Dir(a), filepath.Dir(b))
}

// SameDirectory reports whether two paths name the same directory, after symbolic links are resolved.
func SameDirectory(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	one, err := os.Stat(a)
	other, oerr := os.Stat(b)
	return err == nil && oerr == nil && os.SameFile(one, other)
}

// DiscoveredConfig returns the path of the config that needs trust: that of the working directory, else that of the
// project. If neither exists, it returns the path that a config of the working directory would have.
func DiscoveredConfig(o Options) (string, error) {
	o, places, err := located(o)
	if err != nil {
		return "", err
	}
	for source, err := range searchConfigs(o, places) {
		if err == nil && source.By.NeedsTrust() {
			return source.File, nil
		}
	}
	return filepath.Join(o.System.Dir, config.FileName), nil
}

// located completes the system of options, and finds its places.
func located(o Options) (Options, config.Places, error) {
	var err error
	if o.System, err = o.System.complete(); err != nil {
		return o, config.Places{}, err
	}
	places, err := findPlaces(o)
	return o, places, err
}

// findConfig returns the first of the configs that apply.
func findConfig(o Options, places config.Places) (Source, error) {
	if o.NoConfig && o.ConfigFile != "" {
		return Source{}, usage.Errorf("--config and --no-config contradict each other: keep one of the two")
	}
	if o.NoConfig {
		return Source{File: filepath.Join(o.System.Dir, config.FileName), By: ByNothing}, nil
	}
	var found Source
	var err error
	searchConfigs(o, places)(func(first Source, ferr error) bool {
		found, err = first, ferr
		return false
	})
	return found, err
}

// searchConfigs yields the configs that apply in order of precedence: one that is named, whether it exists or not, and
// then those that exist in their usual places. The last one is ByNothing.
//
// Symbolic links are resolved in the directories but not in the file name: paths in a config are relative to the
// directory in which it was found, so a link to a config that is trusted elsewhere would change their meaning.
func searchConfigs(o Options, places config.Places) func(yield func(Source, error) bool) {
	s := o.System
	return func(yield func(Source, error) bool) {
		if o.ConfigFile != "" && !yield(Source{s.absolute(o.ConfigFile), ByFlag}, nil) {
			return
		}
		if named := s.getenv(envConfig); named != "" {
			if !filepath.IsAbs(named) {
				// A variable applies in every directory, and a relative path would name a file of each of them.
				if !yield(Source{}, usage.Errorf("$%s: %s is not an absolute path", envConfig, printable(named))) {
					return
				}
			} else if !yield(Source{filepath.Clean(named), ByVariable}, nil) {
				return
			}
		}
		for _, source := range usualPlaces(s, places) {
			// A config that cannot be accessed, or that is a dangling symbolic link, is not skipped: the next one may grant more.
			if _, err := os.Lstat(source.File); !errors.Is(err, fs.ErrNotExist) && !yield(source, nil) {
				return
			}
		}
		yield(Source{filepath.Join(s.Dir, config.FileName), ByNothing}, nil)
	}
}

// usualPlaces returns the paths at which a config that is not named can be found, in order of precedence.
func usualPlaces(s System, places config.Places) []Source {
	var out []Source
	user := configDir(s)
	for _, at := range []struct {
		dir string
		by  By
	}{{s.Dir, ByWorkDir}, {places.Project, ByProject}, {user, ByUser}} {
		if at.dir == "" || at.by == ByProject && at.dir == s.Dir || at.by != ByUser && at.dir == user {
			continue
		}
		out = append(out, Source{filepath.Join(at.dir, config.FileName), at.by})
	}
	return out
}
