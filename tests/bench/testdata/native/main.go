// Command native is an MCP server on mcp-go, the baseline of the benchmarks. `native N` has the tools of N sample
// plugins; without N it has the tool echo. `native http ADDRESS` has the tool echo, too, and serves HTTP.
package main

import (
	"context"
	"log"
	"os"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/bulkhead-mcp/bulkhead/tests/bench/sample"
)

func main() {
	s := server.NewMCPServer("native", "1.0.0", server.WithToolCapabilities(false))
	overHTTP := len(os.Args) == 3
	if len(os.Args) == 1 || overHTTP {
		s.AddTool(mcp.NewTool("echo", mcp.WithDescription("Answer with the text"), mcp.WithString("text", mcp.Required())), echo)
	} else {
		plugins, err := strconv.Atoi(os.Args[1])
		if err != nil {
			log.Fatal(err)
		}
		for p := range plugins {
			for t := range sample.Tools {
				s.AddTool(mcp.NewToolWithRawSchema(sample.Name(p, t), sample.Description, []byte(sample.Schema)), echo)
			}
		}
	}
	if overHTTP {
		log.Fatal(server.NewStreamableHTTPServer(s).Start(os.Args[2]))
	}
	if err := server.ServeStdio(s); err != nil {
		log.Fatal(err)
	}
}

func echo(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	text, err := r.RequireString("text")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText(text), nil
}
