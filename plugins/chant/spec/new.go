package spec

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// New returns the content of a new, pending spec's file. The description becomes its title, and what
// follows the description's first line the body. Prompt is one line; nil and "" leave the key out.
func New(description string, prompt *string) (string, error) {
	created := front{known: map[string]*yaml.Node{}}
	kind, status := "code", string(Pending)
	created.set("type", &kind)
	created.set("status", &status)
	if prompt != nil && *prompt != "" {
		if strings.ContainsAny(*prompt, "\n\r\u0085\u2028\u2029") {
			return "", errors.New("prompt must be the name of a prompt template, in one line")
		}
		created.set("prompt", prompt)
	}
	head, err := created.encode()
	if err != nil {
		return "", err
	}
	content := "---\n" + head + "---\n\n# " + description + "\n"
	if _, err := Parse(content); err != nil {
		return "", fmt.Errorf("the new spec could not be read back: %w", err)
	}
	return content, nil
}
