package discovery

import (
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Admission decides whether a plugin may be served at all, by the signatures that the ceiling and the config require. What an admitted plugin
// is granted is decided elsewhere.
type Admission struct {
	ceiling *config.Ceiling
	sources config.Sources // of the config
}

// Refusal is the reason why a plugin is not served, and what to do about it.
type Refusal struct {
	What, Remedy string
}

// FindAdmission returns the Admission of a host with these options, for the plugins of a config.
func FindAdmission(o Options, c *config.Config) (*Admission, error) {
	ceiling, err := FindCeiling(o.System)
	return &Admission{ceiling, c.Sources}, err
}

// Refusal returns why the plugin of a table of the config, whose Path is its directory, is not served; nil if it may be. m is its manifest.
func (a *Admission) Refusal(entry config.Plugin, m *manifest.Manifest) *Refusal {
	return a.checkSigned(entry, m)
}

// admit adds a problem to each candidate that is not admitted.
func (f *Found) admit() {
	a := &Admission{f.Ceiling, f.Sources}
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
		c.Problems = append(c.Problems, p)
	}
}
