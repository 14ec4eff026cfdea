package config

import (
	"errors"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/yamldoc"
)

// defaultRef is the branch of a git module whose source has no key ref.
const defaultRef = "main"

// read decodes the manifest in document and checks its structure and types. The method validate checks the values.
func read(document yamldoc.Value) (*Manifest, uint64, error) {
	top, err := readFields(document)
	if err != nil {
		return nil, 0, err
	}
	version, err := top.need("version").AsUnsigned()
	if err != nil {
		return nil, 0, err
	}
	manifest := &Manifest{Profiles: map[string]Profile{}}
	return manifest, version, firstError(
		func() error { return readProfiles(manifest, top["profiles"]) },
		func() error { return readTargets(manifest, top["targets"]) },
		func() error { return readModules(manifest, top["modules"]) },
	)
}

// firstError runs the steps in order until a step fails, and returns the error of that step.
func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// fields maps the keys of a YAML map to their values. Unknown keys are ignored, as the format requires.
type fields map[string]yamldoc.Value

// readFields returns the keys and values of a YAML map. It returns an error if the map does not exist.
func readFields(value yamldoc.Value) (fields, error) {
	if value.IsMissing() {
		return nil, value.Errorf("expected a map, got nothing")
	}
	list, err := value.Fields()
	if err != nil {
		return nil, err
	}
	all := make(fields, len(list)+1)
	for _, field := range list {
		all[field.Key] = field.Value
	}
	all[""] = value // the method need derives the location of a missing key from this value
	return all, nil
}

// need returns the value of a key. For a missing key it returns an absent value with the location at which the key is
// missing.
func (f fields) need(key string) yamldoc.Value {
	if value, ok := f[key]; ok {
		return value
	}
	return f[""].MissingKey(key)
}

func readProfiles(manifest *Manifest, value yamldoc.Value) error {
	profiles, err := value.Fields()
	if err != nil {
		return err
	}
	for _, profile := range profiles {
		parts, err := readFields(profile.Value)
		if err != nil {
			return err
		}
		tags, err1 := parts["include_tags"].AsTexts()
		included, err2 := parts["include_modules"].AsTexts()
		excluded, err3 := parts["exclude_modules"].AsTexts()
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		manifest.Profiles[profile.Key] = Profile{tags, included, excluded}
	}
	return nil
}

func readTargets(manifest *Manifest, value yamldoc.Value) error {
	targets, err := value.Fields()
	if err != nil {
		return err
	}
	for _, target := range targets {
		parts, err := readFields(target.Value)
		if err != nil {
			return err
		}
		if _, err := oneOf(parts.need("mode"), "files"); err != nil {
			return err
		}
		scope, err := oneOf(parts.need("scope"), string(ScopeUser), string(ScopeProject), string(ScopeBoth))
		if err != nil {
			return err
		}
		options, err := parts["options"].Fields()
		if err != nil {
			return err
		}
		manifest.Targets = append(manifest.Targets, Target{target.Key, Scope(scope), newOptions(options)})
	}
	slices.SortFunc(manifest.Targets, func(a, b Target) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// oneOf returns the string in value. It returns an error unless allowed contains the string.
func oneOf(value yamldoc.Value, allowed ...string) (string, error) {
	text, err := value.AsText()
	if err == nil && !slices.Contains(allowed, text) {
		err = value.Errorf("expected one of %s, got %.80q", strings.Join(allowed, ", "), text)
	}
	return text, err
}

func readModules(manifest *Manifest, value yamldoc.Value) error {
	items, err := value.Items()
	if err != nil {
		return err
	}
	if len(items) > maxModules {
		return value.Errorf("the manifest has %d modules; at most %d are allowed", len(items), maxModules)
	}
	for _, item := range items {
		module, err := readModule(item)
		if err != nil {
			return err
		}
		manifest.Modules = append(manifest.Modules, module)
	}
	return nil
}

func readModule(item yamldoc.Value) (Module, error) {
	parts, err := readFields(item)
	if err != nil {
		return Module{}, err
	}
	module := Module{Enabled: true}
	err = firstError(
		func() error { module.ID, err = parts.need("id").AsText(); return err },
		func() error {
			text, err := oneOf(parts.need("type"), string(Instructions), string(Skill), string(Prompt), string(Command))
			module.Type = Type(text)
			return err
		},
		func() error { return optionalBool(parts["enabled"], &module.Enabled) },
		func() error { module.Tags, err = parts["tags"].AsTexts(); return err },
		func() error { module.Targets, err = parts["targets"].AsTexts(); return err },
		func() error { return readSource(&module, parts.need("source")) },
		func() error { _, err := parts["metadata"].Fields(); return err },
	)
	return module, err
}

func optionalBool(value yamldoc.Value, into *bool) (err error) {
	if !value.IsMissing() {
		*into, err = value.AsBool()
	}
	return err
}

func optionalText(value yamldoc.Value, into *string) (err error) {
	if !value.IsMissing() {
		*into, err = value.AsText()
	}
	return err
}

// readSource decodes the sources local_path and git of a module. Manifest.validate checks that the module has exactly
// one of them.
func readSource(module *Module, value yamldoc.Value) error {
	kinds, err := readFields(value)
	if err != nil {
		return err
	}
	if local := kinds["local_path"]; !local.IsAbsent() {
		parts, err := readFields(local)
		if err != nil {
			return err
		}
		module.Local = &Local{}
		if module.Local.Path, err = parts.need("path").AsText(); err != nil {
			return err
		}
	}
	git := kinds["git"]
	if git.IsAbsent() {
		return nil
	}
	parts, err := readFields(git)
	if err != nil {
		return err
	}
	module.Git = &Git{Ref: defaultRef}
	shallow := true // the depth of a clone does not matter here, since the host never fetches history; the value is only validated
	return firstError(
		func() error { module.Git.URL, err = parts.need("url").AsText(); return err },
		func() error { return optionalText(parts["ref"], &module.Git.Ref) },
		func() error { return optionalText(parts["subdir"], &module.Git.Subdir) },
		func() error { return optionalBool(parts["shallow"], &shallow) },
	)
}
