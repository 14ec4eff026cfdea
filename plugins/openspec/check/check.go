// Package check validates the changes and main specs of a project. Start with Run. Package edit uses a Validator for the
// change that it archives.
package check

import (
	"cmp"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/validation"
)

// Request selects what Run validates: one item, the archived changes, or all items of certain kinds. The zero value
// selects all items of all kinds.
type Request struct {
	Name     *string      `json:"name"` // the name of the only item to validate; nil if the request does not select a single item
	Kind     project.Kind `json:"type"` // the kind of the named item; if empty, the item may have either kind
	All      bool         `json:"all"`
	Changes  bool         `json:"changes"`
	Specs    bool         `json:"specs"`
	Archived bool         `json:"archived"`
	Strict   bool         `json:"strict"` // a warning makes an item invalid, too
}

// Report is the result of Run.
type Report struct {
	Items   []ReportItem     `json:"items"`
	Summary Summary          `json:"summary"`
	Version string           `json:"version"`
	Root    project.RootInfo `json:"root"`
}

// ReportItem is the result of validating one item.
type ReportItem struct {
	ID         string             `json:"id"`
	Type       project.Kind       `json:"type"`
	Valid      bool               `json:"valid"`
	Issues     []validation.Issue `json:"issues"`
	DurationMs int64              `json:"durationMs"`
}

// Summary holds the numbers of valid and invalid items. ByType has a key for each requested kind.
type Summary struct {
	Totals Totals                  `json:"totals"`
	ByType map[project.Kind]Totals `json:"byType"`
}

// Totals holds numbers of items.
type Totals struct {
	Items  int `json:"items"`
	Passed int `json:"passed"`
	Failed int `json:"failed"`
}

// Run validates specs and changes. An issue of an item is part of the report, and not an error.
func Run(p *project.Project, request Request) (_ *Report, err error) {
	defer project.Convert(&err, "validate_error", "", false)
	if request.Name != nil {
		return validateOne(p, request)
	}
	root, info, err := p.Find()
	if err != nil {
		return nil, err
	}
	v := New(root, request.Strict)
	if request.Archived {
		if err := v.archived(); err != nil {
			return nil, err
		}
		return v.report(info, project.KindChange), nil
	}
	all := request.All || !request.Changes && !request.Specs
	v.facts = root.SpecFacts()
	var kinds []project.Kind
	if all || request.Changes {
		kinds = append(kinds, project.KindChange)
		err = v.changes()
	}
	if err == nil && (all || request.Specs) {
		kinds = append(kinds, project.KindSpec)
		err = v.specs()
	}
	if err != nil {
		return nil, err
	}
	return v.report(info, kinds...), nil
}

func validateOne(p *project.Project, request Request) (*Report, error) {
	name := *request.Name
	root, info, kind, err := p.Item(name, request.Kind)
	if err != nil {
		return nil, err
	}
	v := New(root, request.Strict)
	if kind == project.KindSpec {
		v.item(name, project.KindSpec, v.spec)
		return v.report(info, project.KindSpec), nil
	}
	v.item(name, project.KindChange, func(name string) ([]validation.Issue, error) {
		c, exists, _ := root.Change(name)
		if !exists {
			return validation.Change(validation.Input{ID: name}), nil
		}
		return v.change(c)
	})
	return v.report(info, project.KindChange), nil
}

// report returns a report with the items sorted and counted.
func (v *Validator) report(info project.RootInfo, kinds ...project.Kind) *Report {
	report := &Report{Items: v.items, Version: "1.0", Root: info, Summary: Summary{ByType: map[project.Kind]Totals{}}}
	if report.Items == nil {
		report.Items = []ReportItem{}
	}
	slices.SortStableFunc(report.Items, func(a, b ReportItem) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Type, b.Type))
	})
	for _, kind := range kinds {
		report.Summary.ByType[kind] = Totals{}
	}
	for _, item := range report.Items {
		totals := report.Summary.ByType[item.Type]
		totals.count(item.Valid)
		report.Summary.ByType[item.Type] = totals
		report.Summary.Totals.count(item.Valid)
	}
	return report
}

func (t *Totals) count(valid bool) {
	t.Items++
	if valid {
		t.Passed++
	} else {
		t.Failed++
	}
}
