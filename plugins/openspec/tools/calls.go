package tools

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/address"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/edit"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/view"
)

type listArguments struct {
	Type string `json:"type"`
	Sort string `json:"sort"`
}

func list(p *project.Project, in listArguments) (any, error) {
	switch in.Type {
	case "specs":
		return view.ListSpecs(p)
	case "archived":
		return view.ListArchived(p)
	}
	if in.Sort == string(view.ByName) {
		return view.ListChanges(p, view.ByName)
	}
	return view.ListChanges(p, view.ByTime)
}

type showArguments struct {
	view.ShowRequest
	ID        string `json:"id"`
	Format    string `json:"format"`
	Scenarios *bool  `json:"scenarios"` // an absent argument means true
}

func show(p *project.Project, in showArguments) (any, error) {
	if in.Name == "" {
		in.Name = in.ID
	}
	if in.Format == "markdown" {
		text, err := view.Markdown(p, in.Name, in.Kind)
		return markdownText(text), err
	}
	in.NoScenarios = in.Scenarios != nil && !*in.Scenarios
	return view.Show(p, in.ShowRequest)
}

type archiveArguments struct {
	edit.ArchiveRequest
	Yes *bool `json:"yes"` // an absent argument means true
}

func archive(p *project.Project, in archiveArguments) (any, []string, error) {
	in.Ask = in.Yes != nil && !*in.Yes
	result, err := edit.Archive(p, in.ArchiveRequest)
	if err != nil {
		return nil, nil, err
	}
	changed := uris(address.Specs, address.Changes, address.Archive)
	for _, id := range result.Specs {
		changed = append(changed, address.Address{In: address.Specs, Name: id}.String())
	}
	return result, append(changed, address.Address{In: address.Changes, Name: in.Name}.String()), nil
}

type initArguments struct {
	Tools         []string `json:"tools"`
	ShouldMigrate bool     `json:"shouldMigrate"`
}

func initialize(p *project.Project, in initArguments) (any, []string, error) {
	result, err := edit.Init(p, in.Tools)
	if err != nil {
		return nil, nil, err
	}
	if len(result.Created) == 0 {
		return result, nil, nil
	}
	return result, uris(address.Specs, address.Changes, address.Archive), nil
}

func create(p *project.Project, in edit.CreateRequest) (any, []string, error) {
	result, err := edit.CreateChange(p, in)
	if err != nil {
		return nil, nil, err
	}
	return result, uris(address.Changes), nil
}

// uris returns the URIs of the given collections.
func uris(collections ...address.Collection) []string {
	var all []string
	for _, in := range collections {
		all = append(all, address.Address{In: in}.String())
	}
	return all
}
