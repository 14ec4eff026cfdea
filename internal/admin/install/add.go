package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/trust"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// Addition says which plugin to add to a config, and with which grants.
type Addition struct {
	Dir string // directory of the built plugin
	review.Choice
	// Repin changes only the digest of a plugin that is already in the config, and its reference and version if it was fetched.
	Repin bool
	// Staged is the plugin that was fetched, in place of Dir; nil for a directory.
	Staged *Staged
	// ShowManifest asks for Proposal.Manifest.
	ShowManifest bool
}

// Proposal is an addition that awaits the admin's consent.
type Proposal struct {
	Config  string         `json:"config"`         // the file that Write changes
	Creates bool           `json:"creates_config"` // whether Write creates the file
	Plugin  review.Request `json:"plugin"`
	Table   string         `json:"table,omitempty"` // the new table of the config; empty if only the digest changes
	// Audit is the [audit] table that is added too, because the ceiling's key at AuditRequiredBy requires an audit log.
	Audit           string            `json:"audit,omitempty"`
	AuditRequiredBy string            `json:"audit_required_by,omitempty"`
	Warnings        tomlfile.Problems `json:"warnings,omitempty"`
	Manifest        string            `json:"manifest,omitempty"` // content of plugin.toml; empty if it was not asked for
	// Source says where the plugin was fetched from; nil for a directory.
	Source *Source `json:"source,omitempty"`
	// Revision compares the plugin with the version that is pinned; nil without Addition.Repin.
	Revision *Revision `json:"revision,omitempty"`
	// List says what the list of tools will cost, with this plugin.
	List string `json:"list,omitempty"`
	// Trust is set by Write, and so is NotKept: why the reviewed manifest is not kept for the comparison with the next version.
	Trust   ConfigTrust `json:"trust,omitzero"`
	NotKept string      `json:"not_kept,omitempty"`
	// Unrecorded is set by Write: why the audit log has no record of the change.
	Unrecorded string `json:"unrecorded,omitempty"`

	record   audit.Record  // of the change
	audit    *config.Audit // the audit log of the resulting config; nil if it has none
	store    trust.Store
	staged   *Staged
	plugins  store.Store
	reviewed reviewedManifests
	manifest []byte // content of the reviewed manifest
	file     *configFile
	base     *config.Config // the config, with the table Audit added
	content  []byte
}

// Propose reviews a plugin and prepares the new content of the config, without writing it. review.Ask puts the digest of
// plugin.toml into the table. Propose refuses a plugin that the host could not serve: an invalid manifest or config, a
// module that is missing or does not match the manifest, and a duplicate plugin, name or tool. o names the config.
func Propose(o discovery.Options, a Addition) (*Proposal, error) {
	manifests := &manifest.Cache{}
	o = discovery.WithManifests(o, manifests)
	if a.Staged != nil {
		o, a.Dir = discovery.WithStaged(o, a.Staged.store), a.Staged.dir()
	}
	m, err := loadReviewed(o, manifests, a)
	if err != nil {
		return nil, err
	}
	source, file, err := findConfigFile(o)
	if err != nil {
		return nil, err
	}
	named := source.File
	o.ConfigFile = named
	p := &Proposal{Config: named, Creates: !file.Exists, file: file, store: trustStore(o), reviewed: reviewedIn(o), staged: a.Staged}
	p.record = policyChange("add", named)
	if a.Repin {
		p.record.Method = "pin"
	}
	p.record.Plugin, p.record.Version, p.record.Digest = m.Name, m.Version, m.Digest
	if a.Staged != nil {
		if p.plugins, err = discovery.Store(o.System); err != nil {
			return nil, err
		}
		p.Source = a.Staged.source()
	}
	if p.manifest, err = readReviewed(m); err != nil {
		return nil, usage.Errorf("%w", err)
	}
	if a.ShowManifest {
		p.Manifest = string(p.manifest)
	}
	c, problems := config.Parse(named, file.Data)
	if err := problems.Err(); err != nil {
		return nil, &usage.Error{Err: err}
	}
	if err := p.addAudit(o, c, a); err != nil {
		return nil, err
	}
	at, err := p.indexInConfig(o, m, a)
	if err != nil {
		return nil, err
	}
	switch {
	case at >= 0 && !a.Repin:
		return nil, isInConfig(p.base.Plugins[at], m.Name, named)
	case at < 0 && a.Repin:
		return nil, usage.Errorf("plugin %q is not in %s, so it has no digest to replace: leave out --repin", m.Name, named)
	}
	if err := p.checkRevoked(o, m, a, at); err != nil {
		return nil, err
	}
	if a.Repin {
		err = p.repin(o, m, at)
	} else {
		err = p.add(o, m, a)
	}
	if p.staged != nil {
		p.Plugin.Dir = p.plugins.Path(m.Digest) // where Write puts it
	}
	return p, err
}

// addAudit adds the [audit] table that the ceiling requires. With --repin, nothing but the digest changes.
func (p *Proposal) addAudit(o discovery.Options, c *config.Config, a Addition) (err error) {
	if p.base = c; a.Repin {
		return nil
	}
	p.base, p.AuditRequiredBy, err = withAudit(o, c)
	if err != nil {
		return err
	}
	p.Audit = strings.TrimLeft(string(p.base.Content()[len(p.file.Data):]), "\r\n")
	return nil
}

// loadReviewed loads the plugin and checks its manifest, its module and the choices of the admin.
func loadReviewed(o discovery.Options, manifests *manifest.Cache, a Addition) (*manifest.Manifest, error) {
	dir, err := discovery.Absolute(o, a.Dir)
	if err != nil {
		return nil, err
	}
	m, problems := manifests.Load(dir)
	if problems.Err() == nil {
		problems = append(problems, m.Check()...)
	}
	if err := problems.Err(); err != nil {
		return nil, &usage.Error{Err: err}
	}
	if err := checkBuilt(m); err != nil {
		return nil, err
	}
	return m, checkChoice(o, m, a.Choice)
}

// checkChoice refuses choices that contradict each other or name tools and variables that the plugin does not have.
func checkChoice(o discovery.Options, m *manifest.Manifest, c review.Choice) error {
	if c.ReadOnly && c.AllowWrite {
		return usage.Errorf("--read-only and --allow-write contradict each other: keep one of the two")
	}
	var names []string
	for _, t := range m.Tools {
		names = append(names, t.Name)
	}
	for _, glob := range c.AllowTools {
		if _, err := path.Match(glob, ""); err != nil || glob == "" {
			return usage.Errorf("--allow-tool %s: is not a pattern: write a name, in which * matches any characters and ? matches one", tomlfile.Quote(glob))
		}
		if !slices.ContainsFunc(names, config.Filter{Allow: []string{glob}}.Allowed) {
			return usage.Errorf("--allow-tool %s: %s has no such tool; %s", tomlfile.Quote(glob), m.Name, usage.DidYouMean(glob, names, "its tools are "+strings.Join(names, ", ")))
		}
	}
	if c.PublicWeb && !slices.Contains(m.Capabilities.HTTP, manifest.PublicWeb) {
		return usage.Errorf("--public-web: %s does not ask for the public web: remove the flag", m.Name)
	}
	for _, name := range c.Env {
		switch err := manifest.CheckEnv(name); {
		case err != nil:
			return usage.Errorf("--env %s: %w", tomlfile.Quote(name), err)
		case !slices.Contains(m.Capabilities.Env, name) && !slices.Contains(m.Capabilities.Env, manifest.Any):
			return usage.Errorf("--env %s: %s does not ask for this variable", name, m.Name)
		}
		if _, set := discovery.LookupEnv(o.System)(name); !set {
			return usage.Errorf("--env %s: the variable is not set in this environment, and the host does not start without it: set it, or write its value for the plugin in %s", name, config.FileName)
		}
	}
	return nil
}

// indexInConfig returns the index of the plugin in the config, by its directory or, if it was fetched, by its name, or -1 if the config does
// not contain it. It refuses a plugin with the same name in a different directory.
func (p *Proposal) indexInConfig(o discovery.Options, m *manifest.Manifest, a Addition) (int, error) {
	if len(p.base.Plugins) == 0 {
		return -1, nil
	}
	view, err := catalog.LookWith(o, p.base)
	if view == nil {
		return -1, err
	}
	for i, existing := range view.Plugins {
		fetched := a.Staged != nil && existing.Entry.From != ""
		if fetched && existing.Name == m.Name || !fetched && discovery.SameDirectory(existing.Entry.Path, m.Dir) {
			return i, nil
		}
		if existing.Name == m.Name {
			return -1, usage.Errorf("a plugin named %q is in %s already, in %s: names must be unique: remove that plugin first", m.Name, p.Config, cmp.Or(existing.Entry.From, existing.Entry.Path))
		}
	}
	return -1, err
}

// add prepares the config with a table for the plugin.
func (p *Proposal) add(o discovery.Options, m *manifest.Manifest, a Addition) error {
	places, err := discovery.FindPlaces(o)
	if err != nil {
		return err
	}
	if a.Path = pathInConfig(p.Config, m.Dir); p.staged != nil {
		a.Path = p.Source.From
	}
	var entry config.Plugin
	p.Plugin, entry = review.Ask(m, a.Choice, p.base.Defaults, places, explain.NewResolver(places, nil))
	if p.staged != nil {
		entry.Path, entry.From, entry.Version, entry.Signer = "", p.Source.From, p.staged.operator+m.Version, p.staged.signer
	}
	p.Table = config.Table(entry)
	c, err := p.base.AddPlugin(entry)
	if err != nil {
		return usage.Errorf("%s cannot be added to %s: %w", a.Path, p.Config, err)
	}
	_, err = p.checkResult(o, c, p.base.Own())
	return err
}

// repin prepares the config with a new digest for the plugin at index.
func (p *Proposal) repin(o discovery.Options, m *manifest.Manifest, index int) error {
	existing := p.base.Plugins[index]
	pin := config.Plugin{SHA256: m.Digest}
	again := m.Dir
	if p.staged != nil {
		operator, _ := config.SplitVersion(existing.Version)
		pin.From, pin.Version, pin.Signer, again = p.Source.From, operator+m.Version, p.staged.signer, p.Source.From
		if err := p.staged.checkSigner(existing); err != nil {
			return err
		}
		p.Source = p.staged.source()
	}
	if err := notIncluded(p.base, index, "add --repin "+again); err != nil {
		return err
	}
	places, err := discovery.FindPlaces(o)
	if err != nil {
		return err
	}
	p.Plugin, _ = review.Ask(m, review.Choice{}, p.base.Defaults, places, explain.NewResolver(places, nil))
	for i := range p.Plugin.Items {
		p.Plugin.Items[i].NotGiven = "" // the existing table decides what is granted
	}
	c, err := p.base.PinPlugin(index, pin)
	if err != nil {
		return usage.Errorf("%s: %w", p.Config, err)
	}
	view, err := p.checkResult(o, c, index)
	if err == nil {
		p.Revision, err = compareWithPinned(o, p.base, index, m, view)
	}
	return err
}

// checkResult decides on the proposed config c as the host does when it starts, and copies the warnings and withheld tools
// of the plugin at index to the proposal. It returns what the host would serve.
func (p *Proposal) checkResult(o discovery.Options, c *config.Config, index int) (*catalog.Catalog, error) {
	p.content = c.Content()
	view, err := catalog.LookWith(o, c)
	if err != nil {
		return nil, err
	}
	p.List = view.DescribeList()
	s := view.Plugins[index]
	for _, c := range view.Conflicts {
		if c.First == s || c.Second == s {
			return nil, usage.Errorf("%s; or add it with --prefix, which changes the names of its tools, or with --allow-tool, which leaves out the duplicates", c)
		}
	}
	if err := s.Problems.Err(); err != nil {
		return nil, &usage.Error{Err: err}
	}
	if s.Manifest.Digest != p.Plugin.Digest {
		return nil, usage.Errorf("%s has changed since it was read: review it again", s.Manifest.File)
	}
	for _, t := range s.Grant.Tools {
		if offered := s.Grant.Prefix + t.Name; !manifest.IsPortableName(offered) {
			return nil, usage.Errorf("--prefix %s makes %s, a tool name that some clients refuse: %s", s.Grant.Prefix, tomlfile.Quote(offered), manifest.PortableNames)
		}
	}
	p.audit, p.Warnings = view.Audit, s.Problems.Warnings()
	for _, lack := range s.Lacks(view.Places) {
		p.Warnings = append(p.Warnings, tomlfile.Problem{File: s.Manifest.File, Line: lack.Line, Key: "requires", What: "it cannot work yet: " + lack.What, Remedy: lack.Remedy, Warning: true})
	}
	if p.staged != nil && len(p.staged.looksLike) > 0 {
		p.Warnings = append(p.Warnings, tomlfile.Problem{Key: "name", What: fmt.Sprintf("looks like %s, of which it is not a version", strings.Join(p.staged.looksLike, ", ")),
			Remedy: "make sure that this is the plugin that you mean", Warning: true})
	}
	p.warnOfSkipped()
	p.Plugin.Listed = review.Listed(s.Grant.Prefix, s.Grant.Tools)
	why := map[string]string{}
	for _, w := range s.Grant.Withheld {
		why[w.Tool.Name] = w.Why
	}
	for i := range p.Plugin.Tools {
		p.Plugin.Tools[i].WhyNot = why[p.Plugin.Tools[i].Name]
	}
	return view, nil
}

// Write puts a plugin that was fetched into the store, writes the config, and keeps the reviewed manifest.
func (p *Proposal) Write(ctx context.Context) error {
	if p.content == nil {
		return errors.New("the proposal has no content: create it with Propose")
	}
	if p.staged != nil {
		if _, err := p.plugins.Add(ctx, p.staged.plugin, p.staged.origin); err != nil {
			return err
		}
	}
	var err error
	p.Unrecorded, err = recorded(p.file.auditInForce(p.audit, p.store), true, func() (_ []audit.Record, err error) {
		p.Trust, err = p.file.update(p.content, p.store)
		return []audit.Record{p.record}, err
	})
	if err != nil {
		return err
	}
	if err := p.reviewed.add(p.manifest); err != nil {
		p.NotKept = err.Error()
	}
	return nil
}
