// Package spec reads and writes spec files: YAML front matter between two lines of dashes, then Markdown.
//
// Parse reads a file's content, Open also keeps what is needed to write it back: a Document preserves unknown keys,
// and Encode returns its content. Scalars keep the text that they have in the file: a commit 0012345 or a time is never
// converted to a number or a date. Paths and files are package store's concern.
package spec

import (
	"fmt"
	"strings"
)

// MaxSize bounds spec files, in bytes. A body of that size still fits into the default limits of a module's memory and
// output.
const MaxSize = 4 << 20

// maxFront bounds the YAML, whose parsed form takes up to a hundred times the memory of its text.
const maxFront = 128 << 10

// Spec is the content of a file. Nil lists and pointers stand for keys that are absent or null.
type Spec struct {
	Type   string // any string; "code" if absent
	Status Status // Pending if absent

	DependsOn   []string // empty but not nil for an explicit empty list
	Labels      []string
	TargetFiles []string
	Context     []string
	Prompt      *string
	Branch      *string
	Commits     []string
	CompletedAt *string
	Model       *string // shortened to opus, sonnet or haiku if it names one
	Approval    Approval

	Body string // the Markdown, without white space at its ends
}

// Approval says whether work on a spec waits for a person's approval.
type Approval struct {
	Required bool
	Approved bool
}

// LoadError is why a file cannot be loaded.
type LoadError struct {
	Path   string // relative to the project; "" until the caller sets it
	Line   int    // from 1; 0 if the error is not in one line
	Reason string
	Limit  bool // the file may be valid, but exceeds a limit, so that answers have to name it
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

// Parse parses a file's content. Errors are *LoadError, without a path.
func Parse(content string) (*Spec, error) {
	document, err := Open(content)
	if err != nil {
		return nil, err
	}
	spec := document.Spec // a copy, so that the tree of the YAML can be freed
	return &spec, nil
}

// Title returns the text of the first line that begins with "# ", or nil. Lines in fenced code count, as in the real
// program.
func (s *Spec) Title() *string {
	for line := range strings.SplitSeq(s.Body, "\n") {
		if title, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
			return &title
		}
	}
	return nil
}

// AppendOutput adds a section with text unchanged. Each call adds another section.
func (s *Spec) AppendOutput(text string) {
	if s.Body != "" && !strings.HasSuffix(s.Body, "\n") {
		s.Body += "\n"
	}
	s.Body += "\n## Output\n\n" + text + "\n"
}
