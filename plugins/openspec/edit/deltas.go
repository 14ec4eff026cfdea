package edit

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/merge"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/validation"
)

// rebuilt is a main spec to which its delta has been applied.
type rebuilt struct {
	id     string
	target *spec.Main // the main spec as it was read; nil if it does not exist
	*merge.Result
}

// merge computes the new content of all specs that the change affects, and adds the contents to the plan. As the
// openspec CLI does, merge computes all contents before it validates the first one.
func (a *archiver) merge(plan *store.Plan) error {
	var all []rebuilt
	for _, file := range a.files {
		target, err := a.validator.Main(file.ID)
		if err != nil {
			return err
		}
		if err := onlyText(file, target); err != nil {
			return err
		}
		result, err := merge.Apply(merge.Input{
			ID: file.ID, Change: a.change.Name, Delta: file.Parsed, Target: target, Path: a.root.SpecPath(file.ID)})
		if err != nil {
			return &project.Failure{Code: codeSpecUpdate, Message: err.Error(), Fix: "Fix the change delta specs and rerun. No files were changed."}
		}
		a.warnings = append(a.warnings, result.Warnings...)
		plan.Seen = append(plan.Seen, store.Seen{ID: file.ID, Content: file.Source})
		all = append(all, rebuilt{file.ID, target, result})
	}
	for _, one := range all {
		after, err := a.accept(one)
		if err != nil {
			return err
		}
		if one.Counts.Total() == 0 || after == nil && one.target == nil {
			continue
		}
		a.totals = a.totals.Plus(one.Counts)
		planned := store.SpecWrite{ID: one.id, After: after}
		if one.target != nil {
			planned.Before = &one.target.Source
		}
		plan.Specs = append(plan.Specs, planned)
		a.specs = append(a.specs, one.id)
	}
	return nil
}

// onlyText returns an error if a file is not valid UTF-8, because rewriting such a file would damage it.
func onlyText(file project.DeltaFile, target *spec.Main) error {
	what := "delta"
	if utf8.ValidString(file.Source) {
		if target == nil || utf8.ValidString(target.Source) {
			return nil
		}
		what = "main spec"
	}
	return &project.Failure{
		Code:    codeSpecUpdate,
		Message: fmt.Sprintf("%s: the %s is not valid UTF-8, and rewriting the file would damage it", file.ID, what),
		Fix:     "Save the file as UTF-8 and rerun. No files were changed.",
	}
}

// accept validates a rebuilt spec and returns the new content of the spec. It returns nil if the capability has no
// requirement left and is retired.
func (a *archiver) accept(one rebuilt) (*string, error) {
	if a.request.NoValidate && (one.Left > 0 || one.Counts.Removed == 0) {
		return &one.Text, nil
	}
	issues := validation.Spec(spec.NewMain(one.Text))
	if validation.Valid(issues, false) {
		return &one.Text, nil
	}
	fix := fmt.Sprintf(`Fix the change deltas, then call openspec_validate(name: "%[1]s", type: "spec") (openspec validate %[1]s).`, one.id)
	if one.Left == 0 && onlyEmpty(issues) {
		retired, reason := a.retire(one)
		if retired {
			return nil, nil
		}
		fix = cmp.Or(reason, fix)
	}
	return nil, &project.Failure{
		Code:    codeSpecInvalid,
		Message: fmt.Sprintf("Rebuilt spec for '%s' failed validation. No files were changed.", one.id),
		Fix:     fix,
	}
}
