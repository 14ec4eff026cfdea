package create

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// Manifest returns the aam.yaml of a package with the given artifacts. If a field such as the name is invalid, the
// error has the code InvalidArgument.
func Manifest(name, version, description string, artifacts []manifest.Artifact) ([]byte, *manifest.Manifest, error) {
	lists := yaml11.Map{}
	for _, t := range manifest.Types() {
		list := []any{}
		for _, a := range artifacts {
			if a.Type == t {
				list = append(list, yaml11.Map{{Key: "name", Value: a.Name}, {Key: "path", Value: a.Path}, {Key: "description", Value: a.Description}})
			}
		}
		lists = append(lists, yaml11.Pair{Key: t.Plural(), Value: list})
	}
	data, err := yaml11.Encode(yaml11.Map{
		{Key: "name", Value: name},
		{Key: "version", Value: version},
		{Key: "description", Value: description},
		{Key: "artifacts", Value: lists},
		{Key: "dependencies", Value: yaml11.Map{}},
		{Key: "platforms", Value: yaml11.Map{{Key: "cursor", Value: yaml11.Map{
			{Key: "skill_scope", Value: "project"}, {Key: "deploy_instructions_as", Value: "rules"},
		}}}},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("cannot write %s: %w", manifest.FileName, err)
	}
	m, err := manifest.Parse(data)
	if err != nil {
		return nil, nil, fault.New(fault.InvalidArgument, "%w", err)
	}
	return data, m, nil
}

// Description returns the generated description of a package that was created from a project.
func Description(project string) string { return short("Agent artifacts of " + project) }
