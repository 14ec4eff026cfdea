package manifest

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/version"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// maxDescription is the maximum length of a description, in code points.
const maxDescription = 256

// Parse parses the content of a manifest. The error is a *yaml11.SyntaxError, or yaml11.Problems with all problems of
// the file.
func Parse(data []byte) (*Manifest, error) {
	document, err := yaml11.Parse(data, MaxSize)
	if err != nil {
		return nil, err
	}
	p := parser{root: document.Root()}
	m := &Manifest{
		Name:        p.name(),
		Version:     p.version(),
		Description: p.description(),
		Author:      p.NullText(p.root.Field("author")),
		License:     p.NullText(p.root.Field("license")),
		Repository:  p.NullText(p.root.Field("repository")),
		Homepage:    p.NullText(p.root.Field("homepage")),
		Keywords:    p.Texts(p.root.Field("keywords")),
	}
	m.Artifacts = p.artifacts()
	m.Dependencies = p.dependencies()
	m.Platforms = p.platforms()
	p.quality()
	p.provenance()
	if err := p.Err(); err != nil {
		return nil, err
	}
	if len(m.Artifacts) == 0 { // like the aam program, report a missing artifact only if the file has no other problems
		return nil, yaml11.Problems{{Reason: "at least one artifact must be declared"}}
	}
	return m, nil
}

// ParseTypes returns the types of the artifacts in a manifest, in the order of Types. It does not validate other
// fields.
func ParseTypes(data []byte) ([]Type, error) {
	document, err := yaml11.Parse(data, MaxSize)
	if err != nil {
		return nil, err
	}
	var r yaml11.Reader
	var types []Type
	artifacts := document.Root().Field("artifacts")
	if r.Required(artifacts) && r.Mapping(artifacts) {
		for _, t := range Types() {
			if len(r.List(artifacts.Field(t.Plural()))) > 0 {
				types = append(types, t)
			}
		}
	}
	return types, r.Err()
}

type parser struct {
	yaml11.Reader
	root yaml11.Value
}

func (p *parser) name() string {
	value := p.root.Field("name")
	name := p.Text(value)
	if value.Kind() == yaml11.Text {
		p.check(value, pkgname.Check(name))
	}
	return name
}

func (p *parser) version() string {
	value := p.root.Field("version")
	text := p.Text(value)
	if value.Kind() == yaml11.Text {
		_, err := version.Parse(text)
		p.check(value, err)
	}
	return text
}

func (p *parser) description() string {
	value := p.root.Field("description")
	text := p.Text(value)
	switch {
	case value.Kind() != yaml11.Text:
	case strings.TrimSpace(text) == "":
		p.Problem(value, "must not be blank")
	default:
		p.checkLength(value)
	}
	return text
}

func (p *parser) checkLength(value yaml11.Value) {
	if length := utf8.RuneCountInString(value.Text()); length > maxDescription {
		p.Problem(value, "has %d characters, at most %d are allowed", length, maxDescription)
	}
}

func (p *parser) check(value yaml11.Value, err error) {
	if err != nil {
		p.Problem(value, "%s", err)
	}
}

func (p *parser) artifacts() []Artifact {
	value := p.root.Field("artifacts")
	var artifacts []Artifact
	if !p.Required(value) || !p.Mapping(value) {
		return nil
	}
	for _, t := range Types() {
		for _, item := range p.List(value.Field(t.Plural())) {
			artifacts = append(artifacts, p.artifact(t, item))
		}
	}
	return artifacts
}

func (p *parser) artifact(t Type, item yaml11.Value) Artifact {
	if !p.Mapping(item) {
		return Artifact{}
	}
	a := Artifact{Type: t, Name: p.Text(item.Field("name")), Path: p.Text(item.Field("path")), Description: p.Text(item.Field("description"))}
	if name := item.Field("name"); name.Kind() == yaml11.Text {
		p.check(name, pkgname.CheckArtifact(a.Name))
	}
	switch path := item.Field("path"); {
	case strings.HasPrefix(a.Path, "/"):
		p.Problem(path, "must be relative to the package: %.100q", a.Path)
	case slices.Contains(strings.Split(a.Path, "/"), ".."):
		p.Problem(path, "must not have the element '..': %.100q", a.Path)
	case strings.ContainsAny(a.Path, "\x00\n\r"):
		p.Problem(path, "must not have control characters: %.100q", a.Path)
	}
	if description := item.Field("description"); description.Kind() == yaml11.Text {
		p.checkLength(description)
	}
	return a
}

// dependencies reads the mapping of package names to version constraints. If the mapping is absent, it returns no
// dependencies.
func (p *parser) dependencies() []Dependency {
	var dependencies []Dependency
	value := p.root.Field("dependencies")
	for _, entry := range p.Entries(value) {
		d := Dependency{Name: entry.Key.Text(), Constraint: p.Text(entry.Value)}
		if entry.Key.Kind() != yaml11.Text {
			continue // Entries has already reported the problem
		}
		if err := pkgname.Check(d.Name); err != nil {
			p.Problem(value, "%s", err)
		}
		if entry.Value.Kind() == yaml11.Text {
			if _, err := version.ParseConstraint(d.Constraint); err != nil {
				p.Problem(value, "%s: %s", d.Name, err)
			}
		}
		dependencies = append(dependencies, d)
	}
	return dependencies
}

func (p *parser) platforms() []Platform {
	var platforms []Platform
	for _, entry := range p.Entries(p.root.Field("platforms")) {
		if !p.Mapping(entry.Value) {
			continue
		}
		platforms = append(platforms, Platform{
			Name:                 entry.Key.Text(),
			SkillScope:           p.TextOr(entry.Value.Field("skill_scope"), "project"),
			DeployInstructionsAs: p.TextOr(entry.Value.Field("deploy_instructions_as"), "rules"),
			MergeInstructions:    p.Bool(entry.Value.Field("merge_instructions"), false),
		})
	}
	return platforms
}

// quality validates the section quality of the manifest. The values of this section are not used.
func (p *parser) quality() {
	value := p.root.Field("quality")
	if kind := value.Kind(); kind == yaml11.Absent || kind == yaml11.Null || !p.Mapping(value) {
		return
	}
	for _, test := range p.List(value.Field("tests")) {
		p.texts(test, "name", "command", "description")
	}
	for _, eval := range p.List(value.Field("evals")) {
		p.texts(eval, "name", "path", "description")
		for _, metric := range p.List(eval.Field("metrics")) {
			p.texts(metric, "name", "type")
		}
	}
}

func (p *parser) texts(value yaml11.Value, keys ...string) {
	if !p.Mapping(value) {
		return
	}
	for _, key := range keys {
		p.Text(value.Field(key))
	}
}

func (p *parser) provenance() {
	value := p.root.Field("provenance")
	if kind := value.Kind(); kind == yaml11.Absent || kind == yaml11.Null || !p.Mapping(value) {
		return
	}
	source := value.Field("source_type")
	if text := p.TextOr(source, "local"); text != "git" && text != "local" && source.Kind() == yaml11.Text {
		p.Problem(source, "must be 'git' or 'local'")
	}
	for _, key := range []string{"source_url", "source_ref", "source_path", "source_commit", "fetched_at"} {
		p.NullText(value.Field(key))
	}
}
