package spec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// New returns the file content of a new, pending spec. The first line of the description becomes the title of the spec,
// and the other lines become the body. The prompt has one line. New omits the key prompt if prompt is nil; if prompt is
// "", the key has no value, as in the chant CLI.
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
		return "", fmt.Errorf("cannot be written: the new spec would be invalid: %w", err)
	}
	return content, nil
}
