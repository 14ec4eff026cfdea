package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/trust"
)

// TryCeiling tells what would change on this machine if file were its ceiling: for the config in force, the user's and those that are trusted,
// which plugins would no longer be served, and what they would no longer be granted. It runs no module, and changes nothing.
func TryCeiling(o discovery.Options, file string) []Check {
	e := &examination{options: o}
	if runtime.GOOS == "windows" {
		e.fail("ceiling", "there is no ceiling on Windows yet", "try it on a machine that it is for")
		return e.checks
	}
	path, err := discovery.Absolute(o, file)
	if err != nil {
		e.fail("ceiling", err.Error(), "")
		return e.checks
	}
	if _, err := os.Stat(path); err != nil { // an absent ceiling would bound nothing
		e.fail("ceiling", err.Error(), "name the file that is to be the ceiling")
		return e.checks
	}
	e.options.System = discovery.WithCeiling(o.System, path, os.Geteuid(), "")
	if !e.ceiling() {
		return e.checks
	}
	for _, c := range e.configs(o) {
		e.try(c.file, c.options, path)
	}
	return e.checks
}

// tried is a config, and the options of a host that uses it under the current ceiling.
type tried struct {
	file    string
	options discovery.Options
}

// configs returns the configs that are tried. It adds a check for each that cannot be.
func (e *examination) configs(o discovery.Options) []tried {
	var all []tried
	add := func(file string, options discovery.Options) {
		if !slices.ContainsFunc(all, func(c tried) bool { return c.file == file }) {
			all = append(all, tried{file, options})
		}
	}
	source, err := discovery.FindConfig(o)
	if err != nil {
		e.fail("config", err.Error(), "")
	} else {
		add(source.File, o)
	}
	others, err := discovery.PassedOver(o)
	if err != nil {
		e.fail("config", err.Error(), "")
	}
	for _, other := range others {
		if other.By != discovery.ByUser && other.By != discovery.ByVariable {
			continue // trusted, or of no effect
		}
		named := o
		named.ConfigFile = other.File
		add(other.File, named)
	}
	dir, err := discovery.StateDir(o.System)
	if dir == "" || err != nil {
		return all // nothing is trusted
	}
	records, err := trust.In(dir).List()
	if err != nil {
		e.fail("trust", err.Error(), "look at the records that the problem names")
	}
	for _, r := range records {
		data, err := tomlfile.ReadFile(r.Path)
		switch info, serr := os.Stat(r.Path); {
		case errors.Is(err, fs.ErrNotExist), serr == nil && info.IsDir(): // gone, or a directory of plugins
			continue
		case err != nil:
			e.fail("config "+r.Path, err.Error(), "")
			continue
		case userfile.Digest(data) != r.SHA256:
			e.warn("config "+r.Path, "has changed since it was trusted, so it is not tried", "review it with `bulkhead trust`")
			continue
		}
		named := o
		named.ConfigFile, named.System.Dir, named.Project = r.Path, filepath.Dir(r.Path), ""
		add(r.Path, named)
	}
	return all
}

// try compares what a host serves under the current ceiling with what it would serve under the one that is tried.
func (e *examination) try(file string, current discovery.Options, ceiling string) {
	name := "config " + file
	before, err := catalog.Look(current)
	if before == nil {
		e.warn(name, fmt.Sprintf("nothing is served with it now: %v", err), "")
		return
	}
	future := current
	future.System = discovery.WithCeiling(current.System, ceiling, os.Geteuid(), "")
	after, err := catalog.Look(future)
	if after == nil {
		e.fail(name, fmt.Sprintf("nothing would be served: %v", err), "")
		return
	}
	known := len(e.checks)
	for i, p := range after.Plugins { // the same plugins: a ceiling adds none, and one that it refuses stays in the list
		was := explain.PolicyOf(current, before, before.Plugins[i])
		is := explain.PolicyOf(future, after, p)
		switch {
		case was.Problem != "":
		case is.Problem != "":
			e.fail(name+": "+p.Name, "would not be served: "+is.Problem, "")
		case was.Policy != nil && is.Policy != nil:
			for _, line := range review.CompareGrants(*was.Policy, *is.Policy) {
				if line.Change != "" {
					e.warn(name+": "+p.Name, fmt.Sprintf("%s: %s %s", line.Change, line.Kind, line.What), "")
				}
			}
		}
	}
	for _, skill := range lostSkills(before, after) {
		e.warn(name, "the skill "+skill+" of the project would not be offered", "")
	}
	if len(e.checks) == known {
		e.ok(name, "nothing would change for its %d plugins", len(after.Plugins))
	}
}
