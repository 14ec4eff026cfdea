package view

import (
	"errors"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/address"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
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
func Read(p *project.Project, at address.Address) (any, error) {
	root, info, err := p.Find()
	if errors.Is(err, store.ErrNoRoot) {
		return nil, ErrNoResource
	}
	if err != nil {
		return nil, err
	}
	switch at.In {
	case address.Specs:
		if at.Name == "" {
			return ListSpecs(p)
		}
		return file(root.ReadSpec(at.Name))
	case address.Changes:
		if at.Name == "" {
			return ListChanges(p, ByTime)
		}
		c, exists, _ := root.Change(at.Name)
		return readChange(root, info, c, exists, at)
	case address.Archive:
		if at.Name == "" {
			return ListArchived(p)
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

func readChange(root *store.Root, info project.RootInfo, c store.Change, exists bool, at address.Address) (any, error) {
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
	return &DeltaList{Specs: append([]string{}, ids...)}, nil
}

// summary returns a view of a change. If the change has no usable proposal, the view consists of the name and the
// deltas of the change, so that a client can read every listed change.
func summary(root *store.Root, info project.RootInfo, c store.Change) (any, error) {
	view := &ChangeView{ID: c.Name, Title: c.Name, Deltas: []DeltaView{}, Root: info}
	source, _, err := c.Read(store.ProposalFile)
	if err != nil {
		return nil, err
	}
	proposal, _ := change.ParseProposal(c.Name, markdown.ParseAny(source))
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
func Resources(p *project.Project) ([]Resource, error) {
	root, _, err := p.Find()
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

// SpecIDs returns the ids of all main specs, sorted; none if there is no root.
func SpecIDs(p *project.Project) ([]string, error) {
	root, _ := p.FindOrHere()
	return root.Specs()
}

// ChangeIDs returns the names of all active changes, sorted; none if there is no root.
func ChangeIDs(p *project.Project) ([]string, error) {
	root, _ := p.FindOrHere()
	all, err := root.Changes()
	return store.Names(all), err
}

// ArchivedNames returns the names of all archived changes, sorted; none if there is no root.
func ArchivedNames(p *project.Project) ([]string, error) {
	root, _ := p.FindOrHere()
	all, err := root.Archived()
	return store.Names(all), err
}

// DeltaIDs returns the ids of the capabilities for which an active or archived change has deltas, sorted. It returns
// none for a change that does not exist.
func DeltaIDs(p *project.Project, in address.Collection, name string) ([]string, error) {
	root, _ := p.FindOrHere()
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
