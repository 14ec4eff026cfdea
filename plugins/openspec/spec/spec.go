// Package spec parses main specs, which contain the purpose and the requirements of a capability.
//
//	parsed, err := spec.Parse("inventory", text)   // for display and validation
//	parts := spec.Divide(text)                     // for merges
//
// The two results differ, as the format requires: Parse returns a requirement for every header below Requirements,
// whereas Divide returns a block only for headers that begin with "Requirement:".
package spec

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

// Missing is an error about a main spec. It is the title of a required section that the spec lacks.
type Missing string

func (m Missing) Error() string { return "Spec must have a " + string(m) + " section" }

// The titles of the two sections that every main spec must have.
const (
	PurposeTitle      = "Purpose"
	RequirementsTitle = "Requirements"
)

// Spec is a main spec, parsed for display and validation.
type Spec struct {
	ID           string
	Overview     string // the content of the Purpose section, including deeper headers
	Requirements []Requirement
}

// Requirement is a requirement of a main spec or a delta.
type Requirement struct {
	Text      string     `json:"text"`
	Scenarios []Scenario `json:"scenarios"` // never nil
}

// Scenario is a scenario of a requirement, without its header.
type Scenario struct {
	RawText string `json:"rawText"`
}

// Parse parses the main spec of the capability with the given id. The error is a Missing.
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

// ParseRequirements returns one requirement for each header directly below a section. If a requirement has no
// statement, its title is the statement.
func ParseRequirements(section *markdown.Section) []Requirement {
	all := make([]Requirement, 0, len(section.Children))
	for _, child := range section.Children {
		all = append(all, fromSection(child))
	}
	return all
}

// fromSection returns the requirement that a section contains. It ignores the indentation of the first line with
// content after the header.
func fromSection(section *markdown.Section) Requirement {
	one := Requirement{Text: requirement.Statement(section.Body.TrimStart()), Scenarios: []Scenario{}}
	if one.Text == "" {
		one.Text = section.Title
	}
	for _, scenario := range section.Children {
		if content := scenario.Content(); content != "" {
			one.Scenarios = append(one.Scenarios, Scenario{RawText: content})
		}
	}
	return one
}
