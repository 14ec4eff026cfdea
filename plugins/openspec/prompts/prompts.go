// Package prompts contains the prompts that guide a model through the three stages of a change: proposal, apply and
// archive.
//
//	text, err := prompts.Get("apply", map[string]string{"change": "add-x"})
//
// Every step names the tool call first, and then the command of the openspec CLI in parentheses.
package prompts

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
)

// maxDescription is the maximum length of a description, in characters.
const maxDescription = 2000

// placeholder stands in the text of a prompt for the id of a change if the caller gives no id.
const placeholder = "<id>"

// Prompt is one of the three prompts.
type Prompt struct {
	Name        string
	Title       string
	Description string
	Argument    Argument
	text        string
}

// Argument is the only argument of a prompt. It is optional.
type Argument struct{ Name, Description string }

//go:embed proposal.md
var proposal string

//go:embed apply.md
var apply string

//go:embed archive.md
var archive string

//go:embed guardrails.md
var guardrails string

// All returns the prompts in the order in which clients list them.
func All() []Prompt {
	return []Prompt{
		{"proposal", "Propose a change", "Scaffold a new change and write its proposal, tasks and spec deltas, without any code.",
			Argument{"description", "What the change is for, in one line"}, proposal},
		{"apply", "Apply a change", "Implement a change that was agreed on, and keep its tasks in step.",
			Argument{"change", "The id of the change"}, apply},
		{"archive", "Archive a change", "Merge a finished change into the main specs and file it away.",
			Argument{"change", "The id of the change"}, archive},
	}
}

// ErrUnknown is the error of Get if no prompt has the name.
var ErrUnknown = errors.New("unknown prompt")

// Get returns the text of the prompt called name. The error is ErrUnknown, or an error that names the invalid argument.
func Get(name string, arguments map[string]string) (text, description string, err error) {
	for _, one := range All() {
		if one.Name != name {
			continue
		}
		text, err := one.fill(arguments)
		return text, one.Description, err
	}
	return "", "", ErrUnknown
}

func (p Prompt) fill(arguments map[string]string) (string, error) {
	for name := range arguments {
		if name != p.Argument.Name {
			return "", fmt.Errorf("prompt %q has no argument %q; it has %q", p.Name, name, p.Argument.Name)
		}
	}
	text := strings.Replace(p.text, "{{guardrails}}\n", guardrails, 1)
	value := arguments[p.Argument.Name]
	if value == "" {
		return text, nil
	}
	if p.Argument.Name == "description" {
		if err := checkDescription(value); err != nil {
			return "", err
		}
		return "Request: " + value + "\n\n" + text, nil
	}
	if err := store.CheckChange(value); err != nil {
		return "", err
	}
	return "Change: " + value + "\n\n" + strings.ReplaceAll(text, placeholder, value), nil
}

// checkDescription returns an error for a description of several lines, because untrusted data must not look like
// further steps of the prompt.
func checkDescription(value string) error {
	switch {
	case !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) || r == 0x2028 || r == 0x2029 }):
		return errors.New("description must be one line, without control characters")
	case utf8.RuneCountInString(value) > maxDescription:
		return fmt.Errorf("description is too long (%d characters max)", maxDescription)
	}
	return nil
}
