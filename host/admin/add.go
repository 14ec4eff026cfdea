package admin

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/internal/trust"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/host/review"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// Addition says what is to be added to a config, and with what grants.
type Addition struct {
	Dir string // of the built plugin
	review.Choice
	// Repin is for a plugin that is in the config already: of its table only the digest is to change.
	Repin bool
}

// Proposal is an addition that the admin has yet to agree to.
type Proposal struct {
	Config   string            `json:"config"`         // the file that Write changes
	Creates  bool              `json:"creates_config"` // the file is not there yet
	Plugin   review.Request    `json:"plugin"`
	Table    string            `json:"table,omitempty"` // what is added to the config; empty where only the digest changes
	Warnings tomlfile.Problems `json:"warnings,omitempty"`
	// Trust is set by Write.
	Trust ConfigTrust `json:"trust,omitzero"`

	store   trust.Store
	file    *configFile
	content []byte
}

// Propose reviews a plugin and prepares the config that has it. It refuses what could not be served: a
// manifest or a config with faults, a module that is not there or another than the manifest's, a plugin that
// is there already, and a name or a tool that another plugin has. o names the config; nothing is written.
func Propose(o host.Options, a Addition) (*Proposal, error) {
	m, err := reviewed(o, a)
	if err != nil {
		return nil, err
	}
	named, err := host.ConfigFile(o)
	if err != nil {
		return nil, err
	}
	file, err := readConfigFile(named)
	if err != nil {
		return nil, err
	}
	o.ConfigFile = named
	p := &Proposal{Config: named, Creates: !file.exists, file: file, store: storeOf(o)}
	at, err := indexOf(o, file, m)
	if err != nil {
		return nil, err
	}
	switch {
	case at >= 0 && !a.Repin:
		return nil, usage("plugin %q is in %s already: pass --repin if its manifest has changed and you have reviewed it, or remove it first", m.Name, named)
	case at < 0 && a.Repin:
		return nil, usage("plugin %q is not in %s, so it cannot be pinned again: leave out --repin", m.Name, named)
	case a.Repin:
		return p, p.repin(o, m, at)
	}
	return p, p.add(o, m, a)
}

// reviewed reads the plugin and refuses one that no admin should agree to.
func reviewed(o host.Options, a Addition) (*manifest.Manifest, error) {
	dir, err := absolute(o, a.Dir)
	if err != nil {
		return nil, err
	}
	m, problems := manifest.Load(dir)
	if problems.Err() == nil {
		problems = append(problems, m.Check()...)
	}
	if err := problems.Err(); err != nil {
		return nil, &host.UsageError{Err: err}
	}
	if err := checkModule(m); err != nil {
		return nil, err
	}
	return m, checkChoice(o, m, a.Choice)
}

// checkChoice refuses what the admin says of tools and variables that the plugin does not have.
func checkChoice(o host.Options, m *manifest.Manifest, c review.Choice) error {
	if c.ReadOnly && c.AllowWrite {
		return usage("--read-only and --allow-write contradict each other: keep one of the two")
	}
	var names []string
	for _, t := range m.Tools {
		names = append(names, t.Name)
	}
	for _, glob := range c.AllowTools {
		if _, err := path.Match(glob, ""); err != nil || glob == "" {
			return usage("--allow-tool %s: is not a pattern: write a name, in which * stands for any characters and ? for one", tomlfile.Quote(glob))
		}
		if !slices.ContainsFunc(names, config.Filter{Allow: []string{glob}}.Allowed) {
			return usage("--allow-tool %s: %s has no such tool; its tools are %s", tomlfile.Quote(glob), m.Name, strings.Join(names, ", "))
		}
	}
	for _, name := range c.Env {
		switch err := manifest.CheckEnv(name); {
		case err != nil:
			return usage("--env %s: %w", tomlfile.Quote(name), err)
		case !slices.Contains(m.Capabilities.Env, name) && !slices.Contains(m.Capabilities.Env, manifest.Any):
			return usage("--env %s: %s does not ask for it", name, m.Name)
		}
		if _, set := lookup(o)(name); !set {
			return usage("--env %s: is not set here, and the host does not start where it is not: set it, or write its value for the plugin in %s", name, config.FileName)
		}
	}
	return nil
}

// indexOf is the place of the plugin in the config, -1 if it is not there: the table of its folder, or with
// the name that its manifest has.
func indexOf(o host.Options, file *configFile, m *manifest.Manifest) (int, error) {
	if !file.exists || noPlugins(file) {
		return -1, nil
	}
	view, err := host.LookAt(o, file.data)
	if view == nil {
		return -1, err
	}
	for i, have := range view.Plugins {
		if sameFolder(have.Entry.Path, m.Dir) {
			return i, nil
		}
		if have.Name == m.Name {
			return -1, usage("a plugin named %q is in %s already, in %s: two cannot have one name: remove that one first", m.Name, file.path, have.Entry.Path)
		}
	}
	return -1, err
}

// noPlugins tells whether the config is one that names no plugin, which the host would not serve.
func noPlugins(file *configFile) bool {
	c, problems := config.Parse(file.path, file.data)
	return problems.Err() == nil && len(c.Plugins) == 0
}

// add prepares the config with a new table.
func (p *Proposal) add(o host.Options, m *manifest.Manifest, a Addition) error {
	c, problems := config.Parse(p.Config, p.file.data)
	if err := problems.Err(); err != nil {
		return &host.UsageError{Err: err}
	}
	places, err := host.FindPlaces(o)
	if err != nil {
		return err
	}
	a.Path = pathFor(p.Config, m.Dir)
	var entry config.Plugin
	p.Plugin, entry = review.Ask(m, a.Choice, c.Defaults, places, leads(places, nil))
	p.Table = config.Table(entry)
	if p.content, err = config.AddPlugin(p.Config, p.file.data, entry); err != nil {
		return usage("%s cannot be added to %s: %w", a.Path, p.Config, err)
	}
	return p.decide(o, len(c.Plugins))
}

// repin prepares the config with another digest for the plugin at index.
func (p *Proposal) repin(o host.Options, m *manifest.Manifest, index int) error {
	c, _ := config.Parse(p.Config, p.file.data)
	places, err := host.FindPlaces(o)
	if err != nil {
		return err
	}
	p.Plugin, _ = review.Ask(m, review.Choice{}, c.Defaults, places, leads(places, nil))
	for i := range p.Plugin.Items {
		p.Plugin.Items[i].NotGiven = "" // the table that is there says what is given
	}
	if p.content, err = config.PinPlugin(p.file.data, index, m.Digest); err != nil {
		return usage("%s: %w", p.Config, err)
	}
	return p.decide(o, index)
}

// decide takes the decisions on the config that is proposed, as a start of the host would, and notes those on
// the plugin at index.
func (p *Proposal) decide(o host.Options, index int) error {
	view, err := host.LookAt(o, p.content)
	if view == nil {
		return err
	}
	s := view.Plugins[index]
	if err != nil && sharesTool(view.Plugins, index) {
		return usage("%w\nor add it with --prefix, which stands before the names of its tools, or with --allow-tool for the others only", err)
	}
	if err != nil {
		return err
	}
	if err := s.Problems.Err(); err != nil {
		return &host.UsageError{Err: err}
	}
	if s.Manifest.Digest != p.Plugin.Digest {
		return usage("%s was changed in the meantime: review it again", s.Manifest.File)
	}
	p.Warnings = s.Problems.Warnings()
	why := map[string]string{}
	for _, w := range s.Grant.Withheld {
		why[w.Tool.Name] = w.Why
	}
	for i := range p.Plugin.Tools {
		p.Plugin.Tools[i].WhyNot = why[p.Plugin.Tools[i].Name]
	}
	return nil
}

// sharesTool tells whether the plugin at index would offer a tool by the name of another's.
func sharesTool(plugins []host.Standing, index int) bool {
	offers := func(s host.Standing, name string) bool {
		return slices.ContainsFunc(s.Grant.Tools, func(t manifest.Tool) bool { return s.Grant.Prefix+t.Name == name })
	}
	for i, other := range plugins {
		for _, t := range other.Grant.Tools {
			if i != index && offers(plugins[index], other.Grant.Prefix+t.Name) {
				return true
			}
		}
	}
	return false
}

// Write changes the config.
func (p *Proposal) Write() error {
	if p.content == nil {
		return errors.New("the proposal is not complete")
	}
	var err error
	p.Trust, err = p.file.edit(p.content, p.store)
	return err
}
