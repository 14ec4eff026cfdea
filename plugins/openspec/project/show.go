package project

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
)

// ShowRequest selects an item and parts of the item.
type ShowRequest struct {
	Name         string
	Kind         Kind // if empty, either kind
	Requirements bool // specs only: omit the scenarios
	NoScenarios  bool // specs only: omit the scenarios
	Requirement  int  // specs only: the number of the only requirement to show, from 1; 0 shows all
	Diff         bool // changes only: add diffs of modified requirements
}

// ChangeView describes a change by its deltas.
type ChangeView struct {
	ID         string      `json:"id"`
	Title      string      `json:"title"`
	DeltaCount int         `json:"deltaCount"`
	Deltas     []DeltaView `json:"deltas"`
	Root       RootInfo    `json:"root"`
}

// DeltaView is the change of one requirement. As in the output of the openspec CLI, it contains the requirement twice.
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

// RenameView is a requirement's old and new name.
type RenameView struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// SpecView is a main spec.
type SpecView struct {
	ID               string             `json:"id"`
	Title            string             `json:"title"`
	Overview         string             `json:"overview"`
	RequirementCount int                `json:"requirementCount"`
	Requirements     []spec.Requirement `json:"requirements"`
	Metadata         SpecMetadata       `json:"metadata"`
	Root             RootInfo           `json:"root"`
}

// SpecMetadata has the version of a SpecView's format.
type SpecMetadata struct {
	Version string `json:"version"`
	Format  string `json:"format"`
}

// Show returns a change as a *ChangeView or a main spec as a *SpecView.
func (p *Project) Show(request ShowRequest) (any, error) {
	root, info, kind, err := p.item(request.Name, request.Kind)
	if err != nil {
		return nil, asFailure(err, codeShow, "", false)
	}
	var view any
	if kind == KindChange {
		view, err = showChange(root, info, request)
	} else {
		view, err = showSpec(root, info, request)
	}
	if err != nil {
		return nil, asFailure(err, codeShow, "", false)
	}
	return view, nil
}

// Markdown returns the text of a change's proposal or of a main spec.
func (p *Project) Markdown(name string, kind Kind) (string, error) {
	root, _, kind, err := p.item(name, kind)
	if err != nil {
		return "", asFailure(err, codeShow, "", false)
	}
	var source string
	if kind == KindChange {
		_, source, err = readProposal(root, name)
	} else {
		source, err = readSpec(root, name)
	}
	if err != nil {
		return "", asFailure(err, codeShow, "", false)
	}
	return text(source).String(), nil
}

// item finds the root and the kind of the item with a name.
func (p *Project) item(name string, kind Kind) (*store.Root, RootInfo, Kind, error) {
	if err := checkName(name, kind); err != nil {
		if name != store.ArchiveName || kind != "" {
			return nil, RootInfo{}, "", err
		}
		// No change can be named "archive", but a spec can.
		if root, info, absent := p.find(); absent == nil && hasSpec(root, name) {
			return root, info, KindSpec, nil
		}
		return nil, RootInfo{}, "", err
	}
	root, info, err := p.find()
	if errors.Is(err, store.ErrNoRoot) {
		if kind != "" {
			return nil, info, "", err
		}
		return nil, info, "", &Failure{Code: codeUnknown, Message: unknown(name, nil)}
	}
	if err != nil {
		return nil, info, "", err
	}
	kind, err = resolve(root, name, kind)
	return root, info, kind, err
}

// readProposal returns a change and its proposal.
func readProposal(root *store.Root, name string) (store.Change, string, error) {
	c, exists, _ := root.Change(name)
	if !exists {
		path := filepath.Join(root.ChangesDir(), name, store.ProposalFile)
		return c, "", &Failure{Code: codeShow, Message: fmt.Sprintf(`Change "%s" not found at %s`, name, path)}
	}
	nested, err := newWorkflows(root).nested(c)
	if err != nil {
		return c, "", err
	}
	if nested != nil {
		return c, "", &Failure{Code: codeShow, Message: nestedText(name, nested)}
	}
	source, found, err := c.Read(store.ProposalFile)
	if err == nil && !found {
		err = &Failure{Code: codeShow, Message: fmt.Sprintf(
			`Change "%s" has no proposal.md yet. Run "openspec status --change %s" to see which artifact comes next.`, name, name)}
	}
	return c, source, err
}

func readSpec(root *store.Root, id string) (string, error) {
	source, found, err := root.ReadSpec(id)
	if err == nil && !found {
		err = &Failure{Code: codeShow, Message: fmt.Sprintf("Spec '%s' not found at %s", id, root.SpecPath(id))}
	}
	return source, err
}

func showSpec(root *store.Root, info RootInfo, request ShowRequest) (*SpecView, error) {
	source, err := readSpec(root, request.Name)
	if err != nil {
		return nil, err
	}
	if request.Requirements && request.Requirement != 0 {
		return nil, errors.New("Options --requirements and --requirement cannot be used together") //lint:ignore ST1005 the wording of the openspec CLI
	}
	parsed, err := spec.Parse(request.Name, text(source))
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

func showChange(root *store.Root, info RootInfo, request ShowRequest) (*ChangeView, error) {
	c, source, err := readProposal(root, request.Name)
	if err != nil {
		return nil, err
	}
	proposal, err := change.ParseProposal(c.Name, text(source))
	if err != nil {
		return nil, err
	}
	view := &ChangeView{ID: c.Name, Title: c.Name, Deltas: []DeltaView{}, Root: info}
	if err := view.fill(root, c, proposal, request.Diff); err != nil {
		return nil, err
	}
	return view, nil
}

// fill sets a change's title and deltas. If the proposal is nil, the title stays and the deltas come from delta files alone.
func (v *ChangeView) fill(root *store.Root, c store.Change, proposal *change.Proposal, diff bool) error {
	files, _, err := readDeltas(c)
	if err != nil {
		return err
	}
	sections := 0
	for _, file := range files {
		sections += len(file.parsed.Sections)
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
