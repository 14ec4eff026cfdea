package tools

import (
	"context"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// resource is the URI of the whole graph.
const resource = "memory://knowledge-graph"

func listResources(context.Context) ([]sdk.Resource, error) {
	return []sdk.Resource{{
		URI: resource, Name: "knowledge-graph", Title: "Knowledge Graph", Description: "All entities and relations of the graph, as JSON", MIMEType: "application/json",
	}}, nil
}

func readResource(_ context.Context, uri string) ([]sdk.ResourceContents, error) {
	if uri != resource {
		return nil, &sdk.Error{Code: abi.CodeInvalidParams, Message: "MCP error -32602: Resource " + uri + " not found"}
	}
	s, err := open()
	if err != nil {
		return nil, err
	}
	g, err := s.Load()
	if err != nil {
		return nil, err
	}
	return []sdk.ResourceContents{{URI: resource, MIMEType: "application/json", Text: indented(g.JSON())}}, nil
}
