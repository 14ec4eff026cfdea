package admin

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/engine/code"
	"github.com/bulkhead-mcp/bulkhead/host/internal/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/host/internal/trust"
)

// The outcomes of a Check.
const (
	Fine   = "ok"
	Doubt  = "warning" // the host works all the same
	Failed = "failed"
)

// Check is one thing that was looked at.
type Check struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome"`
	Detail  string `json:"detail"`           // what was found
	Remedy  string `json:"remedy,omitempty"` // what to do about it
}

// Examine looks at all that a host needs: platform, project, config, folders, credentials, and whether each
// plugin's module loads and answers bulkhead/describe. It runs modules without files, variables and host
// operations, and fills the cache of compiled code, as a start would. Nothing else is written.
func Examine(ctx context.Context, o host.Options) []Check {
	e := &examination{options: o}
	e.platform()
	e.project()
	sound := e.config()
	e.confinement()
	e.trust()
	e.cache(ctx)
	e.state()
	e.audit()
	e.credentials()
	e.plugins(ctx, sound)
	return e.checks
}

// examination is the state of one Examine.
type examination struct {
	options host.Options
	places  config.Places
	parsed  *config.Config // nil: there is none that can be read
	cached  string         // the cache's folder; empty: it cannot be used
	checks  []Check
}

func (e *examination) fine(name, format string, args ...any) {
	e.checks = append(e.checks, Check{Name: name, Outcome: Fine, Detail: fmt.Sprintf(format, args...)})
}

func (e *examination) doubt(name, detail, remedy string) {
	e.checks = append(e.checks, Check{Name: name, Outcome: Doubt, Detail: detail, Remedy: remedy})
}

func (e *examination) fail(name, detail, remedy string) {
	e.checks = append(e.checks, Check{Name: name, Outcome: Failed, Detail: detail, Remedy: remedy})
}

func (e *examination) platform() {
	here := runtime.GOOS + "/" + runtime.GOARCH
	switch {
	case runtime.GOOS != "linux" && runtime.GOOS != "darwin":
		e.fail("platform", here+" is not one that Bulkhead is made for", "use Linux or macOS")
	case runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64":
		e.doubt("platform", here+": modules are interpreted, which takes ten times as long and more", "use a machine with amd64 or arm64")
	default:
		e.fine("platform", "%s, compiled", here)
	}
}

func (e *examination) project() {
	places, err := host.FindPlaces(e.options)
	e.places = places
	switch {
	case err != nil:
		e.fail("project", err.Error(), "name a folder that is there")
	case places.Project == "":
		e.doubt("project", places.NoProject, "plugins that need a project are left out")
	default:
		e.fine("project", "%s", places.Project)
	}
}

// config tells whether the config can be used, or that there is none.
func (e *examination) config() bool {
	named, err := host.ConfigFile(e.options)
	if err != nil {
		e.fail("config", err.Error(), "")
		return false
	}
	file, err := readConfigFile(named)
	if e.options.NoConfig {
		e.fine("config", "none is looked for: plugins are searched for, and get no more than the project")
		return true
	}
	switch {
	case err != nil:
		e.fail("config", err.Error(), "see that the file can be read")
		return false
	case !file.exists && e.options.ConfigFile != "":
		e.fail("config", fmt.Sprintf("there is no %s", named), "pass the config's path with --config")
		return false
	case !file.exists:
		e.fine("config", "there is no %s: plugins are searched for, and get no more than the project", named)
		return true
	}
	if not := (*host.UntrustedError)(nil); errors.As(host.CheckConfig(e.options, named, file.data), &not) {
		e.fail("config", not.Problem(), not.Remedy())
		return false
	}
	c, problems := config.Parse(named, file.data)
	if c != nil {
		problems = append(problems, config.Expand(c, lookup(e.options))...)
	}
	e.problems("config", problems)
	if problems.Err() != nil {
		return false
	}
	e.parsed = c
	e.fine("config", "%s, plugins: %d", named, len(c.Plugins))
	return true
}

func (e *examination) cache(ctx context.Context) {
	dir, unsafe := host.CacheDir(e.options.System)
	if dir == "" {
		e.doubt("cache", "compiled modules are not kept: there is neither $XDG_CACHE_HOME nor a home folder", "set XDG_CACHE_HOME")
		return
	}
	if err := writable(dir); err != nil {
		e.fail("cache", fmt.Sprintf("%s %v", dir, err), "see that the user can write there, or set XDG_CACHE_HOME to a folder of the user's")
		return
	}
	if unsafe != nil {
		e.notOwned("cache", unsafe, "what is there is native code, so nothing is kept or used there")
		return
	}
	e.cached = dir
	report, err := code.Inspect(ctx, dir)
	switch {
	case err != nil:
		e.fail("cache", fmt.Sprintf("%s cannot be read: %v", dir, cause(err)), "remove it: it is made anew")
	case len(report.Damaged) > 0:
		e.doubt("cache", "compiled code is not as it was written: "+strings.Join(report.Damaged, ", "),
			"nothing of it is run; find out who changed it. A start makes it anew")
	default:
		e.fine("cache", "%s: %d modules, %.1f MB, all as they were written", dir, report.Modules, float64(report.Size)/1e6)
	}
}

func (e *examination) state() {
	dir, unsafe := host.StateDir(e.options.System)
	switch {
	case unsafe != nil:
		e.notOwned("state", unsafe, "no plugin gets a state folder, and nothing is trusted")
	case dir == "":
		e.fail("state", "there is no place for the plugins' state folders", "set HOME or XDG_STATE_HOME to a folder of the user's")
	default:
		if err := writable(dir); err != nil {
			e.fail("state", fmt.Sprintf("%s %v", dir, err), "see that the user can write there, or set XDG_STATE_HOME")
			return
		}
		e.fine("state", "%s", dir)
	}
}

// notOwned reports a directory that is not the user's own, and what follows from that.
func (e *examination) notOwned(name string, err error, so string) {
	remedy := "use a directory of the user's own"
	if fault := (*ownedpath.Error)(nil); errors.As(err, &fault) {
		remedy = fault.Remedy
	}
	e.fail(name, fmt.Sprintf("%v: %s", err, so), remedy)
}

// trust tells only what is wrong with the records of what is trusted.
func (e *examination) trust() {
	dir, unsafe := host.StateDir(e.options.System)
	if dir == "" || unsafe != nil {
		return // state says so
	}
	store := trust.In(dir)
	if _, err := store.List(); err != nil {
		e.fail("trust", err.Error(), "find out who wrote it, and remove it")
	}
}
