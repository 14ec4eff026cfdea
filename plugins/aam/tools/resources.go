package tools

import (
	"context"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manager"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/redact"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const (
	jsonType      = "application/json"
	packagePrefix = "aam://packages/"
)

// resource is an MCP resource together with the function that reads it.
type resource struct {
	sdk.Resource
	read func(m *manager.Manager) (any, error)
}

func resources() []resource {
	return []resource{
		{sdk.Resource{URI: "aam://config", Name: "config", Description: "The effective configuration, merged from project and user", MIMEType: jsonType},
			func(m *manager.Manager) (any, error) {
				all, err := m.ConfigGet(nil)
				if err != nil {
					return nil, err
				}
				return all.Value, nil
			}},
		{sdk.Resource{URI: packagePrefix + "installed", Name: "installed packages", Description: "The packages that are installed in the project", MIMEType: jsonType},
			func(m *manager.Manager) (any, error) { return m.List() }},
		{sdk.Resource{URI: "aam://registries", Name: "registries", Description: "The configured registries", MIMEType: jsonType},
			func(m *manager.Manager) (any, error) { return m.RegistryList() }},
		{sdk.Resource{URI: "aam://manifest", Name: "manifest", Description: "The project's aam.yaml; null if there is none", MIMEType: jsonType},
			func(m *manager.Manager) (any, error) { return m.Manifest() }},
	}
}

func listResources(context.Context) ([]sdk.Resource, error) {
	var listed []sdk.Resource
	for _, r := range resources() {
		listed = append(listed, r.Resource)
	}
	return listed, nil
}

func listTemplates(context.Context) ([]sdk.ResourceTemplate, error) {
	return []sdk.ResourceTemplate{{
		URITemplate: packagePrefix + "{name}", Name: "package", MIMEType: jsonType,
		Description: "A package by its name, with scope--name for @scope/name; null if it is not found",
	}}, nil
}

func readResource(ctx context.Context, uri string) ([]sdk.ResourceContents, error) {
	read := find(uri)
	if read == nil {
		return nil, &sdk.Error{Code: abi.CodeResourceNotFound, Message: "no such resource: " + redact.Text(uri)}
	}
	m, err := open(ctx)
	if err != nil {
		return nil, err
	}
	value, err := read(m)
	if err == nil {
		var text []byte
		if text, err = encode(value); err == nil {
			return []sdk.ResourceContents{{URI: redact.Text(uri), MIMEType: jsonType, Text: string(text)}}, nil
		}
	}
	return nil, &sdk.Error{Code: abi.CodeInternal, Message: redact.Text(fault.From(err).Text())}
}

// find returns the function that reads the resource at uri; nil if there is no such resource.
func find(uri string) func(m *manager.Manager) (any, error) {
	for _, r := range resources() {
		if r.URI == uri {
			return r.read
		}
	}
	folder, ok := strings.CutPrefix(uri, packagePrefix)
	if !ok || folder == "" || strings.Contains(folder, "/") {
		return nil
	}
	name := folder
	if scope, rest, scoped := strings.Cut(folder, "--"); scoped {
		name = "@" + scope + "/" + rest
	}
	return func(m *manager.Manager) (any, error) {
		detail, err := m.Info(name, "")
		if failure := fault.From(err); failure != nil && (failure.Code == fault.PackageNotFound || failure.Code == fault.InvalidArgument) {
			return nil, nil
		}
		return detail, err
	}
}
