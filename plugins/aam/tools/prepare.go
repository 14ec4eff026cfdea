package tools

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/doctor"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manager"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/validate"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// init prepares the encoding of the result types of read-only tools (see rawjson.Prepare).
func init() {
	rawjson.Prepare(
		manager.Found{}, manager.Listed{}, manager.Detail{}, manager.Setting{}, manager.Registry{}, validate.Report{}, doctor.Report{},
	)
}
