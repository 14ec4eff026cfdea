package board

import (
	"errors"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/criteria"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
	"github.com/bulkhead-mcp/bulkhead/sdk/fold"
)

// The host caches the results of these functions by the content of the file, so that lists do not parse unchanged
// files.
var (
	summaries   = derive.New(summarize)
	searchables = derive.New(searchableOf)
)

// summary holds the data about a spec file that lists need. The data depends only on the content of the file.
type summary struct {
	failed   *spec.LoadError // the reason why the file cannot be loaded; nil for a file that can be loaded
	shown    spec.Spec       // the spec without its body and without the fields that no list needs
	title    *string
	criteria bool // the body has acceptance criteria
}

func summarize(content []byte) summary {
	parsed, err := spec.Parse(string(content))
	if err != nil {
		return summary{failed: asLoadError(err)}
	}
	return summaryOf(parsed)
}

// asLoadError returns err as a *spec.LoadError.
func asLoadError(err error) *spec.LoadError {
	if failed := (*spec.LoadError)(nil); errors.As(err, &failed) {
		return failed
	}
	return &spec.LoadError{Reason: err.Error()}
}

func summaryOf(s *spec.Spec) summary {
	return summary{
		shown: spec.Spec{Type: s.Type, Status: s.Status, DependsOn: s.DependsOn, Labels: s.Labels, Branch: s.Branch, Approval: s.Approval},
		title: s.Title(), criteria: criteria.Present(s.Body),
	}
}

// Fields implements derive.Fielder.
func (s *summary) Fields(c *derive.Codec) {
	derive.Optional(c, &s.failed, func(failed *spec.LoadError) {
		c.Int(&failed.Line)
		c.String(&failed.Reason)
		c.Bool(&failed.Limit)
	})
	c.String(&s.shown.Type)
	c.String((*string)(&s.shown.Status))
	optionalStrings(c, &s.shown.DependsOn)
	optionalStrings(c, &s.shown.Labels)
	derive.Optional(c, &s.shown.Branch, c.String)
	c.Bool(&s.shown.Approval.Required)
	c.Bool(&s.shown.Approval.Approved)
	derive.Optional(c, &s.title, c.String)
	c.Bool(&s.criteria)
}

// optionalStrings encodes or decodes a list of strings, and whether the list is nil: an explicit empty list differs
// from an absent list.
func optionalStrings(c *derive.Codec, v *[]string) {
	present := *v != nil
	c.Bool(&present)
	c.Strings(v)
	if present && *v == nil {
		*v = []string{}
	}
}

// eachText calls visit for each string of the summary.
func (s *summary) eachText(visit func(text *string)) {
	visit(&s.shown.Type)
	visit((*string)(&s.shown.Status))
	if s.failed != nil {
		visit(&s.failed.Reason)
	}
	for _, text := range []*string{s.shown.Branch, s.title} {
		if text != nil {
			visit(text)
		}
	}
	for _, list := range [][]string{s.shown.DependsOn, s.shown.Labels} {
		for i := range list {
			visit(&list[i])
		}
	}
}

// detached returns the summary without references to the buffer from which it was decoded. The buffer may contain a
// whole body.
func (s summary) detached() *summary {
	s.eachText(func(text *string) { *text = strings.Clone(*text) })
	return &s
}

// size returns an estimate of the memory that the summary takes, in bytes.
func (s *summary) size() int {
	n := summarySize - 2*stringSize // summarySize includes the type and the status
	s.eachText(func(text *string) { n += stringSize + len(*text) })
	return n
}

// Estimates of memory in bytes, for a 32-bit module whose allocator rounds up.
const (
	summarySize = 512 // memory of a summary, of its entry and of its places in the maps of a board
	stringSize  = 16
)

// searchable holds the data about a spec file that a search needs.
type searchable struct {
	summary
	lower string // the body of the spec in lower case
}

// Fields implements derive.Fielder.
func (s *searchable) Fields(c *derive.Codec) {
	s.summary.Fields(c)
	c.String(&s.lower)
}

func searchableOf(content []byte) searchable {
	parsed, err := spec.Parse(string(content))
	if err != nil {
		return searchable{summary: summary{failed: asLoadError(err)}}
	}
	return searchable{summaryOf(parsed), fold.Lower(parsed.Body)}
}
