package spec

import (
	"sync"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// Main is the main spec of a capability. Its functions parse the content in their first call and keep the result, since
// validation and merges use one main spec for all changes that affect it. Callers must not modify the results.
type Main struct {
	Source   string                // the unchanged content of the file
	Text     func() *markdown.Text // returns the lines of the spec; invalid UTF-8 becomes U+FFFD
	Parts    func() Parts          // returns the result of Divide for the spec
	Problems func() []Problem      // returns the result of Structure for the spec
}

// NewMain returns the main spec with the given content.
func NewMain(source string) *Main {
	text := sync.OnceValue(func() *markdown.Text { return markdown.ParseAny(source) })
	return &Main{
		Source:   source,
		Text:     text,
		Parts:    sync.OnceValue(func() Parts { return Divide(text()) }),
		Problems: sync.OnceValue(func() []Problem { return Structure(text()) }),
	}
}
