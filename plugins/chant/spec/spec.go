// Package spec parses and encodes spec files: YAML front matter between two lines of dashes, then Markdown.
//
// Parse returns a Spec, for reading. Open returns a Document, for changing a file: a Document preserves unknown keys,
// and Document.Encode returns the new content. Scalars keep their text: a commit 0012345 is never converted to a
// number, nor a time to a date. Package spec does not access files; package store does.
package spec

import (
	"fmt"
	"strings"
)

// MaxSize is the maximum size of a spec file, in bytes. A body of that size fits into the default limits for the memory
// and the output of a module.
const MaxSize = 4 << 20

// maxFront is the maximum size of the YAML of a spec file, in bytes. The parsed YAML takes up to a hundred times as
// much memory.
const maxFront = 128 << 10

// Spec is the parsed content of a spec file. A nil list or pointer means that the key is absent or null in the file.
type Spec struct {
	Type   string // any string; "code" if the file has no key type
	Status Status // Pending if the file has no key status

	DependsOn   []string // empty but not nil if the file has an explicit empty list
	Labels      []string
	TargetFiles []string
	Context     []string
	Prompt      *string
	Branch      *string
	Commits     []string
	CompletedAt *string
	Model       *string // shortened to opus, sonnet or haiku if the name contains one of these words
	Approval    Approval

	Body string // the Markdown without surrounding white space
}

// Approval is the state of a spec that a person must approve before work on it begins.
type Approval struct {
	Required bool
	Approved bool
}

// LoadError is the reason why a spec file is not loaded.
type LoadError struct {
	Path   string // path of the file relative to the project; "" until the caller sets it
	Line   int    // line number of the error, from 1; 0 if the error is not in one line
	Reason string
	Limit  bool // the file exceeds a limit but may be valid, so answers must name the file
}

func (e *LoadError) Error() string {
	switch {
	case e.Path == "":
		return e.Reason
	case e.Line == 0:
		return fmt.Sprintf("%s: %s", e.Path, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Reason)
}

// Parse parses the content of a spec file. Errors are *LoadError, with an empty Path.
func Parse(content string) (*Spec, error) {
	document, err := Open(content)
	if err != nil {
		return nil, err
	}
	spec := document.Spec // a copy of the spec, so that the memory of the YAML tree can be freed
	return &spec, nil
}

// Title returns the text of the first line of the body that begins with "# "; nil if there is no such line. As in the
// chant CLI, lines in fenced code count.
func (s *Spec) Title() *string {
	for line := range strings.SplitSeq(s.Body, "\n") {
		if title, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
			return &title
		}
	}
	return nil
}

// AppendOutput appends a section with the given text to the body. Each call appends another section.
func (s *Spec) AppendOutput(text string) {
	if s.Body != "" && !strings.HasSuffix(s.Body, "\n") {
		s.Body += "\n"
	}
	s.Body += "\n## Output\n\n" + text + "\n"
}
