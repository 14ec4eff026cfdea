// Package config implements the settings of aam. A setting has a default value, and its value can be in two layers of
// configuration files: in the user's (global) file, and in the project's file, which takes precedence. Load reads and
// merges the layers, and Get returns a setting. Set and AddRegistry change the user's file and keep its unknown keys.
//
// Load merges mappings key by key. Any other value, including a list, shadows the value of the lower layer.
package config

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// Config holds the values of all settings.
type Config struct {
	DefaultPlatform string
	ActivePlatforms []string
	Registries      []Registry // all registries, in the order in which they are searched
	Security        Security
	Author          Author
	Publish         Publish
	Sources         []Source
	RemovedDefaults []string
}

// Registry is a source of packages.
type Registry struct {
	Name    string
	URL     string
	Type    string // Local, or a type of registry that this plugin cannot read
	Default bool
}

// Security holds the settings for the checks of packages.
type Security struct {
	RequireChecksum    bool
	RequireSignature   bool
	OnSignatureFailure string // the value "error" refuses unsigned packages; any other value allows them
}

// Author holds the name and the mail address of the user.
type Author struct{ Name, Email *string }

// Publish holds the settings for publishing.
type Publish struct{ DefaultScope string }

// Source is a repository from which packages can be created. The plugin only displays sources.
type Source struct {
	Name, Type, URL, Ref, Path string
	LastCommit, LastFetched    *string
	ArtifactCount              *int64
	Default                    bool
}

// Merge returns the effective settings of two layers. The error is of the type yaml11.Problems.
func Merge(global, project Layer) (Config, error) {
	var r yaml11.Reader
	m := merged{&r, global.root(), project.root()}
	c := Config{
		DefaultPlatform: r.TextOr(m.value("default_platform"), "cursor"),
		ActivePlatforms: []string{"cursor"},
		Registries:      registries(&r, m.value("registries")),
		Sources:         sources(&r, m.value("sources")),
		RemovedDefaults: r.Texts(m.value("removed_defaults")),
	}
	if platforms := m.value("active_platforms"); platforms.Kind() != yaml11.Absent {
		c.ActivePlatforms = r.Texts(platforms)
	}
	security := m.section("security")
	c.Security = Security{
		RequireChecksum:    r.Bool(security("require_checksum"), true),
		RequireSignature:   r.Bool(security("require_signature"), false),
		OnSignatureFailure: r.TextOr(security("on_signature_failure"), "warn"),
	}
	author := m.section("author")
	c.Author = Author{r.NullText(author("name")), r.NullText(author("email"))}
	c.Publish.DefaultScope = r.TextOr(m.section("publish")("default_scope"), "")
	return c, r.Err()
}

func registries(r *yaml11.Reader, list yaml11.Value) []Registry {
	all := []Registry{}
	for _, item := range r.List(list) {
		if r.Mapping(item) {
			all = append(all, Registry{
				Name:    r.Text(item.Field("name")),
				URL:     r.Text(item.Field("url")),
				Type:    r.TextOr(item.Field("type"), Local),
				Default: r.Bool(item.Field("default"), false),
			})
		}
	}
	return all
}

func sources(r *yaml11.Reader, list yaml11.Value) []Source {
	all := []Source{}
	for _, item := range r.List(list) {
		if !r.Mapping(item) {
			continue
		}
		source := Source{
			Name:        r.Text(item.Field("name")),
			Type:        r.TextOr(item.Field("type"), "git"),
			URL:         r.Text(item.Field("url")),
			Ref:         r.TextOr(item.Field("ref"), "main"),
			Path:        r.TextOr(item.Field("path"), ""),
			LastCommit:  r.NullText(item.Field("last_commit")),
			LastFetched: r.NullText(item.Field("last_fetched")),
			Default:     r.Bool(item.Field("default"), false),
		}
		if count := item.Field("artifact_count"); count.Kind() != yaml11.Absent && count.Kind() != yaml11.Null {
			n := r.Int(count, 0)
			source.ArtifactCount = &n
		}
		all = append(all, source)
	}
	return all
}

// merged looks up values in both layers.
type merged struct {
	reader          *yaml11.Reader
	global, project yaml11.Value
}

// value returns the value of a key from the highest layer that has the key.
func (m merged) value(key string) yaml11.Value {
	if v := m.project.Field(key); v.Kind() != yaml11.Absent {
		return v
	}
	return m.global.Field(key)
}

// section returns a function that looks up the value of a key in the section called name. If a section is not a
// mapping, the reader records a problem.
func (m merged) section(name string) func(key string) yaml11.Value {
	top := m.value(name)
	if top.Kind() != yaml11.Absent && !m.reader.Mapping(top) {
		return func(string) yaml11.Value { return yaml11.Value{} }
	}
	inside := merged{m.reader, m.global.Field(name), m.project.Field(name)}
	return inside.value
}

// DefaultRegistry returns the first registry that is marked as default. If no registry is marked as default, it returns
// the first registry.
func (c Config) DefaultRegistry() (Registry, bool) {
	for _, r := range c.Registries {
		if r.Default {
			return r, true
		}
	}
	if len(c.Registries) == 0 {
		return Registry{}, false
	}
	return c.Registries[0], true
}

// Registry returns the first registry with the given name.
func (c Config) Registry(name string) (Registry, bool) {
	for _, r := range c.Registries {
		if r.Name == name {
			return r, true
		}
	}
	return Registry{}, false
}
