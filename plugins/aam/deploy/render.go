package deploy

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// maxText is the maximum size of a deployed file, in bytes.
const maxText = 4 << 20

// source reads the files of one package.
type source struct {
	files files.System
	dir   string
}

// path returns the path of a file in the package with all symbolic links resolved. It returns an error if the resolved
// path is outside of the package.
func (s source) path(relative ...string) (string, error) {
	path := filepath.Join(append([]string{s.dir}, relative...)...)
	real, err := files.Inside(s.files, s.dir, path)
	if errors.Is(err, contain.ErrOutside) {
		return "", fault.New(fault.ArchiveInvalid, "%s %w", filepath.Join(relative...), errLeadsOut)
	}
	return real, err
}

var errLeadsOut = errors.New("resolves to a path outside of the package")

// read returns the content of a file in the package.
func (s source) read(relative ...string) (string, error) {
	path, err := s.path(relative...)
	if err != nil {
		return "", err
	}
	data, err := files.Read(s.files, path, maxText)
	if errors.Is(err, filesystem.ErrNotRegular) {
		return "", fault.New(fault.ManifestInvalid, "%s is not a file", filepath.Join(relative...))
	}
	return string(data), err
}

// text returns an agent or instruction in the form for a platform, with LF as line ends. The result plain is the text
// that the aam program renders.
func (s source) text(platform string, a manifest.Artifact) (text, plain string, err error) {
	rule := places[platform][a.Type].description
	switch {
	case a.Type == manifest.Agent && rule:
		return s.agentRule(a)
	case a.Type == manifest.Agent:
		text, found, err := s.agentPrompt(a, nil)
		if err == nil && !found {
			text = fmt.Sprintf("# %s\n\n%s\n", a.Name, a.Description)
		}
		return text, text, err
	}
	body, err := s.readLines(a.Path)
	if err != nil || !rule {
		return body, body, err
	}
	body = strings.TrimRightFunc(body, unicode.IsSpace) + "\n"
	return ruleHead(strconv.Quote(a.Description)) + body, ruleHead(`"`+a.Description+`"`) + body, nil
}

// lineEnds converts all line ends to LF, as the aam program does when it reads a text file.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// readLines returns the content of a text file in the package, with LF as line ends.
func (s source) readLines(relative ...string) (string, error) {
	text, err := s.read(relative...)
	return lineEnds.Replace(text), err
}

// agentPrompt returns the prompt of an agent. The prompt is the content of system-prompt.md or, if that file does not
// exist, of the file that agent.yaml names. agentPrompt returns false if neither file exists. The argument spec is the
// parsed agent.yaml, or nil if the caller has not read that file.
func (s source) agentPrompt(a manifest.Artifact, spec *manifest.AgentSpec) (string, bool, error) {
	text, err := s.readLines(a.Path, "system-prompt.md")
	if !filesystem.IsAbsent(err) {
		return text, true, err
	}
	if spec == nil {
		if spec, err = s.agentSpec(a); err != nil {
			return "", false, err
		}
	}
	if spec == nil {
		return "", false, nil
	}
	if filepath.IsAbs(spec.SystemPrompt) {
		return "", false, fault.New(fault.ArchiveInvalid, "agent %s: system_prompt %w", a.Name, errLeadsOut)
	}
	text, err = s.readLines(a.Path, spec.SystemPrompt)
	if filesystem.IsAbsent(err) {
		return "", false, nil
	}
	return text, true, err
}

// agentSpec reads the agent.yaml of an agent; it returns nil if the file does not exist.
func (s source) agentSpec(a manifest.Artifact) (*manifest.AgentSpec, error) {
	data, err := s.read(a.Path, manifest.AgentFileName)
	if filesystem.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	spec, err := manifest.ParseAgent([]byte(data))
	if err != nil {
		return nil, fault.New(fault.ManifestInvalid, "agent %s: %s: %w", a.Name, manifest.AgentFileName, err)
	}
	return &spec, nil
}

// agentRule returns the Cursor rule for an agent. The result plain is the text that the aam program renders. If the
// agent has no prompt, the rule contains no prompt.
func (s source) agentRule(a manifest.Artifact) (text, plain string, err error) {
	spec, err := s.agentSpec(a)
	if err != nil {
		return "", "", err
	}
	prompt, _, err := s.agentPrompt(a, spec)
	if err != nil {
		return "", "", err
	}
	if spec == nil {
		spec = &manifest.AgentSpec{Name: a.Name, Description: a.Description}
	}
	body := "# Agent: " + spec.Name + "\n"
	if prompt != "" {
		body += "\n" + strings.TrimRightFunc(prompt, unicode.IsSpace) + "\n"
	}
	body += items("Available Skills", spec.Skills) + items("Available Prompts", spec.Prompts)
	return ruleHead(strconv.Quote(spec.Description)) + body, ruleHead(`"`+spec.Description+`"`) + body, nil
}

func items(title string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	text := "\n## " + title + "\n\n"
	for _, name := range names {
		text += "- " + name + "\n"
	}
	return text
}

// ruleHead returns the head of a Cursor rule. The description must be a YAML scalar: strings that strconv quotes are such scalars, with the same
// escapes.
func ruleHead(description string) string {
	return "---\ndescription: " + description + "\nalwaysApply: true\n---\n\n"
}
