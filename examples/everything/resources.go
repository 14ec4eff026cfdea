package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// template is the URI template of a resource for each id.
const template = "test://template/{id}/data"

func listResources(context.Context) ([]sdk.Resource, error) {
	return []sdk.Resource{
		{URI: "test://static-text", Name: "static-text", Title: "Text", Description: "A text that never changes", MIMEType: "text/plain"},
		{URI: "test://static-binary", Name: "static-binary", Title: "Image", Description: "An image that never changes", MIMEType: "image/png", Size: int64(len(image))},
		{URI: watched, Name: "watched-resource", Title: "Watched", Description: "A text whose subscribers test_trigger_resource_update notifies", MIMEType: "text/plain"},
	}, nil
}

func listTemplates(context.Context) ([]sdk.ResourceTemplate, error) {
	return []sdk.ResourceTemplate{
		{URITemplate: template, Name: "template", Title: "Data of an id", Description: "A JSON document for each id", MIMEType: "application/json"},
	}, nil
}

func readResource(_ context.Context, uri string) ([]sdk.ResourceContents, error) {
	contents := sdk.ResourceContents{URI: uri, MIMEType: "text/plain"}
	switch uri {
	case "test://static-text":
		contents.Text = "This is the content of the static text resource."
	case "test://static-binary":
		contents.MIMEType, contents.Blob = "image/png", image
	case watched:
		contents.Text = "This is the content of the watched resource."
	default:
		id, ok := templateID(uri)
		if !ok {
			return nil, notFound(uri)
		}
		text, err := json.Marshal(document{ID: id, TemplateTest: true, Data: "Data for ID: " + id})
		if err != nil {
			return nil, err
		}
		contents.MIMEType, contents.Text = "application/json", string(text)
	}
	return []sdk.ResourceContents{contents}, nil
}

// document is the content of a resource of the template.
type document struct {
	ID           string `json:"id"`
	TemplateTest bool   `json:"templateTest"`
	Data         string `json:"data"`
}

// templateID returns the id in a URI of the template.
func templateID(uri string) (id string, ok bool) {
	before, after, _ := strings.Cut(template, "{id}")
	id, ok = strings.CutPrefix(uri, before)
	if !ok {
		return "", false
	}
	id, ok = strings.CutSuffix(id, after)
	return id, ok && id != "" && !strings.Contains(id, "/")
}

func notFound(uri string) error {
	data, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil {
		return err
	}
	return &sdk.Error{Code: abi.CodeResourceNotFound, Message: "Resource not found", Data: data}
}
