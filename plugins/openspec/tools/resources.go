package tools

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/address"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/view"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const (
	markdownType = "text/markdown"
	jsonType     = "application/json"
)

func resources() sdk.Resources {
	return sdk.Resources{List: listResources, Templates: listTemplates, Read: readResource}
}

func listResources(context.Context) ([]sdk.Resource, error) {
	p, err := openToRead()
	if err != nil {
		return nil, err
	}
	all, err := view.Resources(p)
	if err != nil {
		return nil, err
	}
	out := make([]sdk.Resource, 0, len(all))
	for _, one := range all {
		uri := one.At.String()
		mime := markdownType
		if one.JSON {
			mime = jsonType
		}
		out = append(out, sdk.Resource{URI: uri, Name: uri[len(address.Prefix):], Description: describe(one.At), MIMEType: mime})
	}
	return out, nil
}

// describe returns a short description of the resource at an address.
func describe(at address.Address) string {
	switch {
	case at.In == address.Project:
		return "What the project is about"
	case at.In == address.Instructions:
		return "Instructions for assistants"
	case at.Name == "":
		return map[address.Collection]string{
			address.Specs: "All main specs", address.Changes: "All active changes", address.Archive: "All archived changes"}[at.In]
	case at.In == address.Specs:
		return "Main spec of " + at.Name
	case at.Capability != "":
		return "What " + at.Name + " changes in " + at.Capability
	case at.Part == address.Summary:
		return "Change " + at.Name + " with its deltas"
	}
	return map[address.Part]string{
		address.Proposal: "Why and what", address.Tasks: "Tasks", address.Design: "Design", address.Deltas: "Capabilities"}[at.Part] + " of " + at.Name
}

func listTemplates(context.Context) ([]sdk.ResourceTemplate, error) {
	all := []sdk.ResourceTemplate{
		{URITemplate: address.Prefix + "specs/{+id}", Name: "spec", Description: "A main spec", MIMEType: markdownType},
	}
	for _, of := range []struct{ collection, variable, name string }{{"changes", "{id}", "change"}, {"archive", "{name}", "archived change"}} {
		base := address.Prefix + of.collection + "/" + of.variable
		all = append(all,
			sdk.ResourceTemplate{URITemplate: base, Name: of.name, Description: "The " + of.name + " with its deltas", MIMEType: jsonType},
			sdk.ResourceTemplate{URITemplate: base + "/proposal", Name: of.name + " proposal", Description: "Its proposal.md", MIMEType: markdownType},
			sdk.ResourceTemplate{URITemplate: base + "/tasks", Name: of.name + " tasks", Description: "Its tasks.md", MIMEType: markdownType},
			sdk.ResourceTemplate{URITemplate: base + "/design", Name: of.name + " design", Description: "Its design.md", MIMEType: markdownType},
			sdk.ResourceTemplate{URITemplate: base + "/specs", Name: of.name + " deltas", Description: "The capabilities that it touches", MIMEType: jsonType},
			sdk.ResourceTemplate{URITemplate: base + "/specs/{+capability}", Name: of.name + " delta", Description: "What it changes in one capability", MIMEType: markdownType},
		)
	}
	return all, nil
}

func readResource(_ context.Context, uri string) ([]sdk.ResourceContents, error) {
	at, err := address.Parse(uri)
	if err != nil {
		return nil, &sdk.Error{Code: abi.CodeInvalidParams, Message: err.Error()}
	}
	p, err := openToRead()
	if err != nil {
		return nil, err
	}
	content, err := view.Read(p, at)
	if errors.Is(err, view.ErrNoResource) {
		return nil, notFound(at, uri)
	}
	if err != nil {
		return nil, err
	}
	if text, ok := content.(string); ok {
		return []sdk.ResourceContents{{URI: uri, MIMEType: markdownType, Text: text}}, nil
	}
	_, text, err := encode(content)
	if err != nil {
		return nil, err
	}
	return []sdk.ResourceContents{{URI: uri, MIMEType: jsonType, Text: text}}, nil
}

// notFound returns the error for a valid URI at which no resource exists. The data of the error contains the unchanged
// URI.
func notFound(at address.Address, uri string) error {
	data, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil {
		return err
	}
	return &sdk.Error{Code: abi.CodeResourceNotFound, Message: "Resource not found: " + at.String(), Data: data}
}
