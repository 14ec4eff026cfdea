package gateway

import (
	"context"
	"fmt"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// TestErrorCode compares the codes with those that clients of both eras get.
func TestErrorCode(t *testing.T) {
	failure := &Failure{Code: "timeout"}
	missing := &Failure{Code: "ask", Missing: interaction.Client{Roots: true}}
	notFound := &abi.Error{Code: abi.CodeResourceNotFound}
	const legacy = "2025-11-25"
	for name, c := range map[string]struct {
		method  mcp.MCPMethod
		version string
		err     error
		want    int
	}{
		"success":                          {mcp.MethodToolsCall, legacy, nil, 0},
		"failure of a tool":                {mcp.MethodToolsCall, legacy, failure, 0},
		"failure of a prompt":              {mcp.MethodPromptsGet, legacy, fmt.Errorf("wrapped: %w", failure), abi.CodeInternal},
		"feature that the client lacks":    {mcp.MethodToolsCall, ModernVersion, missing, codeMissingCapability},
		"the same before 2026-07-28":       {mcp.MethodToolsCall, legacy, missing, 0},
		"error of a module":                {mcp.MethodToolsCall, legacy, &abi.Error{Code: 7}, 7},
		"unknown resource":                 {mcp.MethodResourcesRead, ModernVersion, notFound, abi.CodeInvalidParams},
		"unknown resource of 2025-11-25":   {mcp.MethodResourcesRead, legacy, notFound, abi.CodeResourceNotFound},
		"cancelled, so that none gets one": {mcp.MethodPromptsGet, legacy, context.Canceled, 0},
	} {
		if got := ErrorCode(&call.Request{Method: string(c.method), Version: c.version}, c.err); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
