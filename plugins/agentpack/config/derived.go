package config

import (
	"maps"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
)

// parsed is the result of ParseManifest in the form that the host caches. The host caches it because parsing thousands
// of lines of YAML takes longer than everything else that most calls do.
type parsed struct {
	valid bool
	Manifest
}

var manifests = derive.New(func(text []byte) parsed {
	manifest, err := ParseManifest(text)
	if err != nil {
		return parsed{}
	}
	return parsed{true, *manifest}
})

// Fields implements derive.Fielder.
func (p *parsed) Fields(c *derive.Codec) {
	c.Bool(&p.valid)
	var profiles []namedProfile
	for _, name := range slices.Sorted(maps.Keys(p.Profiles)) {
		profiles = append(profiles, namedProfile{name, p.Profiles[name]})
	}
	derive.List(c, &profiles)
	p.Profiles = map[string]Profile{}
	for _, profile := range profiles {
		p.Profiles[profile.name] = profile.Profile
	}
	derive.List(c, &p.Targets)
	derive.List(c, &p.Modules)
}

type namedProfile struct {
	name string
	Profile
}

// Fields implements derive.Fielder.
func (p *namedProfile) Fields(c *derive.Codec) {
	c.String(&p.name)
	c.Strings(&p.IncludeTags)
	c.Strings(&p.IncludeModules)
	c.Strings(&p.ExcludeModules)
}

// Fields implements derive.Fielder.
func (t *Target) Fields(c *derive.Codec) {
	c.String(&t.Name)
	c.String((*string)(&t.Scope))
	derive.List(c, &t.Options.values)
}

// Fields implements derive.Fielder.
func (o *option) Fields(c *derive.Codec) {
	c.String(&o.key)
	c.Int((*int)(&o.kind))
	c.String(&o.text)
}

// Fields implements derive.Fielder.
func (m *Module) Fields(c *derive.Codec) {
	c.String(&m.ID)
	c.String((*string)(&m.Type))
	c.Bool(&m.Enabled)
	c.Strings(&m.Tags)
	c.Strings(&m.Targets)
	isLocal, isGit := m.Local != nil, m.Git != nil
	c.Bool(&isLocal)
	if c.Bool(&isGit); isLocal && m.Local == nil {
		m.Local = &Local{}
	}
	if isGit && m.Git == nil {
		m.Git = &Git{}
	}
	local, git := m.Local, m.Git
	if local == nil {
		local = &Local{}
	}
	if git == nil {
		git = &Git{}
	}
	for _, text := range []*string{&local.Path, &git.URL, &git.Ref, &git.Subdir} {
		c.String(text)
	}
}
