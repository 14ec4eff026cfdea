package manifest

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// AgentFileName is the name of the file that describes an agent in its directory.
const AgentFileName = "agent.yaml"

// AgentSpec is a parsed agent.yaml.
type AgentSpec struct {
	Name         string
	Description  string
	SystemPrompt string // path relative to the agent's directory; not validated
	Skills       []string
	Prompts      []string
}

// ParseAgent parses an agent.yaml. The error is a *yaml11.SyntaxError, or yaml11.Problems with all problems.
func ParseAgent(data []byte) (AgentSpec, error) {
	document, err := yaml11.Parse(data, MaxSize)
	if err != nil {
		return AgentSpec{}, err
	}
	var r yaml11.Reader
	root := document.Root()
	spec := AgentSpec{
		Name:         r.Text(root.Field("name")),
		Description:  r.Text(root.Field("description")),
		SystemPrompt: r.Text(root.Field("system_prompt")),
		Skills:       r.Texts(root.Field("skills")),
		Prompts:      r.Texts(root.Field("prompts")),
	}
	r.NullText(root.Field("version"))
	r.Texts(root.Field("tools"))
	for _, parameter := range r.Entries(root.Field("parameters")) {
		switch kind := parameter.Value.Kind(); kind {
		case yaml11.Text, yaml11.Int, yaml11.Float, yaml11.Bool:
		default:
			r.Problem(parameter.Value, "must be a string, a number or a boolean, not %s", kind)
		}
	}
	if err := r.Err(); err != nil {
		return AgentSpec{}, err
	}
	return spec, nil
}
