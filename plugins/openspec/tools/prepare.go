package tools

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// init prepares the encoding of the result types of calls that only read (see rawjson.Prepare).
func init() {
	rawjson.Prepare(
		project.ChangeList{}, project.SpecList{}, project.ArchivedList{}, project.ChangeView{}, project.SpecView{}, project.Report{},
		project.Status{}, project.StatusList{}, project.Instructions{}, project.ApplyInstructions{}, project.ArchiveInstructions{},
		project.FailureStatus{},
	)
}
