package config

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Parse parses a config and the files that it includes. file is the path of the config, data its content. The config is nil if
// data is not TOML. The caller must use the config only if Err of the problems returns nil, and only after Expand.
func Parse(file string, data []byte) (*Config, tomlfile.Problems) {
	return ParseWith(file, data, tomlfile.ReadFile)
}

// ParseWith is like Parse, but reads included files with the function read. The paths that read gets are absolute if file is.
func ParseWith(file string, data []byte, read func(path string) ([]byte, error)) (*Config, tomlfile.Problems) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, tomlfile.Problems{{File: file, What: err.Error()}}
	}
	doc, ps := tomlfile.Parse(file, data)
	if doc == nil {
		return nil, ps
	}
	c := &Config{File: abs, doc: doc, read: read}
	return c, c.readDoc(file)
}

// readDoc reads c.doc, whose problems name file, and the files that it includes.
func (c *Config) readDoc(file string) tomlfile.Problems {
	doc := c.doc
	c.Files, c.Unread = include(doc, file, doc.Bytes(), c.read)
	c.Files[0].Path = c.File
	root := doc.Root()
	if t := root.Table("server"); t.Present() {
		c.Server = readServer(t)
		c.readSkills(t)
	}
	defaults := root.Table("defaults")
	limits := defaults.Table("limits")
	c.Defaults = Defaults{Limits: manifest.ReadLimits(limits), Deny: manifest.ReadDeny(defaults), Approve: readApprove(defaults), ApproveAt: approveAt(defaults), Files: filesOf(file, defaults, limits)}
	audit := root.Table("audit")
	c.readAudit(audit)
	c.readClients(root)
	c.checkReaders(doc, audit)
	http := root.Table("http")
	c.readOthers(http)
	c.readHTTPServer(http)
	c.Sources = readSources(root.Table("sources"))
	credentials := root.Table("credentials")
	c.readCredentials(credentials)
	for _, t := range root.Tables("plugins") {
		p := c.readPlugin(t)
		p.Included = p.File != file
		c.Plugins = append(c.Plugins, p)
	}
	c.readProjects(root.Tables("projects"))
	c.warnUnused(credentials)
	for _, p := range duplicatePaths(c.Plugins) {
		doc.Add(p)
	}
	ps := doc.Problems()
	c.Warnings = ps.Warnings()
	return ps
}

// maxTitle is the maximum length of the server's title, in bytes.
const maxTitle = 200

// readServer reads [server], which must set at least one key: for an empty table, the reported problem is a missing name. A title
// requires a name, because a plugin that is served alone has a name of its own, to which the title would not belong.
func readServer(t *tomlfile.Table) *Server {
	s := &Server{
		Title:    t.String("title"),
		Drain:    manifest.ReadDuration(t, "drain"),
		Memory:   manifest.ReadSize(t, "memory", 64<<20, 1<<50),
		Confined: t.OneOf("confinement", confinementAvailable, confinementRequired) == confinementRequired,
	}
	if t.Has("tools") {
		s.Tools = t.OneOf("tools", ToolModes...)
	}
	if !visible.Only(s.Title) || len(s.Title) > maxTitle {
		t.Fault("title", fmt.Sprintf("is longer than %d bytes, or contains invisible characters", maxTitle), "write a short name for people")
	}
	if t.Has("name") || t.Has("title") || !t.Has("drain") && !t.Has("memory") && !t.Has("confinement") && !t.Has("tools") && !t.Has(keySkills) {
		s.Name = t.Required("name", `write name = "bulkhead" in [server]`)
	}
	return s
}

// duplicatePaths reports plugins that have the same directory or name. It skips paths with references, which are not expanded yet.
func duplicatePaths(plugins []Plugin) (ps tomlfile.Problems) {
	all := map[string]Plugin{} // the first plugin with each value, keyed by key and value
	for _, p := range plugins {
		key, what, value := "path", "directory", p.Path
		switch {
		case p.Name != "":
			key, what, value = "name", "name", p.Name
		case p.From != "":
			key, what, value = "sha256", "digest", p.SHA256
		}
		first, duplicate := all[key+" "+value]
		switch {
		case value == "" || slices.Contains(p.References, key):
		case duplicate:
			where := fmt.Sprintf("line %d", lineOf(first.Lines, key, first.Line))
			if first.File != p.File {
				where += " of " + first.File
			}
			ps = append(ps, tomlfile.Problem{File: p.File, Line: lineOf(p.Lines, key, p.Line), Key: p.Key + "." + key,
				What: fmt.Sprintf("is also the %s of the plugin in %s", what, where), Remedy: "remove one of them"})
		default:
			all[key+" "+value] = p
		}
	}
	return ps
}

func (c *Config) readPlugin(t *tomlfile.Table) Plugin {
	env := t.Table("env")
	dir, _ := filepath.Abs(filepath.Dir(t.File())) // Abs cannot fail here: ParseWith has called it successfully
	p := Plugin{
		File: t.File(), Key: t.Name(), Dir: dir,
		Path:       readPath(t),
		Name:       t.String("name"),
		From:       readFrom(t),
		Version:    readVersion(t),
		Signer:     readSigner(t),
		SHA256:     manifest.ReadDigest(t, "sha256"),
		Prefix:     readPrefix(t),
		AllowTools: readGlobs(t, "allow_tools"),
		DenyTools:  readGlobs(t, "deny_tools"),
		Prompts:    readFilter(t, "prompts"),
		Resources:  readFilter(t, "resources"),
		ReadOnly:   t.Bool("read_only", false),
		AllowWrite: t.Bool("allow_write", false),
		Approve:    readApprove(t),
		Always:     t.Bool("always_offer", false),
		FS:         manifest.ReadFS(t, "fs", checkPath),
		Deny:       manifest.ReadDeny(t),
		HTTP:       c.readHTTP(t),
		Git:        manifest.ReadGit(t, "git", checkPath),
		Env:        readEnv(env),
		Secrets:    readSecrets(env),
		Ask:        manifest.ReadAsk(t),
		Limits:     manifest.ReadLimits(t.Table("limits")),
		Isolation:  t.OneOf("isolation", IsolationPristine, IsolationReused),
		Listed:     t.Has("tools") && t.OneOf("tools", toolsListed) == toolsListed,
		Line:       t.Line(),
	}
	p.Lines = linesOf(t, env, p)
	p.References = references(p)
	if t.Has("name") && !manifest.IsPluginName(p.Name) {
		t.Fault("name", fmt.Sprintf("%s is not the name of a plugin", tomlfile.Quote(p.Name)), "write the name of an installed plugin, or the path of a directory in path")
	}
	if p.From != "" && p.SHA256 == "" {
		t.Fault("from", "requires sha256, the digest of the plugin.toml that was reviewed", "add the plugin with `bulkhead add REF`, which writes both")
	}
	if err := checkPluginPath(p.Path); p.Path != "" && err != nil {
		t.Fault("path", fmt.Sprintf("%s %v", tomlfile.Quote(p.Path), err), "write the path of a directory; ${env:NAME} in it is expanded")
	} else if !hasReference(p.Path) {
		p.Path = absolute(p.Dir, p.Path)
	}
	if p.ReadOnly && p.AllowWrite {
		t.Fault("allow_write", "conflicts with read_only", "keep one of the two")
	}
	return p
}

// readPath returns the value of path in a plugin's table; empty if the table has name or from instead.
func readPath(t *tomlfile.Table) string {
	keys := slices.DeleteFunc([]string{"path", "name", "from"}, func(key string) bool { return !t.Has(key) })
	if len(keys) == 0 || len(keys) == 1 && keys[0] == "path" {
		return t.Required("path", `write path = "…": a directory that contains a `+manifest.FileName+`; or name = "…": an installed plugin; or run `+"`bulkhead add REF`")
	}
	for _, key := range keys[1:] {
		t.Fault(key, "conflicts with "+keys[0], "keep one of the two")
	}
	return t.String("path")
}

// readSigner returns the key of the author of a plugin that was fetched.
func readSigner(t *tomlfile.Table) signature.Key {
	if !t.Has("signer") {
		return signature.Key{}
	}
	text := t.String("signer")
	key, err := signature.ParseKey(text)
	switch {
	case err != nil:
		t.Fault("signer", fmt.Sprintf("%s %v", tomlfile.Quote(text), err), "write the public key of the author, as `bulkhead add REF` does")
	case !t.Has("from"):
		t.Fault("signer", "applies to plugins with from only", "remove it, or add the plugin with `bulkhead add REF`")
	}
	return key
}

// maxFrom bounds a reference, in bytes.
const maxFrom = 2048

// readFrom returns the reference of a plugin that was fetched. The commands that fetch parse it.
func readFrom(t *tomlfile.Table) string {
	from := t.String("from")
	if t.Has("from") && (from == "" || len(from) > maxFrom || !visible.Only(from)) {
		t.Fault("from", fmt.Sprintf("is empty, longer than %d bytes, or contains invisible characters", maxFrom), "add the plugin with `bulkhead add REF`, which writes it")
	}
	return from
}

// readVersion returns the value of version in a plugin's table.
func readVersion(t *tomlfile.Table) string {
	version := t.String("version")
	switch _, number := SplitVersion(version); {
	case !t.Has("version"):
	case !t.Has("from"):
		t.Fault("version", "requires from: only a plugin that was fetched can be updated", "remove it")
	case !manifest.IsVersion(number):
		t.Fault("version", fmt.Sprintf("%s is not a version", tomlfile.Quote(version)), `write the pinned version, such as "1.4.2", or with the range of wanted updates, "^1.4.2" or "~1.4.2"`)
	}
	return version
}

// linesOf returns the lines of the keys of table t, of the items of its arrays and of the variables in env. An absent key has the line of
// the table.
func linesOf(t, env *tomlfile.Table, p Plugin) map[string]int {
	lines := map[string]int{}
	for _, key := range []string{"path", "name", "from", "version", "sha256", "signer", "prefix", "allow_tools", "deny_tools", "allow_prompts", "deny_prompts",
		"allow_resources", "deny_resources", "read_only", "allow_write", "always_offer", "fs", "deny", "http", "git", "env", "ask", keyApproveWrites, keyApproveTools, "limits", "isolation", "tools"} {
		lines[key] = t.LineOf(key)
	}
	for key, n := range map[string]int{"allow_tools": len(p.AllowTools), "deny_tools": len(p.DenyTools),
		"allow_prompts": len(p.Prompts.Allow), "deny_prompts": len(p.Prompts.Deny), "deny": len(p.Deny), "http": len(p.HTTP), "ask": len(p.Ask), keyApproveTools: len(p.Approve.Tools)} {
		for i := range n {
			lines[fmt.Sprintf("%s[%d]", key, i)] = t.LineOfItem(key, i)
		}
	}
	for _, name := range env.Keys() {
		lines["env."+name] = env.LineOf(name)
	}
	return lines
}

// references returns the keys of p whose values contain references, which Expand has to replace.
func references(p Plugin) []string {
	var keys []string
	add := func(value, format string, args ...any) {
		if hasReference(value) {
			keys = append(keys, fmt.Sprintf(format, args...))
		}
	}
	add(p.Path, "path")
	for i, f := range p.FS {
		add(f.Path, "fs[%d].path", i)
	}
	for i, g := range p.Git {
		add(g.Repo, "git[%d].repo", i)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		if strings.Contains(p.Env[name], opening) {
			keys = append(keys, "env."+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Secrets)) {
		add(p.Secrets[name].File, "%s", secretFile(name))
	}
	return keys
}

// checkPluginPath validates the path of a plugin's directory, which may be absolute or relative.
func checkPluginPath(p string) error {
	switch {
	case strings.ContainsRune(p, 0):
		return errors.New("contains a NUL byte")
	case hasReference(p):
		return checkPathReferences(p)
	case p == "":
		return errors.New("is empty")
	case strings.Contains(p, opening):
		return errors.New("has a variable other than ${env:NAME}")
	}
	return nil
}

// absolute resolves p against dir. If p is empty, the result is empty too.
func absolute(dir, p string) string {
	switch {
	case p == "":
		return ""
	case filepath.IsAbs(p):
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

const prefixRemedy = "use A to Z, a to z, 0 to 9, _, - and .; a tool name has at most 128 characters, prefix included"

func readPrefix(t *tomlfile.Table) string {
	prefix := t.String("prefix")
	if prefix != "" && !manifest.IsToolName(prefix) {
		t.Fault("prefix", fmt.Sprintf("%s is not a valid prefix for tool names", tomlfile.Quote(prefix)), prefixRemedy)
	}
	return prefix
}

// readEnv reads [plugins.env]. Its problems never contain the value of a variable, because such values are often secret.
func readEnv(t *tomlfile.Table) map[string]string {
	if !t.Present() {
		return nil
	}
	env := map[string]string{}
	names := t.Keys()
	if len(names) > tomlfile.MaxItems {
		t.Fault(names[0], fmt.Sprintf("is one of more than %d variables: remove some", tomlfile.MaxItems), "")
		return env
	}
	for _, name := range names {
		if err := manifest.CheckEnv(name); err != nil {
			t.Fault(name, err.Error(), "")
		}
		if t.IsTable(name) {
			continue // readSecrets reads it
		}
		value := t.String(name)
		if strings.ContainsRune(value, 0) {
			t.Fault(name, "contains a NUL byte, which is not allowed in an environment variable", "")
		}
		if _, err := splitValue(value); err != nil {
			t.Fault(name, err.Error(), valueRemedy)
		}
		env[name] = value
	}
	return env
}
