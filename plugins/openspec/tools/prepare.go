package tools

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/check"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/steps"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/view"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// init prepares the encoding of the result types of calls that only read (see rawjson.Prepare).
func init() {
	rawjson.Prepare(
		view.ChangeList{}, view.SpecList{}, view.ArchivedList{}, view.ChangeView{}, view.SpecView{}, check.Report{},
		steps.Status{}, steps.StatusList{}, steps.Instructions{}, steps.ApplyInstructions{}, steps.ArchiveInstructions{},
		project.FailureStatus{},
	)
}
