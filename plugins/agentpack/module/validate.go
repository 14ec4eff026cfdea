package module

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/yamldoc"
)

// The names of the files that modules of the types instructions and skill must have at their root.
const (
	InstructionsFile = "AGENTS.md"
	SkillFile        = "SKILL.md"
)

// bashPattern matches an inline shell command in the text of a module of the type command.
var bashPattern = regexp.MustCompile("!`?bash")

// validate returns an error unless the module has the structure that its type requires.
func (r *Ready) validate() error {
	switch r.Module.Type {
	case config.Instructions:
		if _, ok := r.Files[InstructionsFile]; !ok {
			return fmt.Errorf("a module of the type instructions requires the file %s at its root", InstructionsFile)
		}
		return nil
	case config.Skill:
		return r.validateSkill()
	case config.Command:
		return r.validateCommand()
	}
	_, err := r.single()
	return err
}

// Single returns the path of the only file of a module of the type prompt or command; "" for a module of another type.
func (r *Ready) Single() string {
	if r.Module.Type != config.Prompt && r.Module.Type != config.Command {
		return ""
	}
	file, _ := r.single() // no error: the method validate has already checked the file
	return file
}

func (r *Ready) single() (string, error) {
	paths := r.Files.Paths()
	if len(paths) != 1 {
		return "", fmt.Errorf("a module of the type %s must have exactly one file, but this module has %d", r.Module.Type, len(paths))
	}
	if path.Ext(paths[0]) != ".md" {
		return "", fmt.Errorf("a module of the type %s must be a file with the extension .md, not %s", r.Module.Type, paths[0])
	}
	return paths[0], nil
}

func (r *Ready) validateSkill() error {
	text, ok := r.Files[SkillFile]
	if !ok {
		return r.skillFault(fault.Details{"error": "there is no " + SkillFile}, "a skill requires the file %s at its root", SkillFile)
	}
	values, err := yamldoc.ParseFrontMatter(text)
	if err != nil {
		return r.skillFault(fault.Details{"error": err.Error()}, "%s: %w", SkillFile, err)
	}
	var missing []string
	for _, key := range []string{"name", "description"} {
		if _, ok := values[key]; !ok {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		return r.skillFault(fault.Details{"missing": missing}, "%s: the front matter has no %s", SkillFile, strings.Join(missing, " and no "))
	}
	for _, key := range []string{"name", "description"} {
		if err := requireText(values[key]); err != nil {
			return r.skillFault(fault.Details{"field": key, "expected": "non-empty string"}, "%s: %w", SkillFile, err)
		}
	}
	return nil
}

func (r *Ready) skillFault(details fault.Details, format string, arguments ...any) error {
	details["module_id"] = r.Module.ID
	details["path"], details["path_posix"] = filepath.FromSlash(SkillFile), SkillFile
	return fault.New(fault.ConfigInvalid, details, format, arguments...)
}

// requireText returns an error unless value is a string that is not blank.
func requireText(value yamldoc.Value) error {
	text, err := value.AsString()
	if err == nil && strings.TrimSpace(text) == "" {
		err = value.Errorf("the value is blank")
	}
	return err
}

func (r *Ready) validateCommand() error {
	file, err := r.single()
	if err != nil {
		return err
	}
	text := r.Files[file]
	values, err := yamldoc.ParseFrontMatter(text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := requireText(values["description"]); err != nil {
		return fmt.Errorf("%s: description: %w", file, err)
	}
	if bashPattern.Match(text) && !allowsBash(values["allowed-tools"]) {
		return fmt.Errorf("%s runs bash, so its allowed-tools must have an entry that begins with Bash(", file)
	}
	return nil
}

func allowsBash(tools yamldoc.Value) bool {
	if text, err := tools.AsString(); err == nil {
		return strings.Contains(text, "Bash(")
	}
	items, err := tools.Items()
	if err != nil {
		return false
	}
	for _, item := range items {
		if text, err := item.AsString(); err == nil && strings.Contains(text, "Bash(") {
			return true
		}
	}
	return false
}

// Text returns the content of a file of the module. The content must be UTF-8.
func (r *Ready) Text(file string) (string, error) {
	content := r.Files[file]
	if !utf8.Valid(content) {
		return "", fmt.Errorf("module %s: %s: %w", r.Module.ID, file, errNotText)
	}
	return string(content), nil
}

var errNotText = errors.New("the text is not UTF-8")
