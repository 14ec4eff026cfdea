package config

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
)

// Ceiling is an organisation's bound on what any config, flag or variable can grant. Each key of a ceiling only narrows
// grants. A nil slice in a field of Ceiling or Bounds bounds nothing; an empty slice allows nothing.
type Ceiling struct {
	File   string
	Memory int64 // most bytes that the memories of all plugins may have in total; 0: not bounded
	// Confined is set if the ceiling requires all layers of confinement.
	Confined bool
	// NoSkills is set if the ceiling forbids skills of projects.
	NoSkills bool
	// Audited is set if the ceiling requires an audit log. AuditClosed is set if calls must be refused while no record can
	// be written. A copy of each record goes to AuditAlso in addition to where the config says. AuditLine is the line of the ceiling's
	// [audit] table.
	Audited, AuditClosed bool
	AuditAlso            []string
	AuditLine            int
	// NoMetrics is set if the ceiling forbids metrics.
	NoMetrics bool
	// NoTraces is set if the ceiling forbids traces.
	NoTraces bool
	// NoLive is set if the ceiling forbids that servers offer their live state.
	NoLive           bool
	HTTP             HTTPBounds
	Sources          Sources
	All              Bounds    // bounds that apply to every plugin
	RequireSignature *Signers  // the keys with one of which every plugin must be signed; nil: plugins need no signature
	Plugins          []Allowed // the allowed plugins; nil: every plugin is allowed
	// Home is the value of ${home} in the paths of the ceiling. It does not come from the environment, which the user can set.
	Home string
}

// WithoutPaths returns a copy that is equal for equal ceilings in different files.
func (c *Ceiling) WithoutPaths() *Ceiling {
	same := *c
	same.File, same.Home, same.AuditLine, same.All.File = "", "", 0, ""
	same.RequireSignature = c.RequireSignature.withoutPath()
	same.Plugins = slices.Clone(c.Plugins)
	for i, p := range same.Plugins {
		same.Plugins[i].File, same.Plugins[i].RequireSignature = "", p.RequireSignature.withoutPath()
	}
	return &same
}

// Allowed is a plugin that a ceiling allows, and the bounds that apply to this plugin only.
type Allowed struct {
	Name   string
	SHA256 string // the digest that the plugin.toml must have; empty: any digest is allowed
	// RequireSignature takes the place of the ceiling's for this plugin; nil: it does not, unless SHA256 is set.
	RequireSignature *Signers
	Bounds
}

// Bounds are the maximum grant of a plugin.
type Bounds struct {
	File       string // the file of the table that sets these bounds
	Key        string // key of that table: ceiling, plugins[1], clients[0]
	Title      string // what messages call the table: Key, with the table's name, if it has one, in place of its index
	AllowTools []string
	DenyTools  []string
	ReadOnly   bool
	FS         []manifest.FS
	Deny       []string // patterns of files that are hidden in addition to those that the grant hides
	HTTP       []HTTP
	Git        []manifest.Git
	Env        []string // globs of the allowed variable names
	Ask        []interaction.Kind
	Approve    Approve
	Limits     manifest.Limits
	NoCommands bool           // whether the values of variables and credentials must not come from commands
	Pristine   bool           // whether isolation = "reused" is forbidden
	Lines      map[string]int // the line of each key, or that of the table
	Line       int            // line of the table that sets these bounds
}

// ParseCeiling parses a ceiling. The caller must use the ceiling only if Err of the problems returns nil.
func ParseCeiling(file string, data []byte) (*Ceiling, tomlfile.Problems) {
	doc, ps := tomlfile.Parse(file, data)
	if doc == nil {
		return nil, ps
	}
	root := doc.Root()
	server, audit, all := root.Table("server"), root.Table("audit"), root.Table("ceiling")
	c := &Ceiling{
		File:        file,
		Memory:      manifest.ReadSize(server, "memory", 64<<20, 1<<50),
		Confined:    server.OneOf("confinement", confinementAvailable, confinementRequired) == confinementRequired,
		Audited:     audit.Bool("required", false),
		AuditClosed: audit.OneOf("on_failure", FailOpen, FailClosed) == FailClosed,
		AuditAlso:   readCopies(audit, runtime.GOOS, AuditJournald, AuditSyslog),
		AuditLine:   audit.Line(),
		NoMetrics:   !audit.Bool(keyMetrics, true),
		NoTraces:    !audit.Bool(keyOTLP, true),
		NoLive:      !audit.Bool(keyLive, true),
		HTTP:        readHTTPBounds(root.Table("http")),
		Sources:     readSources(root.Table("sources")),
		All:         readBounds(all, checkCeilingPath),
		NoSkills:    !all.Bool(keySkills, true),

		RequireSignature: readSigners(all),
	}
	c.All.Lines[keySkills] = all.LineOf(keySkills)
	if root.Has("plugins") {
		c.Plugins = []Allowed{}
	}
	for _, t := range root.Tables("plugins") {
		allowed := Allowed{
			Name: t.Required("name", "write the name of a plugin"), SHA256: manifest.ReadDigest(t, "sha256"), RequireSignature: readSigners(t), Bounds: readBounds(t, checkCeilingPath),
		}
		allowed.setTitle(allowed.Name)
		c.Plugins = append(c.Plugins, allowed)
	}
	for i, p := range c.Plugins {
		same := func(have Allowed) bool { return have.Name == p.Name && have.SHA256 == p.SHA256 }
		if first := slices.IndexFunc(c.Plugins, same); first < i && p.Name != "" {
			doc.Add(tomlfile.Problem{Line: p.Line, Key: p.Key, What: fmt.Sprintf("allows the same plugin as line %d", c.Plugins[first].Line),
				Remedy: "merge the two tables, since only one of them would apply"})
		}
	}
	return c, doc.Problems()
}

// readBounds reads the bounds in t. checkPath validates the paths of directories.
func readBounds(t *tomlfile.Table, checkPath func(path string) error) Bounds {
	b := Bounds{
		File:       t.File(),
		Key:        t.Name(),
		Title:      t.Name(),
		AllowTools: readGlobs(t, "allow_tools"),
		DenyTools:  readGlobs(t, "deny_tools"),
		ReadOnly:   t.Bool("read_only", false),
		FS:         manifest.ReadFS(t, "fs", checkPath),
		Deny:       manifest.ReadDeny(t),
		HTTP:       (&Config{}).readHTTP(t),
		Git:        manifest.ReadGit(t, "git", checkCeilingPath),
		Env:        readGlobs(t, "env"),
		Ask:        manifest.ReadAsk(t),
		Approve:    readApprove(t),
		Limits:     manifest.ReadLimits(t.Table("limits")),
		NoCommands: !t.Bool("secret_commands", true),
		Pristine:   t.OneOf("isolation", IsolationReused, IsolationPristine) == IsolationPristine,
		Lines:      map[string]int{},
		Line:       t.Line(),
	}
	for _, key := range []string{"allow_tools", "deny_tools", "read_only", "fs", "deny", "http", "git", "env", "ask", keyApproveWrites, keyApproveTools, "limits", "isolation", "secret_commands"} {
		b.Lines[key] = t.LineOf(key)
	}
	return b
}

// checkCeilingPath is like manifest.CheckPath, but refuses the variables whose values do not bound a path: cwd and state.
func checkCeilingPath(path string) error {
	variable, _, err := manifest.SplitPath(path)
	switch {
	case err != nil:
		return err
	case variable == manifest.VarCwd || variable == manifest.VarState:
		return errors.New("has a variable other than ${project} and ${home}")
	}
	return nil
}

// places returns the values of the variables in the ceiling's paths. ${project} has no value if the project contains the home
// directory: a user who sets HOME could otherwise turn any directory into the project.
func (c *Ceiling) places(p Places) Places {
	out := Places{Project: p.Project, Home: c.Home}
	if out.Broad(out.Project) {
		out.Project = ""
	}
	return out
}

// Unresolved returns each absolute path of the ceiling that the function resolve changes. Such a path bounds nothing, because
// Narrow compares the ceiling's paths with resolved paths.
func (c *Ceiling) Unresolved(resolve func(path string) (string, error)) []string {
	return unresolved(c.bounds(), resolve)
}

func unresolved(all []Bounds, resolve func(path string) (string, error)) []string {
	var out []string
	check := func(path string) {
		if real, err := resolve(path); err == nil && real != path && path[0] == '/' && !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	for _, b := range all {
		for _, f := range b.FS {
			check(f.Path)
		}
		for _, g := range b.Git {
			check(g.Repo)
		}
	}
	return out
}

func (c *Ceiling) bounds() []Bounds {
	all := []Bounds{c.All}
	for _, p := range c.Plugins {
		all = append(all, p.Bounds)
	}
	return all
}

// setTitle sets the title of an item of an array of tables with a name: clients[ci].
func (b *Bounds) setTitle(name string) {
	array, _, _ := strings.Cut(b.Key, "[")
	b.Title = array + "[" + name + "]"
}

// At formats the position of a key for messages: ceiling.fs (/etc/bulkhead/bulkhead.toml:12).
func (b Bounds) At(key string) string {
	return fmt.Sprintf("%s.%s (%s:%d)", b.Title, key, b.File, b.Position(key).Line)
}

// Position returns the position of a key, or of the table if the key is absent.
func (b Bounds) Position(key string) Position {
	return Position{b.File, lineOf(b.Lines, key, b.Line)}
}

// AuditProblem returns the reason why the ceiling forbids use of the config in file; empty if the ceiling allows it.
func (c *Ceiling) AuditProblem(a *Audit, file string) string {
	if c == nil || !c.Audited || a != nil {
		return ""
	}
	where := "there is no config"
	if file != "" {
		where = file + " has no [audit]"
	}
	return where + ", and an audit log is required"
}

// NarrowAudit returns the [audit] of a config with what the ceiling requires of it. Both may be nil.
func (c *Ceiling) NarrowAudit(a *Audit) *Audit {
	if c == nil || a == nil {
		return a
	}
	narrowed := *a
	if c.AuditClosed {
		narrowed.OnFailure = FailClosed
	}
	if c.NoMetrics {
		narrowed.Metrics = Metrics{}
	}
	if c.NoTraces {
		narrowed.Traces = Traces{}
	}
	narrowed.Live = a.Live && !c.NoLive
	for _, to := range c.AuditAlso {
		if !a.HasCopy(to) {
			narrowed.Also = append(slices.Clip(narrowed.Also), to)
		}
	}
	return &narrowed
}

// allowed returns own, the ceiling's table for the plugin of m; nil if the ceiling has no such table. A table that states the
// manifest's digest takes precedence over a table without a digest. why is the reason why the plugin is not allowed.
func (c *Ceiling) allowed(m *manifest.Manifest) (own *Allowed, why string) {
	if c.Plugins == nil {
		return nil, ""
	}
	var names, digests []string
	for i := range c.Plugins {
		p := &c.Plugins[i]
		names = append(names, p.Name)
		switch {
		case p.Name != m.Name:
		case p.SHA256 == "":
			own = p
		case p.SHA256 == m.Digest && m.Module.SHA256 == "":
			return nil, fmt.Sprintf("%s.sha256 (%s:%d) pins its manifest, which has no digest of the module", p.Key, c.File, p.Line)
		case p.SHA256 == m.Digest:
			return p, ""
		default:
			digests = append(digests, fmt.Sprintf("%s:%d", c.File, p.Line))
		}
	}
	if own != nil {
		return own, ""
	}
	if digests != nil {
		return nil, fmt.Sprintf("its SHA-256 is %s, which %s does not allow", m.Digest, strings.Join(digests, ", "))
	}
	if names == nil {
		return nil, c.File + " allows no plugin"
	}
	return nil, fmt.Sprintf("%s:%d allows only these plugins: %s", c.File, c.Plugins[0].Line, shortList(names))
}
