package config

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/redact"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// kind says how Set parses the value of a setting.
type kind int

const (
	shown kind = iota // Set refuses the setting, which is only displayed
	text
	flag
	texts // a list of strings, which commas separate
)

// keys lists all settings. A section precedes its keys.
var keys = []struct {
	name string
	kind kind
}{
	{"default_platform", text},
	{"active_platforms", texts},
	{"registries", shown},
	{"security", shown},
	{"security.require_checksum", flag},
	{"security.require_signature", flag},
	{"security.on_signature_failure", text},
	{"author", shown},
	{"author.name", text},
	{"author.email", text},
	{"publish", shown},
	{"publish.default_scope", text},
	{"sources", shown},
	{"removed_defaults", shown},
}

// Keys returns the names of all settings. If settable is set, it returns only the names of the settings that Set
// accepts.
func Keys(settable bool) []string {
	var names []string
	for _, key := range keys {
		if !settable || key.kind != shown {
			names = append(names, key.name)
		}
	}
	return names
}

func kindOf(name string) (kind, bool) {
	for _, key := range keys {
		if key.name == name {
			return key.kind, true
		}
	}
	return shown, false
}

// Setting is the value of a setting, together with the layer from which the value comes.
type Setting struct {
	Value  any    // the value, of a type that yaml11.Pair allows; secrets in URLs are redacted
	Source string // one of project, global and default
}

// Get returns the effective value of the setting key. The error has the code InvalidArgument.
func Get(c Config, layers Layers, key string) (Setting, error) {
	if _, ok := kindOf(key); !ok {
		return Setting{}, fault.New(fault.InvalidArgument, "unknown configuration key %.100q; keys are: %s", key, strings.Join(Keys(false), ", "))
	}
	var value any = c.Plain()
	for _, name := range strings.Split(key, ".") {
		for _, pair := range value.(yaml11.Map) {
			if pair.Key == name {
				value = pair.Value
				break
			}
		}
	}
	source := "default"
	switch {
	case layers.Project.sets(key):
		source = "project"
	case layers.Global.sets(key):
		source = "global"
	}
	return Setting{value, source}, nil
}

// sets reports whether the layer has a value for the setting key or, if key is a section, for any key of the section.
func (l Layer) sets(key string) bool {
	section, part, inside := strings.Cut(key, ".")
	value := l.root().Field(section)
	if inside {
		return value.Field(part).Kind() != yaml11.Absent
	}
	if value.Kind() != yaml11.Mapping {
		return value.Kind() != yaml11.Absent
	}
	for _, name := range Keys(false) {
		if strings.HasPrefix(name, key+".") && l.sets(name) {
			return true
		}
	}
	return false
}

// Plain returns all settings by name, for display. Secrets in URLs are redacted.
func (c Config) Plain() yaml11.Map {
	return yaml11.Map{
		{Key: "default_platform", Value: c.DefaultPlatform},
		{Key: "active_platforms", Value: c.ActivePlatforms},
		{Key: "registries", Value: plainRegistries(c.Registries)},
		{Key: "security", Value: yaml11.Map{
			{Key: "require_checksum", Value: c.Security.RequireChecksum},
			{Key: "require_signature", Value: c.Security.RequireSignature},
			{Key: "on_signature_failure", Value: c.Security.OnSignatureFailure},
		}},
		{Key: "author", Value: yaml11.Map{{Key: "name", Value: orNil(c.Author.Name)}, {Key: "email", Value: orNil(c.Author.Email)}}},
		{Key: "publish", Value: yaml11.Map{{Key: "default_scope", Value: c.Publish.DefaultScope}}},
		{Key: "sources", Value: plainSources(c.Sources)},
		{Key: "removed_defaults", Value: c.RemovedDefaults},
	}
}

func plainRegistries(registries []Registry) []any {
	all := []any{}
	for _, r := range registries {
		all = append(all, yaml11.Map{
			{Key: "name", Value: r.Name}, {Key: "url", Value: r.Shown()}, {Key: "type", Value: r.Type}, {Key: "default", Value: r.Default},
		})
	}
	return all
}

func plainSources(sources []Source) []any {
	all := []any{}
	for _, s := range sources {
		all = append(all, yaml11.Map{
			{Key: "name", Value: s.Name}, {Key: "type", Value: s.Type}, {Key: "url", Value: redact.URL(s.URL)},
			{Key: "ref", Value: s.Ref}, {Key: "path", Value: s.Path},
			{Key: "last_commit", Value: orNil(s.LastCommit)}, {Key: "last_fetched", Value: orNil(s.LastFetched)},
			{Key: "artifact_count", Value: orNil(s.ArtifactCount)}, {Key: "default", Value: s.Default},
		})
	}
	return all
}

// orNil returns the value to which p points, or an untyped nil if p is nil.
func orNil[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}
