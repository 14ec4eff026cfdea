package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/reference"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/ready"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/trust"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// Setup is the preparation of a project for plugins, which awaits the user's consent.
type Setup struct {
	Project string `json:"project"`
	Config  string `json:"config"`         // the file that Write changes
	Creates bool   `json:"creates_config"` // whether Write creates the file
	// PassedOver is the user's config, if it is in force now. It will not be in force in this project once Config exists.
	PassedOver string `json:"passed_over,omitempty"`
	Adds       string `json:"adds,omitempty"` // the text that is appended to the config
	// AuditRequiredBy is the position of the ceiling's key that requires the table [audit] in Adds; empty if Adds does not
	// contain this table.
	AuditRequiredBy string        `json:"audit_required_by,omitempty"`
	Plugins         []SetupPlugin `json:"plugins"`
	Files           []ready.File  `json:"creates"` // files and directories that Write creates for the plugins
	// Trust is set by Write, and so is Unrecorded: why the audit log has no record of the change.
	Trust      ConfigTrust `json:"trust,omitzero"`
	Unrecorded string      `json:"unrecorded,omitempty"`

	audit  *config.Audit // the audit log of the resulting config; nil if it has none
	store  trust.Store
	file   *configFile
	config *config.Config // the resulting config
}

// SetupPlugin is a plugin of a Setup.
type SetupPlugin struct {
	Name        string        `json:"name"`
	Version     string        `json:"version"`
	Description string        `json:"description"`
	InConfig    bool          `json:"in_config"`          // whether the config has a table of the plugin, which is not changed
	Items       []review.Item `json:"asks_for,omitempty"` // what the plugin asks for; nil if InConfig is set
	// Lacks are the plugin's requirements that will still be unmet after Setup.Write, each with its remedy.
	Lacks []string `json:"lacks,omitempty"`
	// Call is a tool that reads and takes no arguments, for a first call; empty if there is none.
	Call string `json:"call,omitempty"`
}

// Changes reports whether Write would change anything.
func (s *Setup) Changes() bool { return s.Adds != "" || len(s.Files) > 0 }

// Choice is an installed plugin that a project can be prepared for.
type Choice struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Needs       string `json:"needs"`    // what the plugin needs, in one line
	Everyday    bool   `json:"everyday"` // works in any project; otherwise it is for projects that are prepared for it
}

// Choices returns the installed plugins, those for every day first, and the directory that contains them.
func Choices(o discovery.Options) ([]Choice, string, error) {
	installed, dir, err := discovery.Installed(o)
	var all []Choice
	for _, c := range installed {
		prepared := func(r manifest.Requirement) bool { return !r.Optional }
		all = append(all, Choice{c.Name(), c.Manifest.Description, needs(c.Manifest), !slices.ContainsFunc(c.Manifest.Requires, prepared)})
	}
	slices.SortStableFunc(all, func(a, b Choice) int {
		switch {
		case a.Everyday == b.Everyday:
			return 0
		case a.Everyday:
			return -1
		}
		return 1
	})
	return all, dir, err
}

// placeWords replaces the variables of paths with words for users.
var placeWords = strings.NewReplacer("${project}/", "", "${cwd}/", "", "${project}", "the project", "${cwd}", "the working directory", "${home}", "~", "${state}", "its own directory")

// needs describes in one line what a plugin needs.
func needs(m *manifest.Manifest) string {
	var list []string
	for _, f := range m.Capabilities.FS {
		if !f.Optional {
			list = append(list, fmt.Sprintf("%s (%s)", placeWords.Replace(f.Path), f.Access))
		}
	}
	if slices.Contains(m.Capabilities.HTTP, manifest.PublicWeb) {
		list = append(list, "web servers: --public-web, or http in the config")
	}
	for _, r := range m.Requires {
		switch {
		case len(r.Tools) > 0, r.Optional:
		case r.Env != "":
			list = append(list, "the variable "+r.Env)
		case len(r.Paths) > 0:
			at := slices.IndexFunc(r.Paths, func(p string) bool { return !strings.HasPrefix(p, manifest.EnvPath) })
			list = append(list, r.Why+" in "+placeWords.Replace(r.Paths[max(at, 0)]))
		}
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// Preparation says what a project is prepared for.
type Preparation struct {
	Plugins    []string          // names of installed plugins
	Env        map[string]string // values of variables that plugins request; they override those of the manifests
	PublicWeb  bool              // grants the public web to plugins that request it
	AllowWrite bool              // offers the write tools of plugins with write = "opt-in"
	// Grants are granted instead of what the manifests request, by the name of the plugin.
	Grants map[string]reference.Grants
	// User prepares the user's config instead of the project's.
	User bool
}

// ProposeSetup prepares a project for plugins, without changing anything. It refuses a config that the user does not trust.
func ProposeSetup(o discovery.Options, wanted Preparation) (*Setup, error) {
	o = discovery.WithManifests(o, &manifest.Cache{})
	places, err := discovery.FindPlaces(o)
	if err != nil {
		return nil, err
	}
	if places.Project == "" && !wanted.User {
		return nil, usage.Errorf("there is no project to prepare: %s", places.NoProject)
	}
	s := &Setup{Project: places.Project, Plugins: []SetupPlugin{}, Files: []ready.File{}, store: trustStore(o)}
	source, err := s.findConfig(o, places, wanted.User)
	if err != nil {
		return nil, err
	}
	s.Config = source.File
	if s.file, err = readConfigFile(source); err != nil {
		return nil, err
	}
	s.Creates = !s.file.Exists
	c, problems := config.Parse(s.Config, nil)
	if s.file.Exists {
		c, problems, err = discovery.ParseTrusted(o, source, s.file.Data)
		not := (*discovery.UntrustedError)(nil)
		switch untrusted := errors.As(err, &not); {
		case untrusted && hasNoPlugins(s.file): // bulkhead trust refuses a config without plugins
			return nil, usage.Errorf("%s, and names no plugin: move it away, run `bulkhead init`, and add its keys to the new file; then review that with `bulkhead trust`", not.Problem())
		case untrusted:
			return nil, usage.Errorf("%s: review it with `bulkhead trust`, then try again", not.Problem())
		case err != nil:
			return nil, err
		}
	}
	o.ConfigFile = s.Config
	if err := s.addTables(o, c, problems, places, wanted); err != nil {
		return nil, err
	}
	return s, s.complete(o)
}

// hasNoPlugins reports whether the config's only problem is that it names no plugin.
func hasNoPlugins(file *configFile) bool {
	c, problems := config.Parse(file.Path, file.Data)
	return problems.Err() == nil && len(c.Plugins) == 0
}

// findConfig returns the config that is in force. If that is the user's config, or there is none, it returns the project's config,
// which need not exist. If user is set, it returns the user's config unless another one is named.
func (s *Setup) findConfig(o discovery.Options, places config.Places, user bool) (discovery.Source, error) {
	source, err := discovery.FindConfig(o)
	if err == nil && user && source.By > discovery.ByVariable {
		return discovery.UserConfig(o)
	}
	if err != nil || source.By < discovery.ByUser {
		return source, err
	}
	if source.By == discovery.ByUser {
		s.PassedOver = source.File
	}
	return discovery.Source{File: filepath.Join(places.Project, config.FileName), By: discovery.ByProject}, nil
}

// addTables appends a table for each plugin that the config c does not have. problems are those of c.
func (s *Setup) addTables(o discovery.Options, c *config.Config, problems tomlfile.Problems, places config.Places, wanted Preparation) error {
	installed, dir, err := discovery.Installed(o)
	if err != nil {
		return err
	}
	if err := problems.Err(); err != nil {
		return &usage.Error{Err: err}
	}
	defaults := c.Defaults
	if c, s.AuditRequiredBy, err = withAudit(o, c); err != nil {
		return err
	}
	existing := map[string]bool{}
	if len(c.Plugins) > 0 {
		view, err := catalog.LookWith(o, c)
		if err != nil {
			return err
		}
		for _, p := range view.Plugins {
			existing[p.Name] = true
		}
	}
	for i, name := range wanted.Plugins {
		if slices.Contains(wanted.Plugins[:i], name) {
			continue
		}
		at := slices.IndexFunc(installed, func(c discovery.Candidate) bool { return c.Name() == name })
		if at < 0 {
			return usage.Errorf("there is no plugin %q in %s: %s", name, dir, usage.DidYouMean(name, namesOf(installed), "the plugins are "+strings.Join(namesOf(installed), ", ")))
		}
		if err := installed[at].Problems.Err(); err != nil {
			return &usage.Error{Err: err}
		}
		m := installed[at].Manifest
		plugin := SetupPlugin{Name: name, Version: m.Version, Description: m.Description, InConfig: existing[name]}
		if !existing[name] {
			existing[name] = true
			request, entry, err := tableFor(o, m, defaults, places, wanted)
			if err != nil {
				return err
			}
			plugin.Items = request.Items
			if c, err = c.AddPlugin(entry); err != nil {
				return usage.Errorf("%s cannot be added to %s: %w", name, s.Config, err)
			}
		}
		s.Plugins = append(s.Plugins, plugin)
	}
	if err := s.checkGrants(c, wanted); err != nil {
		return err
	}
	s.config, s.Adds = c, string(c.Content()[len(s.file.Data):])
	return nil
}

// complete decides on the resulting config as the host does when it starts. It determines what has to be created, which
// requirements remain unmet, and which tool is called first.
func (s *Setup) complete(o discovery.Options) error {
	view, err := catalog.LookWith(o, s.config)
	if err != nil {
		return err
	}
	s.audit = view.Audit
	for i := range s.Plugins {
		p := view.Plugin(s.Plugins[i].Name)
		if err := p.Problems.Err(); err != nil {
			return &usage.Error{Err: err}
		}
		for _, c := range view.Conflicts {
			if c.First == p || c.Second == p {
				return usage.Errorf("%s", c)
			}
		}
		if err := s.provide(o, view, p, &s.Plugins[i]); err != nil {
			return err
		}
	}
	return nil
}

// provide plans what is created for a plugin.
func (s *Setup) provide(o discovery.Options, view *catalog.Catalog, p *catalog.Plugin, plugin *SetupPlugin) error {
	for _, lack := range p.Lacks(view.Places) {
		files, err := ready.Missing(p.Manifest, lack.Requirement, view.Places, permitWriting(o, view, p))
		switch {
		case err != nil:
			return usage.Errorf("%w", err)
		case len(files) > 0:
			s.Files = append(s.Files, files...)
		default:
			plugin.Lacks = append(plugin.Lacks, lack.String())
		}
	}
	for _, t := range p.Manifest.Tools {
		if !t.Write && takesNoArguments(t) && p.IsGranted(t.Name) {
			plugin.Call = p.Grant.Prefix + t.Name
			return nil
		}
	}
	return nil
}

// permitWriting returns a function that permits only files that the plugin could write itself.
func permitWriting(o discovery.Options, view *catalog.Catalog, p *catalog.Plugin) ready.Permit {
	return func(path string) error {
		if obstacle := obstacleTo(path); obstacle != "" {
			return fmt.Errorf("%s cannot be created while a file, or a symbolic link that cannot be followed, is in its path: remove %s", path, obstacle)
		}
		answers, err := explain.Paths(o, view, explain.SubjectOf(o, view, p), path)
		if err != nil {
			return err
		}
		if write := answers[1]; !write.Allowed {
			return fmt.Errorf("%s cannot be created: %s", write.Asked, write.Why)
		}
		return nil
	}
}

// obstacleTo returns the nearest existing ancestor of a path if it is no directory, and otherwise "". The grants permit paths below it,
// so the verdict of the file tree does not name it.
func obstacleTo(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err != nil && dir != filepath.Dir(dir) {
			continue
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return dir
		}
		return ""
	}
}

// takesNoArguments reports whether a tool can be called without arguments.
func takesNoArguments(t manifest.Tool) bool {
	var schema struct {
		Required []string `json:"required"`
	}
	return json.Unmarshal(t.Input, &schema) == nil && len(schema.Required) == 0
}

// Write creates the files, and then adds the plugins to the config. It returns what it has created, even if it fails.
func (s *Setup) Write() (created []string, err error) {
	if created, err = ready.Create(s.Files); err != nil {
		return created, usage.Errorf("%w", err)
	}
	if s.Adds == "" {
		return created, nil
	}
	s.Unrecorded, err = recorded(s.file.auditInForce(s.audit, s.store), true, func() (_ []audit.Record, err error) {
		s.Trust, err = s.file.update(s.config.Content(), s.store)
		return []audit.Record{policyChange("init", s.Config)}, err
	})
	if err != nil {
		return created, err
	}
	if s.Creates {
		created = append(created, s.Config)
	}
	return created, nil
}
