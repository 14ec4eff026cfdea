package manifest

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
)

// Load reads and parses the manifest in the plugin's directory dir. Its results are those of Parse.
func Load(dir string) (*Manifest, tomlfile.Problems) { return (*Cache)(nil).Load(dir) }

// Cache has manifests that were parsed. Its zero value is empty; a nil *Cache stays empty. Methods may be called concurrently.
type Cache struct {
	mu     sync.Mutex
	parsed map[string]parsed // by file
	used   map[string]*Manifest
}

type parsed struct {
	manifest *Manifest // not nil
	problems tomlfile.Problems
}

// Use makes Load return m for the directory of m, whatever the file contains: to decide about a version that is not installed.
func (c *Cache) Use(m *Manifest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used == nil {
		c.used = map[string]*Manifest{}
	}
	c.used[m.File] = m
}

// Load is like the function Load, but parses a manifest only if it has changed since the last call. The caller must not change it.
func (c *Cache) Load(dir string) (*Manifest, tomlfile.Problems) {
	file := filepath.Join(dir, FileName)
	if m := c.usedFor(file); m != nil {
		return m, nil
	}
	data, err := tomlfile.ReadFile(file)
	if err != nil {
		p := tomlfile.Problem{File: file, What: err.Error()}
		if errors.Is(err, fs.ErrNotExist) {
			p.What, p.Remedy = "there is no such file", "name a directory that contains a "+FileName
		}
		return nil, tomlfile.Problems{p}
	}
	if c == nil {
		return Parse(file, data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.parsed[file]; ok && have.manifest.Digest == userfile.Digest(data) {
		return have.manifest, slices.Clone(have.problems)
	}
	m, problems := Parse(file, data)
	if m != nil {
		if c.parsed == nil {
			c.parsed = map[string]parsed{}
		}
		c.parsed[file] = parsed{m, slices.Clone(problems)}
	}
	return m, problems
}

func (c *Cache) usedFor(file string) *Manifest {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used[file]
}

// Parse parses and validates the manifest with the content data. file is its path. The manifest is nil if data is not TOML. If Err of
// the problems returns an error, the caller may only call Check on the manifest, which reports further problems.
func Parse(file string, data []byte) (*Manifest, tomlfile.Problems) {
	doc, ps := tomlfile.Parse(file, data)
	if doc == nil {
		return nil, ps
	}
	m := &Manifest{File: file, Digest: userfile.Digest(data)}
	if abs, err := filepath.Abs(file); err == nil {
		m.File = abs
	} else {
		doc.Add(tomlfile.Problem{What: err.Error()})
	}
	m.Dir = filepath.Dir(m.File)

	root := doc.Root()
	checkFormat(root)
	plugin, offers, capabilities := root.Table("plugin"), root.Table("offers"), root.Table("capabilities")
	m.readPlugin(plugin)
	m.readModule(root.Table("module"))
	m.readBuild(root.Table("build"))
	m.readOffers(offers)
	m.readServer(root.Table("server"))
	m.readCapabilities(capabilities)
	m.checkCommand(plugin, offers, capabilities)
	limits := root.Table("limits")
	m.Limits, m.LimitsLine = readNeeds(limits), limits.Line()
	m.readTools(root.Tables("tools"))
	m.readSkills(root.Tables("skills"), offers)
	m.readRequirements(root)
	if o := m.Offers; len(m.Tools) == 0 && !root.Has("tools") && len(m.Skills) == 0 && !o.Prompts.Offers() && !o.Resources.Offers() {
		doc.Add(tomlfile.Problem{What: "offers nothing", Remedy: "add [[tools]], [[skills]], or prompts or resources in [offers]",
			Warning: true})
	}
	return m, doc.Problems()
}

// checkFormat reports a manifest whose format version this host does not support.
func checkFormat(root *tomlfile.Table) {
	v, ok := root.Int("manifest")
	switch {
	case ok && v != 1:
		root.Fault("manifest", "is not 1, the only format version that this host supports", "use a host that supports this version")
	case !ok && !root.Has("manifest"):
		root.Fault("manifest", "is missing", "write manifest = 1 above the first table")
	}
}
