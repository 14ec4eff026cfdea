package deploy

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// maxText bounds a deployed file, in bytes.
const maxText = 4 << 20

// source is the package of an artifact.
type source struct {
	files files.System
	dir   string
}

// path resolves a path in the package, including symbolic links; one that leads out of it is an error.
func (s source) path(relative ...string) (string, error) {
	path := filepath.Join(append([]string{s.dir}, relative...)...)
	real, err := files.Inside(s.files, s.dir, path)
	if errors.Is(err, contain.ErrOutside) {
		return "", fault.New(fault.ArchiveInvalid, "%s %w", filepath.Join(relative...), errLeadsOut)
	}
	return real, err
}

var errLeadsOut = errors.New("leads out of the package")

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

// text renders an agent or instruction for a platform.
func (s source) text(platform string, a manifest.Artifact) (string, error) {
	rule := places[platform][a.Type].description
	if a.Type != manifest.Agent {
		body, err := s.read(a.Path)
		if err != nil || !rule {
			return body, err
		}
		return ruleHead(a.Description) + strings.TrimRightFunc(body, unicode.IsSpace) + "\n", nil
	}
	if rule {
		return s.agentRule(a)
	}
	return s.agentPrompt(a, nil)
}

// agentPrompt returns the prompt of an agent: system-prompt.md, else the file that agent.yaml names, else one generated
// from its name. Spec is the parsed agent.yaml; nil if it was not read yet.
func (s source) agentPrompt(a manifest.Artifact, spec *manifest.AgentSpec) (string, error) {
	text, err := s.read(a.Path, "system-prompt.md")
	if !filesystem.IsAbsent(err) {
		return text, err
	}
	if spec == nil {
		if spec, err = s.agentSpec(a); err != nil {
			return "", err
		}
	}
	if spec != nil {
		if filepath.IsAbs(spec.SystemPrompt) {
			return "", fault.New(fault.ArchiveInvalid, "agent %s: system_prompt %w", a.Name, errLeadsOut)
		}
		text, err := s.read(a.Path, spec.SystemPrompt)
		if !filesystem.IsAbsent(err) {
			return text, err
		}
	}
	return fmt.Sprintf("# %s\n\n%s\n", a.Name, a.Description), nil
}

// agentSpec reads the agent.yaml of an agent; nil if there is none.
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

// agentRule renders an agent as a Cursor rule.
func (s source) agentRule(a manifest.Artifact) (string, error) {
	spec, err := s.agentSpec(a)
	if err != nil {
		return "", err
	}
	prompt, err := s.agentPrompt(a, spec)
	if err != nil {
		return "", err
	}
	if spec == nil {
		spec = &manifest.AgentSpec{Name: a.Name, Description: a.Description}
	}
	text := ruleHead(spec.Description) + "# Agent: " + spec.Name + "\n\n" + strings.TrimRightFunc(prompt, unicode.IsSpace) + "\n"
	return text + items("Available Skills", spec.Skills) + items("Available Prompts", spec.Prompts), nil
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

func ruleHead(description string) string {
	return "---\ndescription: " + quote(description) + "\nalwaysApply: true\n---\n\n"
}

// quote returns a YAML scalar in double quotes. Printable characters are not escaped.
func quote(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\t':
			out.WriteString(`\t`)
		case unicode.IsPrint(r):
			out.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&out, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\U%08x`, r)
		}
	}
	out.WriteByte('"')
	return out.String()
}
