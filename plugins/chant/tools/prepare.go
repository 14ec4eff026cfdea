package tools

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/workflow"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// init prepares the encoding of the result types of read-only tools (see rawjson.Prepare).
func init() {
	rawjson.Prepare(workflow.Page{}, workflow.Hit{}, workflow.Details{}, workflow.Summary{}, workflow.Diagnosis{}, workflow.Verification{})
}
