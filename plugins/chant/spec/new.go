package spec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// New returns the file content of a new, pending spec. The first line of the description becomes its title, the rest
// its body. Prompt is one line; nil leaves the key out, and "" writes it without a value, as the real program does.
func New(description string, prompt *string) (string, error) {
	created := Document{Spec: Spec{Type: "code", Status: Pending}, front: front{known: map[string]*frontmatter.Node{}}}
	front := created.changed()
	named := prompt != nil && *prompt != ""
	if named {
		if strings.ContainsAny(*prompt, "\n\r\u0085\u2028\u2029") {
			return "", errors.New("prompt must be the name of a prompt template, on one line")
		}
		front.set("prompt", prompt)
	}
	head, err := front.encode()
	if err != nil {
		return "", err
	}
	if prompt != nil && !named {
		head += "prompt: \n"
	}
	content := "---\n" + head + "---\n\n# " + description + "\n"
	if _, err := Parse(content); err != nil {
		return "", fmt.Errorf("the new spec could not be read back: %w", err)
	}
	return content, nil
}
