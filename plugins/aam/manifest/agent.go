package manifest

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// AgentFileName is the name of the file in an agent's directory that describes the agent.
const AgentFileName = "agent.yaml"

// AgentSpec is the parsed content of an agent.yaml.
type AgentSpec struct {
	Name         string
	Description  string
	SystemPrompt string // path relative to the agent's directory; ParseAgent does not validate the path
	Skills       []string
	Prompts      []string
}

// ParseAgent parses the content of an agent.yaml. The error is a *yaml11.SyntaxError, or yaml11.Problems with all
// problems of the file.
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
