// Typed is a plugin whose schemas agree with the types of its handlers.
package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk"
)

func init() {
	p := sdk.New()
	sdk.HandleStructuredTool(p, "find", func(context.Context, search) (found, error) { return found{}, nil })
	sdk.HandleTool(p, "raw", func(context.Context, json.RawMessage) (*sdk.ToolResult, error) { return sdk.Text(""), nil })
	sdk.Serve(p)
}

func main() {}

type search struct {
	Text  string    `json:"text" jsonschema:"What to look for" schema:"minLength=1"`
	Limit int       `json:"limit" jsonschema:"Most results" schema:"minimum=1,default=20"`
	Since time.Time `json:"since,omitzero"`
	Where *place    `json:"where,omitempty"`
}

type place struct {
	Names []string `json:"names"`
}

type found struct {
	IDs  []int  `json:"ids"`
	Next string `json:"next,omitempty"`
}
