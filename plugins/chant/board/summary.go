package board

import (
	"errors"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/criteria"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/fold"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
)

// The host caches the results of these functions by the content of the file, so that lists do not parse unchanged
// files.
var (
	summaries   = derive.New(summarize)
	searchables = derive.New(searchableOf)
)

// summary holds the data about a spec file that lists need. The data depends only on the content of the file.
type summary struct {
	failed bool // the file cannot be loaded, for the reason in the fields reason, line and limit
	line   int
	reason string
	limit  bool

	kind      string // the value of spec.Spec.Type
	status    string
	dependsOn []string
	labels    []string
	branch    *string
	required  bool // the spec requires an approval
	approved  bool
	title     *string
	criteria  bool // the body has acceptance criteria
}

func summarize(content []byte) summary {
	parsed, err := spec.Parse(string(content))
	if err != nil {
		return failedSummary(err)
	}
	return summaryOf(parsed)
}

// failedSummary returns the summary of a file for which spec.Parse returned err.
func failedSummary(err error) summary {
	var failed *spec.LoadError
	if !errors.As(err, &failed) {
		failed = &spec.LoadError{Reason: err.Error()}
	}
	return summary{failed: true, line: failed.Line, reason: failed.Reason, limit: failed.Limit}
}

func summaryOf(s *spec.Spec) summary {
	return summary{
		kind: s.Type, status: string(s.Status), dependsOn: s.DependsOn, labels: s.Labels, branch: s.Branch,
		required: s.Approval.Required, approved: s.Approval.Approved, title: s.Title(), criteria: criteria.Present(s.Body),
	}
}

// Fields implements derive.Fielder.
func (s *summary) Fields(c *derive.Codec) {
	c.Bool(&s.failed)
	c.Int(&s.line)
	c.String(&s.reason)
	c.Bool(&s.limit)
	c.String(&s.kind)
	c.String(&s.status)
	optionalStrings(c, &s.dependsOn)
	optionalStrings(c, &s.labels)
	derive.Optional(c, &s.branch, c.String)
	c.Bool(&s.required)
	c.Bool(&s.approved)
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

// clone returns a copy of s that shares no memory with the buffer from which s was decoded. The buffer may contain a
// whole body.
func (s *summary) clone() *summary {
	c := *s
	for _, text := range []*string{&c.reason, &c.kind, &c.status} {
		*text = strings.Clone(*text)
	}
	for _, text := range []**string{&c.branch, &c.title} {
		if *text != nil {
			*text = new(strings.Clone(**text))
		}
	}
	for _, list := range []*[]string{&c.dependsOn, &c.labels} {
		*list = slices.Clone(*list)
		for i, text := range *list {
			(*list)[i] = strings.Clone(text)
		}
	}
	return &c
}

// err returns the error about a file that cannot be loaded; nil for a file that can be loaded.
func (s *summary) err() error {
	if !s.failed {
		return nil
	}
	return &spec.LoadError{Line: s.line, Reason: s.reason, Limit: s.limit}
}

// spec returns the spec without its body and without the fields that no list needs.
func (s *summary) spec() *spec.Spec {
	return &spec.Spec{
		Type: s.kind, Status: spec.Status(s.status), DependsOn: s.dependsOn, Labels: s.labels, Branch: s.branch,
		Approval: spec.Approval{Required: s.required, Approved: s.approved},
	}
}

// size returns an estimate of the memory that the summary takes, in bytes.
func (s *summary) size() int {
	n := summarySize + len(s.reason) + len(s.kind) + len(s.status)
	for _, list := range [][]string{s.dependsOn, s.labels} {
		for _, text := range list {
			n += stringSize + len(text)
		}
	}
	for _, text := range []*string{s.branch, s.title} {
		if text != nil {
			n += stringSize + len(*text)
		}
	}
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
		return searchable{summary: failedSummary(err)}
	}
	return searchable{summaryOf(parsed), fold.Lower(parsed.Body)}
}
