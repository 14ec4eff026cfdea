package doctor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/ready"
)

// plugins examines each plugin. It examines none if the config or the ceiling is not usable, since the host would not start.
func (e *examination) plugins(ctx context.Context, usable bool) {
	if !usable {
		e.fail("plugins", "not examined: the config is not usable", "correct the config first")
		return
	}
	view, err := catalog.Look(e.options)
	if invalid := (*discovery.InvalidError)(nil); errors.As(err, &invalid) && invalid.SourcesOnly() {
		e.warn("plugins", invalid.Problems[0].What, invalid.Problems[0].Remedy)
	} else if invalid != nil {
		e.problems("config", invalid.Problems)
	} else if none := (*discovery.NoPluginsError)(nil); errors.As(err, &none) {
		e.fail("plugins", none.Problem(), none.Remedy())
	} else if err != nil {
		e.fail("plugins", err.Error(), "")
	}
	if view == nil {
		return
	}
	for _, c := range view.Conflicts {
		if view.Config == "" { // with a config, the conflict is a problem of the plugin that is listed second
			e.fail("plugins", c.What, c.Remedy)
		}
	}
	e.ok("tools", "%s", view.DescribeList())
	e.projectSkills(view)
	for _, s := range view.Plugins {
		e.plugin(ctx, s, lacksOf(view, s))
	}
}

// plugin runs a module only if it matches its pin, and within the limits of memory and time of the plugin's grant.
func (e *examination) plugin(ctx context.Context, s *catalog.Plugin, lacks []ready.Lack) {
	name := "plugin " + s.Name
	if errs := s.Problems.Errors(); len(errs) > 0 {
		e.problems(name, errs)
		return
	}
	e.repositories(s)
	start := time.Now()
	problems := build.Check(ctx, s.Entry.Path, build.Options{
		CacheDir: e.cached, Memory: s.Grant.Limits.Memory, Time: s.Grant.Limits.Time,
	})
	if ctx.Err() != nil {
		e.fail(name, "not examined: "+context.Cause(ctx).Error(), "try again")
		return
	}
	if errs := problems.Errors(); len(errs) > 0 {
		e.problems(name, slices.Concat(errs, s.Problems.Warnings()))
		return
	}
	switch {
	case s.Grant.LeftOut != "":
		e.warn(name, "left out: "+s.Grant.LeftOut, "")
		return
	case s.Problem != "" && len(lacks) == 0:
		e.fail(name, s.Problem, "")
		return
	}
	e.problems(name, s.Problems.Warnings())
	for _, lack := range lacks {
		e.warn(name, "cannot work yet: "+lack.What, lack.Remedy)
	}
	if s.Problem != "" {
		return
	}
	limited := ""
	if limit := s.Grant.Limits.Result; limit > 0 {
		limited = "; results above " + manifest.FormatSize(limit) + " are shortened"
	}
	e.ok(name, "%s %s, answers in %.1f s; %d of its %d tools are offered%s", s.Manifest.Version, formatPin(s),
		time.Since(start).Seconds(), len(s.Grant.Tools), len(s.Manifest.Tools), limited)
}

// lacksOf returns the unmet requirements of a plugin. A plugin that is served alone may be offered despite such requirements.
func lacksOf(view *catalog.Catalog, s *catalog.Plugin) []ready.Lack {
	if s.Problem != "" || s.Entry.Always {
		return s.NotYet()
	}
	return s.Lacks(view.Places)
}

func formatPin(s *catalog.Plugin) string {
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
			e.warn(name, p.String(), remedy)
		} else {
			e.fail(name, p.String(), remedy)
		}
	}
}
