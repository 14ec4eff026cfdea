package discovery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// CeilingFile is the organisation's ceiling. No option or variable changes the path: a user who could change it would escape the
// ceiling.
const CeilingFile = "/etc/bulkhead/bulkhead.toml"

// ceilingPlace is where a ceiling is read.
type ceilingPlace struct {
	file  string
	owner int    // ID of the only user other than root who may have write access to it
	home  string // value of ${home} in its paths
}

// WithCeiling returns s with the ceiling in file, which may belong to owner, and with that home directory. It is for tests, for
// hosts that grant nothing of the user's, and to try a ceiling without serving anything.
func WithCeiling(s System, file string, owner int, home string) System {
	s.ceiling = &ceilingPlace{file, owner, home}
	return s
}

func (s System) ceilingPlace() ceilingPlace {
	if s.ceiling != nil {
		return *s.ceiling
	}
	return ceilingPlace{file: CeilingFile}
}

// FindCeiling returns the organisation's ceiling, nil if there is none. It returns a *usage.Error if the ceiling cannot be read, is
// invalid, or can be written by users other than root: nothing must be served then.
func FindCeiling(s System) (*config.Ceiling, error) {
	if runtime.GOOS == "windows" {
		return nil, nil // ownedpath cannot determine on Windows who can write a file
	}
	place := s.ceilingPlace()
	if place.isAbsent() {
		return nil, nil
	}
	c, problems := place.read()
	if errs := problems.Errors(); len(errs) > 0 {
		errs = append(tomlfile.Problems{{File: place.file, What: "no plugin is served, because the ceiling of this machine cannot be applied",
			Remedy: "ask who administers this machine"}}, errs...)
		return nil, &usage.Error{Err: &InvalidError{File: place.file, Problems: errs}}
	}
	return c, nil
}

// isAbsent reports whether there is no ceiling. With a dangling symbolic link on its path the ceiling is not absent: the target may
// be on a file system that is not mounted.
func (p ceilingPlace) isAbsent() bool {
	for path := p.file; path != filepath.Dir(path); path = filepath.Dir(path) {
		switch _, err := os.Lstat(path); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil || path == p.file:
			return false
		}
		_, err := os.Stat(path)
		return err == nil
	}
	return true
}

// read reads the ceiling, which exists.
func (p ceilingPlace) read() (*config.Ceiling, tomlfile.Problems) {
	if err := ownedpath.CheckFile(p.file, p.owner); err != nil {
		return nil, tomlfile.Problems{{File: p.file, What: ownedpath.Explain(err)}}
	}
	data, err := tomlfile.ReadFile(p.file)
	if err != nil {
		remedy := "make it readable for all users"
		if errors.Is(err, fs.ErrNotExist) {
			remedy = "its path has a dangling symbolic link: create the target, or remove the link"
		}
		return nil, tomlfile.Problems{{File: p.file, What: err.Error(), Remedy: remedy}}
	}
	c, problems := config.ParseCeiling(p.file, data)
	if c == nil {
		return nil, problems
	}
	if c.Home = p.home; c.Home == "" {
		c.Home = accountHome()
	}
	return c, problems
}

// applyCeiling narrows what a config decides for the host as a whole. The grants of plugins are narrowed when they are
// decided.
func (f *Found) applyCeiling() error {
	c := f.Ceiling
	if c == nil || f.Untrusted != nil {
		return nil
	}
	if what := c.AuditProblem(f.Audit, f.Config); what != "" {
		remedy := "`bulkhead init` writes a config with [audit]"
		if f.Config != "" {
			remedy = "add [audit] with file = \"…\", the absolute path of the log, to the config; `bulkhead add` does so, and so does `bulkhead init` if the config is trusted"
		}
		return &usage.Error{Err: &InvalidError{File: c.File, empty: true, Problems: tomlfile.Problems{{File: c.File, Line: c.AuditLine, Key: "audit.required",
			What: "no plugin is served: " + what, Remedy: remedy}}}}
	}
	if c.NoMetrics && f.Audit.MetricsAt() != (config.Metrics{}) {
		f.Options.Log.Warn(fmt.Sprintf("%s: audit.metrics: nothing is measured: %s:%d forbids metrics", f.Config, c.File, c.AuditLine))
	}
	if c.NoTraces && f.Audit.TracesTo() != (config.Traces{}) {
		f.Options.Log.Warn(fmt.Sprintf("%s: audit.otlp: nothing is traced: %s:%d forbids traces", f.Config, c.File, c.AuditLine))
	}
	if c.NoLive && f.Audit.HasLiveState() {
		f.Options.Log.Warn(fmt.Sprintf("%s: audit.live: no state is offered: %s:%d forbids it", f.Config, c.File, c.AuditLine))
	}
	f.declaredAudit, f.Audit = f.Audit, c.NarrowAudit(f.Audit)
	if c.Memory > 0 || c.Confined {
		server := config.Server{}
		if f.Server != nil {
			server = *f.Server
		}
		server.Confined = server.Confined || c.Confined
		if c.Memory > 0 {
			server.Memory = min(c.Memory, f.Memory())
		}
		f.Server = &server
	}
	return nil
}
