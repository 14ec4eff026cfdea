// Package doctor examines the installation: Examine checks what a host needs to start and to confine its workers, and returns what
// is wrong with a remedy. It changes nothing but the cache of compiled code.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/trust"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
)

// The outcomes of a Check.
const (
	CheckOK      = "ok"
	CheckWarning = "warning" // the host works despite the problem
	CheckFailed  = "failed"
)

// Check is the result of one check of the installation.
type Check struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome"`
	Detail  string `json:"detail"`           // what was found
	Remedy  string `json:"remedy,omitempty"` // what to do about it
	Policy  string `json:"policy,omitempty"` // of a server: the digest of the policy that is in force there
}

// Examine checks the host's environment: platform, project, config, confinement, directories and credentials, and whether
// the module of each plugin loads and answers bulkhead/describe. It runs modules without access to files, variables and
// host operations. It writes only to the cache of compiled code.
func Examine(ctx context.Context, o discovery.Options) []Check {
	e := &examination{options: o}
	e.platform()
	e.user(os.Geteuid())
	e.project()
	bounded := e.ceiling()
	usable := e.config() && bounded
	e.confinement()
	e.memory()
	e.trust()
	e.cache(ctx)
	e.store()
	e.revocations(time.Now())
	e.derived()
	e.state()
	e.audit()
	e.credentials()
	e.plugins(ctx, usable)
	return e.checks
}

// examination is the state of one call of Examine.
type examination struct {
	options discovery.Options
	parsed  *config.Config  // nil if there is no valid config
	bound   *config.Ceiling // nil if there is none
	cached  string          // the cache directory; empty if it cannot be used
	checks  []Check
}

func (e *examination) ok(name, format string, args ...any) {
	e.checks = append(e.checks, Check{Name: name, Outcome: CheckOK, Detail: fmt.Sprintf(format, args...)})
}

func (e *examination) warn(name, detail, remedy string) {
	e.checks = append(e.checks, Check{Name: name, Outcome: CheckWarning, Detail: detail, Remedy: remedy})
}

func (e *examination) fail(name, detail, remedy string) {
	e.checks = append(e.checks, Check{Name: name, Outcome: CheckFailed, Detail: detail, Remedy: remedy})
}

func (e *examination) platform() {
	here := runtime.GOOS + "/" + runtime.GOARCH
	switch {
	case !slices.Contains([]string{"linux", "darwin", "windows"}, runtime.GOOS):
		e.fail("platform", here+" is not supported", "use Linux, macOS or Windows")
	case runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64":
		e.warn("platform", here+": modules are interpreted, at least ten times slower", "use a machine with amd64 or arm64")
	case !canExecute():
		e.fail("platform", here+", but this process must not execute memory that it has written, so no module can be compiled or run", "remove MemoryDenyWriteExecute=yes from the unit, or what else forbids it, such as SELinux")
	default:
		e.ok("platform", "%s, compiled", here)
	}
}

// user warns of the superuser. The argument is the effective user ID; -1 on Windows.
func (e *examination) user(id int) {
	if id == 0 {
		e.warn("user", "this is root: granted directories are read and written with its rights", "run bulkhead as the user whose files plugins work on")
	}
}

func (e *examination) project() {
	places, err := discovery.FindPlaces(e.options)
	switch {
	case err != nil:
		e.fail("project", err.Error(), "name an existing directory")
	case places.Project == "":
		e.warn("project", places.NoProject, "plugins that need a project are left out")
	case places.Narrow != "":
		e.warn("project", places.Narrow, "until then the project is "+places.Project)
	default:
		e.ok("project", "%s", places.Project)
	}
}

// ceiling adds a check if there is a ceiling, and reports whether the host can start.
func (e *examination) ceiling() bool {
	c, err := discovery.FindCeiling(e.options.System)
	if err != nil {
		e.fail("ceiling", err.Error(), "")
		return false
	}
	if c == nil {
		return true
	}
	for _, dir := range c.Unresolved(filepath.EvalSymlinks) {
		e.warn("ceiling", fmt.Sprintf("%s lists the directory %s through symbolic links, so that this line matches no resolved path", c.File, dir), "write the path without symbolic links")
	}
	e.bound = c
	e.ok("ceiling", "%s bounds all configs, flags and variables", c.File)
	return true
}

// config checks the config, and reports whether the host can start: with a valid config, or without any.
func (e *examination) config() bool {
	source, err := discovery.FindConfig(e.options)
	if err != nil {
		e.fail("config", err.Error(), "")
		return false
	}
	named := source.File
	file, err := userfile.Read(source.File, tomlfile.ReadFile)
	if e.options.NoConfig {
		e.ok("config", "ignored (--no-config): plugins are discovered, and get only the project%s", e.passedOver())
		return true
	}
	switch {
	case err != nil:
		e.fail("config", err.Error(), "make the file readable")
		return false
	case source.By == discovery.ByNothing:
		e.ok("config", "there is no %s: plugins are discovered, and get only the project", named)
		return true
	case !file.Exists:
		e.fail("config", fmt.Sprintf("there is no %s (%s)", named, source.By), "correct the path")
		return false
	}
	c, problems, err := discovery.ParseTrusted(e.options, source, file.Data)
	if err != nil {
		if not := (*discovery.UntrustedError)(nil); errors.As(err, &not) {
			e.fail("config", not.Problem(), not.Remedy())
		} else {
			e.fail("config", err.Error(), "")
		}
		return false
	}
	if c != nil && problems.Err() == nil { // for an invalid config, Expand would repeat its problems
		problems = append(problems, config.Expand(c, discovery.LookupEnv(e.options.System))...)
	}
	e.problems("config", problems)
	if problems.Err() != nil {
		return false
	}
	e.parsed = c
	if c != nil {
		for _, dir := range c.Clients.Unresolved(filepath.EvalSymlinks) {
			e.warn("clients", fmt.Sprintf("[[clients]] in %s lists the directory %s through symbolic links, so that this line matches no resolved path", c.File, dir), "write the path without symbolic links")
		}
	}
	included := ""
	if n := len(c.Files) - 1; n > 0 {
		included = fmt.Sprintf(", included files: %d", n)
	}
	e.ok("config", "%s (%s)%s, plugins: %d%s", named, source.By, included, len(c.Plugins), e.passedOver())
	return true
}

// passedOver lists the configs that are not used because another one takes precedence.
func (e *examination) passedOver() string {
	var b strings.Builder
	others, _ := discovery.PassedOver(e.options) // an error was reported for the config in force
	for _, other := range others {
		fmt.Fprintf(&b, "; passed over: %s (%s)", other.File, other.By)
	}
	return b.String()
}

// store checks the plugins that were fetched. Without any it adds no check.
func (e *examination) store() {
	const name = "fetched plugins"
	s, err := discovery.Store(e.options.System)
	if err != nil || s.Dir == "" {
		return // a plugin that needs the store has a check of its own
	}
	items, err := s.List()
	size, damaged := int64(0), []string{}
	for _, i := range items {
		if size += i.Origin.Size; i.Problem != nil {
			damaged = append(damaged, i.Problem.Error())
		}
	}
	switch {
	case err != nil:
		e.fail(name, fmt.Sprintf("%s cannot be read: %v", s.Dir, usage.Cause(err)), "make it readable for the user")
	case len(items) == 0:
	case len(damaged) > 0:
		e.fail(name, strings.Join(damaged, "; "), "find out who changed it; `bulkhead update --pinned` fetches what the config pins again")
	default:
		if unsafe := ownedpath.Check(s.Dir); unsafe != nil {
			e.notOwned(name, unsafe, "so they are not served")
			return
		}
		e.ok(name, "%s: %d, %.1f MB, all intact", s.Dir, len(items), float64(size)/1e6)
	}
}

func (e *examination) cache(ctx context.Context) {
	dir, unsafe := discovery.CacheDir(e.options.System)
	if dir == "" {
		e.warn("cache", "compiled modules are not cached: there is neither $XDG_CACHE_HOME nor a home directory", "set XDG_CACHE_HOME")
		return
	}
	if err := writable(dir); err != nil {
		e.fail("cache", fmt.Sprintf("%s %v", dir, err), "make it writable for the user, or set XDG_CACHE_HOME to a directory that the user owns")
		return
	}
	if unsafe != nil {
		e.notOwned("cache", unsafe, "it holds native code, so it is not used")
		return
	}
	e.cached = dir
	report, err := code.Inspect(ctx, dir)
	switch {
	case err != nil:
		e.fail("cache", fmt.Sprintf("%s cannot be read: %v", dir, usage.Cause(err)), "remove it: the host creates it again")
	case len(report.Damaged) > 0:
		e.warn("cache", "compiled code was changed after it was written: "+strings.Join(report.Damaged, ", "),
			"find out who changed it; the host does not run it, and compiles the module again")
	default:
		e.ok("cache", "%s: %d modules, %.1f MB, all intact", dir, report.Modules, float64(report.Size)/1e6)
	}
}

func (e *examination) state() {
	dir, unsafe := discovery.StateDir(e.options.System)
	switch {
	case unsafe != nil:
		e.notOwned("state", unsafe, "no plugin gets a state directory, and nothing is trusted")
	case dir == "":
		e.fail("state", "there is no location for the plugins' state directories", "set HOME or XDG_STATE_HOME to a directory that the user owns")
	default:
		if err := writable(dir); err != nil {
			e.fail("state", fmt.Sprintf("%s %v", dir, err), "make it writable for the user, or set XDG_STATE_HOME")
			return
		}
		e.ok("state", "%s", dir)
	}
}

// notOwned reports a directory that other users own or can write, and the consequence.
func (e *examination) notOwned(name string, err error, consequence string) {
	remedy := "use a directory that the user owns"
	if newer := (*ownedpath.NewerError)(nil); errors.As(err, &newer) {
		remedy = newer.Remedy()
	}
	if fault := (*ownedpath.Error)(nil); errors.As(err, &fault) {
		remedy = fault.Remedy
	}
	e.fail(name, fmt.Sprintf("%v: %s", err, consequence), remedy)
}

// trust adds a failed check if trust records are invalid, otherwise none.
func (e *examination) trust() {
	dir, unsafe := discovery.StateDir(e.options.System)
	if dir == "" || unsafe != nil {
		return // the check "state" reports the problem
	}
	store := trust.In(dir)
	if _, err := store.List(); err != nil {
		e.fail("trust", err.Error(), "look at the records that the problem names, and remove those that you did not make with `bulkhead trust`")
	}
}

// credentials checks that each credential can be read. The values are neither stored nor shown.
func (e *examination) credentials() {
	if e.parsed == nil {
		return
	}
	for _, c := range e.parsed.Credentials {
		name := "credential " + c.Name
		if c.Command != nil { // it may ask the user for something
			e.ok(name, "is the output of %s, which is not run here", visible.Quote(c.Command[0]))
			continue
		}
		if _, err := discovery.Secret(e.options.System, c); err != nil {
			e.fail(name, err.Error(), "set the variable in the environment of the host, or create the file")
			continue
		}
		e.ok(name, "can be read")
	}
}

// writable checks that entries can be created in dir, or in its nearest existing ancestor. Its errors continue a sentence
// that begins with dir.
func writable(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir:
		if err := writable(filepath.Dir(dir)); err != nil {
			return fmt.Errorf("does not exist and cannot be created: %s %w", filepath.Dir(dir), err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("cannot be accessed: %w", usage.Cause(err))
	case !info.IsDir():
		return errors.New("is not a directory")
	}
	if err := platform.CheckCreateIn(dir); err != nil {
		return fmt.Errorf("cannot be written: %w", err)
	}
	return nil
}
