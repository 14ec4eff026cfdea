package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/build"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// writable tells why nothing can be made in dir, which need not be there yet. Its errors are predicates.
func writable(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir:
		if err := writable(filepath.Dir(dir)); err != nil {
			return fmt.Errorf("is not there and cannot be made: %s %w", filepath.Dir(dir), err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("cannot be looked at: %w", cause(err))
	case !info.IsDir():
		return errors.New("is not a folder")
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("cannot be written: %w", err)
	}
	return nil
}

func (e *examination) audit() {
	if e.parsed == nil || e.parsed.Audit == nil {
		return
	}
	file := e.parsed.Audit.File
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = writable(filepath.Dir(file))
		file = filepath.Dir(file)
	case err != nil:
		err = fmt.Errorf("cannot be looked at: %w", cause(err))
	case !info.Mode().IsRegular():
		err = errors.New("is not a regular file")
	default:
		if err = unix.Access(file, unix.W_OK); err != nil {
			err = fmt.Errorf("cannot be written: %w", err)
		}
	}
	if err != nil {
		e.fail("audit", fmt.Sprintf("%s %v", file, err), fmt.Sprintf("see that the user can write there, or change audit.file in %s", e.parsed.File))
		return
	}
	e.fine("audit", "%s; on_failure = %q", e.parsed.Audit.File, e.parsed.Audit.OnFailure)
}

// credentials are read, and nothing of them is kept or shown.
func (e *examination) credentials() {
	if e.parsed == nil {
		return
	}
	for _, c := range e.parsed.Credentials {
		name := "credential " + c.Name
		if err := host.Secret(e.options, c); err != nil {
			e.fail(name, err.Error(), "set the variable where the host is started, or put the file in its place")
			continue
		}
		e.fine(name, "can be read")
	}
}

// plugins examines each plugin; sound is false where the config keeps the host from starting.
func (e *examination) plugins(ctx context.Context, sound bool) {
	if !sound {
		e.fail("plugins", "not examined: the config cannot be used", "correct the config first")
		return
	}
	view, err := host.Look(e.options)
	if err != nil {
		e.fail("plugins", err.Error(), "")
	}
	if view == nil {
		return
	}
	for _, s := range view.Plugins {
		e.plugin(ctx, s)
	}
}

// plugin runs no module that is not the pinned one, and none with more memory and time than the plugin is
// granted.
func (e *examination) plugin(ctx context.Context, s host.Standing) {
	name := "plugin " + s.Name
	if errs := s.Problems.Errors(); len(errs) > 0 {
		e.problems(name, errs)
		return
	}
	start := time.Now()
	problems := build.Check(ctx, s.Entry.Path, build.Options{
		CacheDir: e.cached, Memory: s.Grant.Limits.Memory, Time: s.Grant.Limits.Time,
	})
	if ctx.Err() != nil {
		e.fail(name, "not examined: "+context.Cause(ctx).Error(), "try again")
		return
	}
	if errs := problems.Errors(); len(errs) > 0 {
		e.problems(name, errs)
		return
	}
	switch {
	case s.Grant.LeftOut != "":
		e.doubt(name, "left out: "+s.Grant.LeftOut, "")
		return
	case s.Problem != "":
		e.fail(name, s.Problem, "")
		return
	}
	e.problems(name, s.Problems.Warnings())
	e.fine(name, "%s %s, answers in %.1f s; %d of its %d tools are offered", s.Manifest.Version, pinWords(s),
		time.Since(start).Seconds(), len(s.Grant.Tools), len(s.Manifest.Tools))
}

func pinWords(s host.Standing) string {
	if s.Entry.SHA256 == "" {
		return "(not pinned)"
	}
	return "(pinned)"
}

// problems adds a check for each problem.
func (e *examination) problems(name string, ps tomlfile.Problems) {
	for _, p := range ps {
		remedy := p.Remedy
		if p.Remedy = ""; p.Warning {
			e.doubt(name, p.String(), remedy)
		} else {
			e.fail(name, p.String(), remedy)
		}
	}
}
