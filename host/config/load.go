package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// notYet are the keys that are read and checked, but that the host does not act on yet. Whoever makes it
// act on one deletes it here and in docs/config.md. limits.fuel is in the manifest's list.
var notYet = map[string]string{
	"isolation": "a call may find what an earlier one left in the module's memory",
}

// Load reads the config in file. The config is nil if file cannot be read or is not TOML, and is to be used
// only where the problems' Err is nil.
func Load(file string) (*Config, tomlfile.Problems) {
	data, err := tomlfile.ReadFile(file)
	if err != nil {
		p := tomlfile.Problem{File: file, What: err.Error()}
		if errors.Is(err, fs.ErrNotExist) {
			p.What, p.Remedy = "there is no such file", "pass the config's path with --config"
		}
		return nil, tomlfile.Problems{p}
	}
	return Parse(file, data)
}

// Parse is Load for the bytes of a config; file is its path.
func Parse(file string, data []byte) (*Config, tomlfile.Problems) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, tomlfile.Problems{{File: file, What: err.Error()}}
	}
	doc, ps := tomlfile.Parse(file, data)
	if doc == nil {
		return nil, ps
	}
	c := &Config{File: abs}
	root := doc.Root()
	if t := root.Table("server"); t.Present() {
		c.Server = &Server{Name: t.Required("name", `write name = "bulkhead" in [server]`)}
	}
	c.Defaults.Limits = manifest.ReadLimits(root.Table("defaults").Table("limits"))
	lines := map[string]int{}
	for i, t := range root.Tables("plugins") {
		p := readPlugin(t, filepath.Dir(abs))
		p.File, p.Key = file, fmt.Sprintf("plugins[%d]", i)
		if first, ok := lines[p.Path]; ok && p.Path != "" {
			t.Fault("path", fmt.Sprintf("%s is the plugin of line %d too", tomlfile.Quote(p.Path), first), "remove one of them")
		} else {
			lines[p.Path] = t.LineOf("path")
		}
		c.Plugins = append(c.Plugins, p)
	}
	return c, doc.Problems()
}

func readPlugin(t *tomlfile.Table, dir string) Plugin {
	p := Plugin{
		Path:       t.Required("path", `write path = "…": a folder with a `+manifest.FileName),
		SHA256:     manifest.ReadDigest(t, "sha256"),
		AllowTools: readGlobs(t, "allow_tools"),
		DenyTools:  readGlobs(t, "deny_tools"),
		ReadOnly:   t.Bool("read_only", false),
		AllowWrite: t.Bool("allow_write", false),
		FS:         manifest.ReadFS(t, "fs"),
		Env:        readEnv(t.Table("env")),
		Limits:     manifest.ReadLimits(t.Table("limits")),
		Isolation:  t.OneOf("isolation", IsolationPristine, IsolationReused),
		Line:       t.Line(),
		Lines:      map[string]int{},
	}
	for _, key := range []string{"path", "sha256", "allow_tools", "deny_tools", "read_only", "allow_write", "fs", "env"} {
		if t.Has(key) {
			p.Lines[key] = t.LineOf(key)
		}
	}
	if strings.ContainsRune(p.Path, 0) {
		t.Fault("path", "holds a NUL byte", "write a folder's path")
	}
	if p.Path != "" && !filepath.IsAbs(p.Path) {
		p.Path = filepath.Join(dir, p.Path)
	} else if p.Path != "" {
		p.Path = filepath.Clean(p.Path)
	}
	if p.ReadOnly && p.AllowWrite {
		t.Fault("allow_write", "contradicts read_only", "keep one of the two")
	}
	for name, effect := range notYet {
		if t.Has(name) {
			t.Warn(name, "is not acted on yet: "+effect, "")
		}
	}
	return p
}

func readGlobs(t *tomlfile.Table, key string) []string {
	globs := t.Strings(key)
	for i, glob := range globs {
		if _, err := path.Match(glob, ""); err != nil {
			t.FaultItem(key, i, fmt.Sprintf("%s is not a pattern", tomlfile.Quote(glob)), globRemedy)
		} else if slices.Index(globs, glob) < i {
			t.FaultItem(key, i, "is there twice", "remove one")
		}
	}
	return globs
}

const globRemedy = "write a tool's name, in which * stands for any characters and ? for one"

// readEnv never puts a value into a problem: values are often secret.
func readEnv(t *tomlfile.Table) map[string]string {
	if !t.Present() {
		return nil
	}
	env := map[string]string{}
	names := t.Keys()
	if len(names) > tomlfile.MaxItems {
		t.Fault(names[0], fmt.Sprintf("is one of more than %d variables", tomlfile.MaxItems), "")
		return env
	}
	for _, name := range names {
		if err := manifest.CheckEnv(name); err != nil {
			t.Fault(name, err.Error(), "")
		}
		value := t.String(name)
		if strings.ContainsRune(value, 0) {
			t.Fault(name, "holds a NUL byte, which an environment cannot", "")
		}
		env[name] = value
	}
	return env
}
