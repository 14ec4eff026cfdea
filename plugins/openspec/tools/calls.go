package tools

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/address"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/check"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/edit"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/steps"
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
	Name         string `json:"name"`
	ID           string `json:"id"`
	Type         string `json:"type"`
	Format       string `json:"format"`
	Requirements bool   `json:"requirements"`
	Scenarios    *bool  `json:"scenarios"` // an absent argument means true
	Requirement  int    `json:"requirement"`
	Diff         bool   `json:"diff"`
}

func show(p *project.Project, in showArguments) (any, error) {
	if in.Name == "" {
		in.Name = in.ID
	}
	kind := project.Kind(in.Type)
	if in.Format == "markdown" {
		text, err := view.Markdown(p, in.Name, kind)
		return markdownText(text), err
	}
	return view.Show(p, view.ShowRequest{
		Name:         in.Name,
		Kind:         kind,
		Requirements: in.Requirements,
		NoScenarios:  in.Scenarios != nil && !*in.Scenarios,
		Requirement:  in.Requirement,
		Diff:         in.Diff,
	})
}

type validateArguments struct {
	Name     *string `json:"name"`
	Type     string  `json:"type"`
	All      bool    `json:"all"`
	Changes  bool    `json:"changes"`
	Specs    bool    `json:"specs"`
	Archived bool    `json:"archived"`
	Strict   bool    `json:"strict"`
}

func validate(p *project.Project, in validateArguments) (any, error) {
	return check.Run(p, check.Request{
		Name:     in.Name,
		Kind:     project.Kind(in.Type),
		All:      in.All,
		Changes:  in.Changes,
		Specs:    in.Specs,
		Archived: in.Archived,
		Strict:   in.Strict,
	})
}

type statusArguments struct {
	Change string `json:"change"`
	Schema string `json:"schema"`
}

func status(p *project.Project, in statusArguments) (any, error) {
	return steps.StatusOf(p, steps.StatusRequest{Change: in.Change, Schema: in.Schema})
}

type instructionsArguments struct {
	Artifact string `json:"artifact"`
	Change   string `json:"change"`
	Schema   string `json:"schema"`
}

func instructions(p *project.Project, in instructionsArguments) (any, error) {
	return steps.InstructionsFor(p, steps.InstructionsRequest{Artifact: in.Artifact, Change: in.Change, Schema: in.Schema})
}

type archiveArguments struct {
	Name       string `json:"name"`
	Yes        *bool  `json:"yes"` // an absent argument means true
	SkipSpecs  bool   `json:"skipSpecs"`
	NoValidate bool   `json:"noValidate"`
}

func archive(p *project.Project, in archiveArguments) (any, []string, error) {
	result, err := edit.Archive(p, edit.ArchiveRequest{
		Name:       in.Name,
		Ask:        in.Yes != nil && !*in.Yes,
		SkipSpecs:  in.SkipSpecs,
		NoValidate: in.NoValidate,
	})
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

type createArguments struct {
	Name        string `json:"name"`
	Schema      string `json:"schema"`
	Description string `json:"description"`
	Goal        string `json:"goal"`
}

func create(p *project.Project, in createArguments) (any, []string, error) {
	result, err := edit.CreateChange(p, edit.CreateRequest{
		Name: in.Name, Schema: in.Schema, Description: in.Description, Goal: in.Goal})
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
