// Package config has the settings: what files of two layers say, the user's (global) and the project's, and
// the defaults below them. ReadLayer reads one, Merge makes the Config of both, Get looks one setting up, Set and
// AddRegistry change a layer and leave all that they do not know as it is.
//
// Merging goes key by key through mappings; every other value, lists too, hides what is below it.
package config

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// Config is all settings.
type Config struct {
	DefaultPlatform string
	ActivePlatforms []string
	Registries      []Registry // in the order in which they are searched
	Security        Security
	Author          Author
	Publish         Publish
	Sources         []Source
	RemovedDefaults []string
}

// Registry is where packages come from.
type Registry struct {
	Name    string
	URL     string
	Type    string // local, or another, for which there is no client
	Default bool
}

// Security says what is checked of a package.
type Security struct {
	RequireChecksum    bool
	RequireSignature   bool
	OnSignatureFailure string // error refuses; any other word does not
}

// Author is the user, as far as known.
type Author struct{ Name, Email *string }

// Publish is for publishing.
type Publish struct{ DefaultScope string }

// Source is a repository that packages can be made from. Nothing here uses it; it is only shown.
type Source struct {
	Name, Type, URL, Ref, Path string
	LastCommit, LastFetched    *string
	ArtifactCount              *int64
	Default                    bool
}

// Default returns the settings where no file says anything.
func Default() Config {
	c, _ := Merge(Layer{}, Layer{}) // nothing is there to be wrong
	return c
}

// Merge returns the settings of both layers. The error is yaml11.Problems.
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

// merged looks settings up in two layers.
type merged struct {
	reader          *yaml11.Reader
	global, project yaml11.Value
}

// value returns what the highest layer says that says anything.
func (m merged) value(key string) yaml11.Value {
	if v := m.project.Field(key); v.Kind() != yaml11.Absent {
		return v
	}
	return m.global.Field(key)
}

// section returns what looks up the settings of one section, which is a mapping.
func (m merged) section(name string) func(key string) yaml11.Value {
	top := m.value(name)
	if top.Kind() != yaml11.Absent && !m.reader.Mapping(top) {
		return func(string) yaml11.Value { return yaml11.Value{} }
	}
	inside := merged{m.reader, m.global.Field(name), m.project.Field(name)}
	return inside.value
}

// DefaultRegistry returns the registry that is meant where none is named: the first that says so, else the first.
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

// Registry returns the first registry of that name.
func (c Config) Registry(name string) (Registry, bool) {
	for _, r := range c.Registries {
		if r.Name == name {
			return r, true
		}
	}
	return Registry{}, false
}
