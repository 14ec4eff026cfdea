package discovery

import (
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Admission decides whether a plugin may be served at all: by the plugins and signatures that the ceiling and the config require, and by the
// lists of revoked plugins. What an admitted plugin is granted is decided elsewhere.
type Admission struct {
	ceiling     *config.Ceiling
	sources     config.Sources // of the config
	revocations []RevocationList
}

// Refusal is the reason why a plugin is not served, and what to do about it.
type Refusal struct {
	What, Remedy string
	Revoked      bool // whether a list names the plugin
}

func (r *Refusal) String() string { return r.What + ": " + r.Remedy }

// FindAdmission returns the Admission of a host with these options, for the plugins of a config, which may be nil.
func FindAdmission(o Options, c *config.Config) (*Admission, error) {
	ceiling, err := FindCeiling(o.System)
	if err != nil {
		return nil, err
	}
	a := &Admission{ceiling: ceiling}
	if c != nil {
		a.sources = c.Sources
	}
	a.revocations, err = RevocationLists(o.System, ceiling, c)
	return a, err
}

// Refusal returns why the plugin of a table of the config, whose Path is its directory, is not served; nil if it may be. m is its manifest.
func (a *Admission) Refusal(entry config.Plugin, m *manifest.Manifest) *Refusal {
	if why := a.ceiling.Forbids(m); why != "" {
		return &Refusal{What: why, Remedy: config.AskAdmin}
	}
	if r := a.CheckRevoked(entry, m); r != nil {
		return r
	}
	return a.checkSigned(entry, m)
}

// CheckRevoked returns the refusal of a plugin that a list names; or of any plugin, if a list is absent.
func (a *Admission) CheckRevoked(entry config.Plugin, m *manifest.Manifest) *Refusal {
	remedy := fmt.Sprintf("remove it with `bulkhead remove %s`, or add a version that is not revoked", m.Name)
	if entry.From != "" {
		remedy = fmt.Sprintf("update it with `bulkhead update %s`, which names an older version if no newer one may be served, or remove it with `bulkhead remove %s`", m.Name, m.Name)
	}
	if why := a.Revoked(m.Digest, m.Module.SHA256); why != "" {
		return &Refusal{What: fmt.Sprintf("%s %s %s", m.Name, m.Version, why), Remedy: remedy, Revoked: true}
	}
	for _, l := range a.revocations {
		if l.List == nil {
			return &Refusal{What: fmt.Sprintf("%s is not served, since it is not known what is revoked: there is no usable list for %s", m.Name, l.At()), Remedy: l.Remedy()}
		}
	}
	return nil
}

// RevokesAny reports whether a list names any plugin.
func (a *Admission) RevokesAny() bool {
	return slices.ContainsFunc(a.revocations, func(l RevocationList) bool { return l.List != nil && len(l.List.Revoked) > 0 })
}

// Revoked says that a list names one of the digests, those of a manifest and of a module; empty if none does.
func (a *Admission) Revoked(digests ...string) string {
	for _, l := range a.revocations {
		if l.List == nil {
			continue
		}
		if reason, revoked := l.List.Reason(digests...); revoked {
			return fmt.Sprintf("is revoked with the reason %s, by list %d of %s", visible.Quote(reason), l.List.Serial, l.At())
		}
	}
	return ""
}

// admit adds a problem to each candidate that is not admitted, and reports whether it has done so for one that was admitted before.
func (f *Found) admit() bool {
	if f.Options.System.admitsAll {
		return false
	}
	a := &Admission{f.Ceiling, f.Sources, f.Revocations}
	changed := false
	for i := range f.Candidates {
		c := &f.Candidates[i]
		if c.Manifest == nil || c.Problems.Err() != nil {
			continue
		}
		r := a.Refusal(c.Entry, c.Manifest)
		if r == nil {
			continue
		}
		p := tomlfile.Problem{File: c.Entry.File, Line: c.Entry.Line, Key: c.Entry.Key, What: r.What, Remedy: r.Remedy}
		if p.File == "" {
			p.File = c.Manifest.File
		}
		c.Problems, c.Refused, changed = append(slices.Clone(c.Problems), p), true, true
	}
	return changed
}

// Readmit decides again which plugins of f may be served, by the ceiling and the lists of revoked plugins as they are now. It returns a copy of f
// in which the others have a problem, and whether there are others.
func (f *Found) Readmit() (*Found, bool) {
	ceiling, err := FindCeiling(f.Options.System)
	if err != nil { // the one that is in force stays so
		ceiling = f.Ceiling
	}
	now := *f
	now.Ceiling, now.Candidates = ceiling, slices.Clone(f.Candidates)
	now.Revocations = readRevocationLists(f.Options.System, ceiling, f.Sources)
	refused := now.admit()
	now.Ceiling = f.Ceiling // nothing else of the change that was rejected is applied
	return &now, refused
}
