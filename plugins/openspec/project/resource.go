package project

import (
	"errors"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/address"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
)

// Names of files that the openspec directory of older projects contains.
const (
	projectFile      = "project.md"
	instructionsFile = "AGENTS.md"
)

// ErrNoResource is the error of Read if no resource exists at the address.
var ErrNoResource = errors.New("resource not found")

// DeltaList lists the ids of the capabilities for which a change has deltas.
type DeltaList struct {
	Specs []string `json:"specs"`
}

// Read returns the resource at an address, which is a string of Markdown or a value that the caller encodes as JSON.
// The error is ErrNoResource if the resource does not exist.
func (p *Project) Read(at address.Address) (any, error) {
	root, info, err := p.find()
	if errors.Is(err, store.ErrNoRoot) {
		return nil, ErrNoResource
	}
	if err != nil {
		return nil, err
	}
	switch at.In {
	case address.Specs:
		if at.Name == "" {
			return p.ListSpecs()
		}
		return file(root.ReadSpec(at.Name))
	case address.Changes:
		if at.Name == "" {
			return p.ListChanges(ByTime)
		}
		c, exists, _ := root.Change(at.Name)
		return readChange(root, info, c, exists, at)
	case address.Archive:
		if at.Name == "" {
			return p.ListArchived()
		}
		c, exists := root.ArchivedChange(at.Name)
		return readChange(root, info, c, exists, at)
	case address.Project:
		return file(root.ReadFile(projectFile))
	case address.Instructions:
		return file(root.ReadFile(instructionsFile))
	}
	return nil, ErrNoResource
}

// file returns the content of a file as a resource. It returns ErrNoResource if the file was not found.
func file(source string, found bool, err error) (any, error) {
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, ErrNoResource
	}
	return strings.ToValidUTF8(source, "\uFFFD"), nil
}

func readChange(root *store.Root, info RootInfo, c store.Change, exists bool, at address.Address) (any, error) {
	if !exists {
		return nil, ErrNoResource
	}
	switch at.Part {
	case address.Summary:
		return summary(root, info, c)
	case address.Proposal:
		return file(c.Read(store.ProposalFile))
	case address.Tasks:
		return file(c.Read(store.TasksFile))
	case address.Design:
		return file(c.Read(store.DesignFile))
	}
	if at.Capability != "" {
		return file(c.ReadDelta(at.Capability))
	}
	ids, _, err := c.Deltas()
	if err != nil {
		return nil, err
	}
	return &DeltaList{Specs: orEmpty(ids)}, nil
}

// summary returns a view of a change. If the change has no usable proposal, the view consists of the name and the
// deltas of the change, so that a client can read every listed change.
func summary(root *store.Root, info RootInfo, c store.Change) (any, error) {
	view := &ChangeView{ID: c.Name, Title: c.Name, Deltas: []DeltaView{}, Root: info}
	source, _, err := c.Read(store.ProposalFile)
	if err != nil {
		return nil, err
	}
	proposal, _ := change.ParseProposal(c.Name, text(source))
	if err := view.fill(root, c, proposal, false); err != nil {
		return nil, err
	}
	return view, nil
}

// Resource describes an existing resource.
type Resource struct {
	At   address.Address
	JSON bool // the content is JSON instead of Markdown
}

// Resources lists all main specs, all active changes with their files, and the collections. It does not list the
// archived changes one by one.
func (p *Project) Resources() ([]Resource, error) {
	root, _, err := p.find()
	if errors.Is(err, store.ErrNoRoot) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Resource
	ids, err := root.Specs()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		all = append(all, Resource{At: address.Address{In: address.Specs, Name: id}})
	}
	changes, err := root.Changes()
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		files, err := changeResources(c)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	for _, in := range []address.Collection{address.Specs, address.Changes, address.Archive} {
		all = append(all, Resource{At: address.Address{In: in}, JSON: true})
	}
	if root.HasFile(projectFile) {
		all = append(all, Resource{At: address.Address{In: address.Project}})
	}
	if root.HasFile(instructionsFile) {
		all = append(all, Resource{At: address.Address{In: address.Instructions}})
	}
	return all, nil
}

func changeResources(c store.Change) ([]Resource, error) {
	all := []Resource{{At: address.Address{In: address.Changes, Name: c.Name}, JSON: true}}
	for _, one := range []struct {
		part address.Part
		name string
	}{{address.Proposal, store.ProposalFile}, {address.Design, store.DesignFile}, {address.Tasks, store.TasksFile}} {
		if c.Has(one.name) {
			all = append(all, Resource{At: address.Address{In: address.Changes, Name: c.Name, Part: one.part}})
		}
	}
	ids, _, err := c.Deltas()
	for _, id := range ids {
		all = append(all, Resource{At: address.Address{In: address.Changes, Name: c.Name, Part: address.Deltas, Capability: id}})
	}
	return all, err
}

// Place returns the path of the nearest root, or of the root that Init would create.
func (p *Project) Place() string {
	root, _ := p.findOrHere()
	return root.Path
}

// SpecIDs returns the ids of all main specs, sorted; none if there is no root.
func (p *Project) SpecIDs() ([]string, error) {
	root, _ := p.findOrHere()
	return root.Specs()
}

// ChangeIDs returns the names of all active changes, sorted; none if there is no root.
func (p *Project) ChangeIDs() ([]string, error) {
	root, _ := p.findOrHere()
	all, err := root.Changes()
	return changeNames(all), err
}

// ArchivedNames returns the names of all archived changes, sorted; none if there is no root.
func (p *Project) ArchivedNames() ([]string, error) {
	root, _ := p.findOrHere()
	all, err := root.Archived()
	return changeNames(all), err
}

// DeltaIDs returns the ids of the capabilities for which an active or archived change has deltas, sorted. It returns
// none for a change that does not exist.
func (p *Project) DeltaIDs(in address.Collection, name string) ([]string, error) {
	root, _ := p.findOrHere()
	if store.CheckArchived(name) != nil {
		return nil, nil
	}
	c, exists := root.ArchivedChange(name)
	if in == address.Changes {
		c, exists, _ = root.Change(name)
	}
	if !exists {
		return nil, nil
	}
	ids, _, err := c.Deltas()
	return ids, err
}
