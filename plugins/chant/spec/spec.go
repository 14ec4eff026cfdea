// Package spec reads and writes spec files: YAML between two lines of dashes, then Markdown.
//
// Parse reads a file to look at it, Open to change it: a Document keeps what it does not understand, and
// Encode writes it back. Scalars stay the text that they are in the file: a commit 0012345 or a time is
// never turned into a number or a date. Where a file stands on disk is not this package's concern.
package spec

import (
	"fmt"
	"strings"
)

// MaxSize is the largest spec file that is read or written, in bytes. A body of that size can still be
// returned within the limits of memory and output that a module has by default.
const MaxSize = 4 << 20

// maxFront bounds the YAML, whose parsed form takes up to a hundred times the memory of its text.
const maxFront = 128 << 10

// Spec is what a file says. Nil lists and pointers stand for keys that are absent or null.
type Spec struct {
	Type   string // free text; "code" if absent
	Status Status // Pending if absent

	DependsOn   []string // empty but not nil for an explicit empty list
	Labels      []string
	TargetFiles []string
	Context     []string
	Prompt      *string
	Branch      *string
	Commits     []string
	CompletedAt *string
	Model       *string // shortened to opus, sonnet or haiku where it names one
	Approval    Approval

	Body string // the Markdown, without white space at its ends
}

// Approval says whether work on a spec waits for a person's word.
type Approval struct {
	Required bool
	Approved bool
}

// Fault is why a file cannot be loaded.
type Fault struct {
	Path   string // as the caller names the file; "" if it has not yet
	Line   int    // 1 is the first; 0 if the fault is not in one line
	Reason string
}

func (f *Fault) Error() string {
	switch {
	case f.Path == "":
		return f.Reason
	case f.Line == 0:
		return fmt.Sprintf("%s: %s", f.Path, f.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Reason)
}

// Parse reads a file's content. Errors are *Fault, without a path.
func Parse(content string) (*Spec, error) {
	document, err := Open(content)
	if err != nil {
		return nil, err
	}
	spec := document.Spec // a copy, so that the YAML can be forgotten
	return &spec, nil
}

// Title returns the text of the first line that begins with "# ", or nil. Fenced code is not told apart.
func (s *Spec) Title() *string {
	for line := range strings.SplitSeq(s.Body, "\n") {
		if title, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
			return &title
		}
	}
	return nil
}

// AppendOutput adds a section with text as it is. Each call adds a section of its own.
func (s *Spec) AppendOutput(text string) {
	if s.Body != "" && !strings.HasSuffix(s.Body, "\n") {
		s.Body += "\n"
	}
	s.Body += "\n## Output\n\n" + text + "\n"
}
