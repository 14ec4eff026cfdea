package tools

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/report"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// init prepares the types of the results of calls that read.
func init() {
	rawjson.Prepare(
		envelope{}, planned{}, previewed{}, deployed{}, report.StatusReport{}, report.DoctorReport{}, report.PlanExplanation{},
		report.StatusExplanation{},
	)
}
