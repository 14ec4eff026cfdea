// Package spec reads main specs: what a capability is for and what it requires.
//
//	parsed, err := spec.Parse("inventory", text)   // what readers see
//	parts := spec.Divide(text)                     // what a merge works on
//
// Both views see the same lines in a different way, as the format has it: readers see every header below
// Requirements, a merge only those that say "Requirement:".
package spec

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

// Missing is the title of a section without which a text is no main spec.
type Missing string

func (m Missing) Error() string { return "Spec must have a " + string(m) + " section" }

// Titles of the two sections that every main spec has.
const (
	PurposeTitle      = "Purpose"
	RequirementsTitle = "Requirements"
)

// Spec is a main spec as readers see it.
type Spec struct {
	ID           string
	Overview     string // the content of Purpose, with deeper headers
	Requirements []Requirement
}

// Requirement is one of a spec's, or of a delta's.
type Requirement struct {
	Text      string     `json:"text"`
	Scenarios []Scenario `json:"scenarios"` // never nil
}

// Scenario is one of a requirement's, without its header.
type Scenario struct {
	RawText string `json:"rawText"`
}

// Parse reads the main spec of a capability. The error is a Missing.
func Parse(id string, text *markdown.Text) (*Spec, error) {
	sections := text.Sections()
	purpose := markdown.Find(sections, PurposeTitle)
	if purpose == nil || purpose.Content() == "" {
		return nil, Missing(PurposeTitle)
	}
	required := markdown.Find(sections, RequirementsTitle)
	if required == nil {
		return nil, Missing(RequirementsTitle)
	}
	return &Spec{ID: id, Overview: purpose.Content(), Requirements: ParseRequirements(required)}, nil
}

// ParseRequirements returns one requirement for each header below a section. What has no statement is
// required by its title.
func ParseRequirements(section *markdown.Section) []Requirement {
	all := make([]Requirement, 0, len(section.Children))
	for _, child := range section.Children {
		one := Requirement{Text: requirement.Statement(child.Body), Scenarios: []Scenario{}}
		if one.Text == "" {
			one.Text = child.Title
		}
		for _, scenario := range child.Children {
			if content := scenario.Content(); content != "" {
				one.Scenarios = append(one.Scenarios, Scenario{RawText: content})
			}
		}
		all = append(all, one)
	}
	return all
}
