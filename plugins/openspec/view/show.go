package view

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
)

const codeShow = "show_error"

// ShowRequest selects an item, and the parts of the item to show.
type ShowRequest struct {
	Name         string       `json:"name"`
	Kind         project.Kind `json:"type"`         // if empty, the item may have either kind
	Requirements bool         `json:"requirements"` // omit the scenarios; allowed only for specs
	NoScenarios  bool         `json:"-"`            // omit the scenarios; allowed only for specs
	Requirement  int          `json:"requirement"`  // the number of the only requirement to show, from 1; 0 shows all requirements; allowed only for specs
	Diff         bool         `json:"diff"`         // add the diffs of modified requirements; allowed only for changes
}

// ChangeView describes a change by its deltas.
type ChangeView struct {
	ID         string           `json:"id"`
	Title      string           `json:"title"`
	DeltaCount int              `json:"deltaCount"`
	Deltas     []DeltaView      `json:"deltas"`
	Root       project.RootInfo `json:"root"`
}

// DeltaView describes the change of one requirement. As the output of the openspec CLI does, it contains the
// requirement twice.
type DeltaView struct {
	Spec         string             `json:"spec"`
	Operation    string             `json:"operation"`
	Description  string             `json:"description"`
	Requirement  *spec.Requirement  `json:"requirement,omitempty"`
	Requirements []spec.Requirement `json:"requirements,omitempty"`
	Rename       *RenameView        `json:"rename,omitempty"`
	Diff         *string            `json:"diff,omitempty"`
	Warning      string             `json:"warning,omitempty"`
}

// RenameView holds the old and the new name of a requirement.
type RenameView struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// SpecView describes a main spec.
type SpecView struct {
	ID               string             `json:"id"`
	Title            string             `json:"title"`
	Overview         string             `json:"overview"`
	RequirementCount int                `json:"requirementCount"`
	Requirements     []spec.Requirement `json:"requirements"`
	Metadata         SpecMetadata       `json:"metadata"`
	Root             project.RootInfo   `json:"root"`
}

// SpecMetadata holds the version of the format of a SpecView.
type SpecMetadata struct {
	Version string `json:"version"`
	Format  string `json:"format"`
}

// Show returns a *ChangeView for a change, and a *SpecView for a main spec.
func Show(p *project.Project, request ShowRequest) (_ any, err error) {
	defer project.Convert(&err, codeShow, "", false)
	root, info, kind, err := p.Item(request.Name, request.Kind)
	switch {
	case err != nil:
		return nil, err
	case kind == project.KindChange:
		return showChange(root, info, request)
	}
	return showSpec(root, info, request)
}

// Markdown returns the text of the proposal of a change, or the text of a main spec.
func Markdown(p *project.Project, name string, kind project.Kind) (_ string, err error) {
	defer project.Convert(&err, codeShow, "", false)
	root, _, kind, err := p.Item(name, kind)
	if err != nil {
		return "", err
	}
	var source string
	if kind == project.KindChange {
		_, source, err = readProposal(root, name)
	} else {
		source, err = readSpec(root, name)
	}
	return markdown.ParseAny(source).String(), err
}

// readProposal returns a change and the text of its proposal.
func readProposal(root *store.Root, name string) (store.Change, string, error) {
	c, exists, _ := root.Change(name)
	if !exists {
		path := filepath.Join(root.ChangesDir(), name, store.ProposalFile)
		return c, "", &project.Failure{Code: codeShow, Message: fmt.Sprintf(`Change "%s" not found at %s`, name, path)}
	}
	nested, err := project.NewWorkflows(root).Nested(c)
	if err != nil {
		return c, "", err
	}
	if nested != nil {
		return c, "", &project.Failure{Code: codeShow, Message: project.NestedText(name, nested)}
	}
	source, found, err := c.Read(store.ProposalFile)
	if err == nil && !found {
		err = &project.Failure{Code: codeShow, Message: fmt.Sprintf(
			`Change "%s" has no proposal.md yet. Run "openspec status --change %s" to see which artifact comes next.`, name, name)}
	}
	return c, source, err
}

func readSpec(root *store.Root, id string) (string, error) {
	source, found, err := root.ReadSpec(id)
	if err == nil && !found {
		err = &project.Failure{Code: codeShow, Message: fmt.Sprintf("Spec '%s' not found at %s", id, root.SpecPath(id))}
	}
	return source, err
}

func showSpec(root *store.Root, info project.RootInfo, request ShowRequest) (*SpecView, error) {
	source, err := readSpec(root, request.Name)
	if err != nil {
		return nil, err
	}
	if request.Requirements && request.Requirement != 0 {
		return nil, errors.New("Options --requirements and --requirement cannot be used together") //lint:ignore ST1005 the wording of the openspec CLI
	}
	parsed, err := spec.Parse(request.Name, markdown.ParseAny(source))
	if err != nil {
		return nil, err
	}
	required := parsed.Requirements
	if n := request.Requirement; n != 0 {
		if n < 1 || n > len(required) {
			return nil, fmt.Errorf("Requirement %d not found", n) //lint:ignore ST1005 the wording of the openspec CLI
		}
		required = required[n-1 : n]
	}
	if request.Requirements || request.NoScenarios {
		for i := range required {
			required[i].Scenarios = []spec.Scenario{}
		}
	}
	return &SpecView{
		ID:               parsed.ID,
		Title:            parsed.ID,
		Overview:         parsed.Overview,
		RequirementCount: len(required),
		Requirements:     required,
		Metadata:         SpecMetadata{Version: "1.0.0", Format: "openspec"},
		Root:             info,
	}, nil
}

func showChange(root *store.Root, info project.RootInfo, request ShowRequest) (*ChangeView, error) {
	c, source, err := readProposal(root, request.Name)
	if err != nil {
		return nil, err
	}
	proposal, err := change.ParseProposal(c.Name, markdown.ParseAny(source))
	if err != nil {
		return nil, err
	}
	view := &ChangeView{ID: c.Name, Title: c.Name, Deltas: []DeltaView{}, Root: info}
	if err := view.fill(root, c, proposal, request.Diff); err != nil {
		return nil, err
	}
	return view, nil
}

// fill sets the title and the deltas of the view. If proposal is nil, fill does not change the title, and takes the
// deltas only from delta files.
func (v *ChangeView) fill(root *store.Root, c store.Change, proposal *change.Proposal, diff bool) error {
	files, _, err := project.ReadDeltas(c)
	if err != nil {
		return err
	}
	sections := 0
	for _, file := range files {
		sections += len(file.Parsed.Sections)
		deltas, err := deltaViews(root, file, diff)
		if err != nil {
			return err
		}
		v.Deltas = append(v.Deltas, deltas...)
	}
	if proposal != nil {
		v.Title = proposal.Title
		if sections == 0 {
			v.addProse(proposal)
		}
	}
	v.DeltaCount = len(v.Deltas)
	return nil
}

func (v *ChangeView) addProse(proposal *change.Proposal) {
	for _, one := range proposal.Bullets() {
		v.Deltas = append(v.Deltas, DeltaView{Spec: one.Spec, Operation: one.Operation, Description: one.Description})
	}
}
