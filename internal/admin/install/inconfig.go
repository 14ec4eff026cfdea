package install

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// isInConfig returns the error for a plugin of the config that is to be added again.
func isInConfig(existing config.Plugin, name, file string) error {
	if existing.From != "" {
		return usage.Errorf("plugin %q is in %s already: `bulkhead update %s` updates it; or pass --repin to review this one and pin it in its place", name, file, name)
	}
	return usage.Errorf("plugin %q is in %s already: if its manifest has changed and you have reviewed the change, pass --repin; otherwise remove it first with `bulkhead remove %s`", name, file, name)
}

// CheckNotInConfig refuses a plugin that is to be added by its name, before it is fetched, if the config has one of this name.
func CheckNotInConfig(o discovery.Options, name string) error {
	source, file, err := findConfigFile(o)
	if err != nil || !file.Exists {
		return err
	}
	c, problems := config.Parse(source.File, file.Data)
	if problems.Err() != nil || len(c.Plugins) == 0 {
		return nil // Propose reports the problems
	}
	o.ConfigFile = source.File
	view, err := catalog.LookWith(o, c)
	if view == nil {
		return err
	}
	for _, existing := range view.Plugins {
		if existing.Name == name {
			return isInConfig(existing.Entry, name, source.File)
		}
	}
	return nil
}

// checkRevoked refuses a plugin that is revoked, or that may be, before a table of the config is made of it, which a problem would name. at is the
// index of the version that is pinned, or -1.
func (p *Proposal) checkRevoked(o discovery.Options, m *manifest.Manifest, a Addition, at int) error {
	admission, err := discovery.FindAdmission(o, p.base)
	if err != nil {
		return err
	}
	entry := config.Plugin{}
	if a.Staged != nil {
		entry.From = a.Staged.origin.From
	}
	r := admission.CheckRevoked(entry, m)
	switch {
	case r == nil:
		return nil
	case !r.Revoked:
		return usage.Errorf("%s", r)
	case at >= 0 && p.base.Plugins[at].From != "":
		return usage.Errorf("%s: it is not pinned; `bulkhead update --check %s` names a version that may be served", r.What, m.Name)
	}
	return usage.Errorf("%s: it is not written to %s; add a version that is not revoked", r.What, p.Config)
}

// maxSkipped bounds the revoked versions that a warning names.
const maxSkipped = 5

// warnOfSkipped warns that there are newer versions, which are revoked.
func (p *Proposal) warnOfSkipped() {
	if p.staged == nil || len(p.staged.skipped) == 0 {
		return
	}
	var what []string
	for _, e := range p.staged.skipped[:min(maxSkipped, len(p.staged.skipped))] {
		what = append(what, e.Version+" "+e.Revoked)
	}
	if more := len(p.staged.skipped) - len(what); more > 0 {
		what = append(what, fmt.Sprintf("and %d more are", more))
	}
	p.Warnings = append(p.Warnings, tomlfile.Problem{Key: "version", What: "is not the newest: " + strings.Join(what, "; "),
		Remedy: fmt.Sprintf("a later version that is not revoked replaces it with `bulkhead update %s`", p.Plugin.Name), Warning: true})
}
