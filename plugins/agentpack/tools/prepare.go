package tools

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/report"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// init prepares the encoding of the result types of calls that only read (see rawjson.Prepare).
func init() {
	rawjson.Prepare(
		envelope{}, planned{}, previewed{}, deployed{}, report.StatusReport{}, report.DoctorReport{}, report.PlanExplanation{},
		report.StatusExplanation{},
	)
}
