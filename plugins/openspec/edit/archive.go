// Package edit changes the files of a project: Init and CreateChange create directories and files, and Archive merges a
// change into the main specs. Each call has its whole effect or none.
package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/check"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/merge"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/validation"
)

// The codes of failures of Archive.
const (
	codeArchive     = "archive_error"
	codeOutside     = "archive_path_outside_root"
	codeNameInvalid = "archive_change_name_invalid"
	codeNameMissing = "archive_change_name_required"
	codeNotFound    = "archive_change_not_found"
	codeSymlink     = "archive_change_symlink"
	codeNamespace   = "archive_change_is_namespace_folder"
	codeConfirm     = "archive_confirmation_required"
	codeTasks       = "archive_tasks_incomplete"
	codeExists      = "archive_target_exists"
	codeSpecUpdate  = "archive_spec_update_failed"
	codeSpecInvalid = "archive_spec_validation_failed"
	codeValidation  = "archive_validation_failed"
)

// ArchiveRequest selects the change to archive, and holds the options of the archive.
type ArchiveRequest struct {
	Name string `json:"name"`
	// Ask makes Archive refuse the change in each case in which the openspec CLI would ask the user to confirm.
	Ask        bool `json:"-"`
	SkipSpecs  bool `json:"skipSpecs"` // move the change to the archive without merging its deltas
	NoValidate bool `json:"noValidate"`
}

// ArchiveResult is the result of archiving a change.
type ArchiveResult struct {
	Archive ArchivedChange   `json:"archive"`
	Root    project.RootInfo `json:"root"`
	// Specs contains the ids of the main specs that were written or deleted.
	Specs []string `json:"-"`
}

// ArchivedChange describes the archived change.
type ArchivedChange struct {
	Change       string        `json:"change"`
	ArchivedAs   string        `json:"archivedAs"`
	Path         string        `json:"path"`
	SpecsUpdated bool          `json:"specsUpdated"`
	Totals       *merge.Counts `json:"totals,omitempty"` // nil if no delta was read
	Warnings     []string      `json:"warnings,omitempty"`
}

// Archive merges the deltas of a change into the main specs, and moves the directory of the change to the archive. Both
// happen atomically.
func Archive(p *project.Project, request ArchiveRequest) (*ArchiveResult, error) {
	root, info := p.FindOrHere()
	result, err := archive(p, root, info, request)
	if err != nil {
		failure := project.AsFailure(archiveError(root, err), codeArchive, "archive", false)
		if failure.Code == project.CodeInvalid {
			failure.Code = codeNameInvalid
		}
		failure.Root = &info
		return nil, failure
	}
	return result, nil
}

// archiveError converts an error of package store to a failure with a remedy. The errors of the sandbox already name
// the denied path.
func archiveError(root *store.Root, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, store.ErrLink):
		return &project.Failure{Code: codeOutside, Message: err.Error(), Fix: "Grant write access to the openspec directory, or replace the symbolic link by a directory."}
	case errors.Is(err, store.ErrChanged):
		return &project.Failure{Code: codeArchive, Message: err.Error(), Fix: "Call openspec_archive again."}
	}
	return err
}

func archive(p *project.Project, root *store.Root, info project.RootInfo, request ArchiveRequest) (*ArchiveResult, error) {
	c, err := toArchive(p, root, request.Name)
	if err != nil {
		return nil, err
	}
	a := &archiver{
		root: root, change: c, request: request,
		validator: check.New(root, false),
		name:      archiveName(c.Name, p.Now),
	}
	if err := a.check(); err != nil {
		return nil, a.unlessChanged(err)
	}
	plan := store.Plan{Owner: p.Owner, Change: c.Name, Archived: a.name}
	if !request.SkipSpecs {
		if err := a.merge(&plan); err != nil {
			return nil, a.unlessChanged(err)
		}
	}
	leftover, err := root.Archive(plan)
	switch {
	case errors.Is(err, store.ErrTargetExists):
		return nil, a.exists()
	case errors.Is(err, store.ErrClaimed):
		return nil, a.claimed()
	case err != nil:
		return nil, err
	}
	if leftover != nil && p.Warn != nil {
		p.Warn("openspec: the change is archived, but its claim file could not be removed; the next call removes it: " + leftover.Error())
	}
	return a.result(info, plan), nil
}

// unlessChanged returns err, the reason why the change cannot be archived, unless another program has changed one of the files that led
// to it: the files were then read at different moments, and their contents do not belong together.
func (a *archiver) unlessChanged(err error) error {
	seen := store.Plan{Change: a.change.Name, Archived: a.name}
	for _, file := range a.files {
		target, unread := a.validator.Main(file.ID)
		if unread != nil {
			continue
		}
		was := store.SpecWrite{ID: file.ID}
		if target != nil {
			was.Before = &target.Source
		}
		seen.Seen = append(seen.Seen, store.Seen{ID: file.ID, Content: file.Source})
		seen.Specs = append(seen.Specs, was)
	}
	if changed := a.root.Unchanged(seen); errors.Is(changed, store.ErrChanged) {
		return changed
	}
	return err
}

// toArchive recovers an interrupted call, and then returns the change to archive.
func toArchive(p *project.Project, root *store.Root, name string) (store.Change, error) {
	if name == "" {
		return store.Change{}, &project.Failure{
			Code:    codeNameMissing,
			Message: "A change name is required: archive --json is non-interactive.",
			Fix:     `Call openspec_archive(name: "<id>") (openspec archive <change-name> --json).`,
		}
	}
	if err := store.CheckChange(name); err != nil {
		return store.Change{}, err
	}
	if err := p.RecoverRoot(root); err != nil {
		return store.Change{}, err
	}
	c, exists, linked := root.Change(name)
	if linked {
		return c, &project.Failure{Code: codeSymlink, Message: fmt.Sprintf("Change '%s' is a symbolic link. Replace it with a real directory before archiving.", name)}
	}
	if !exists {
		return c, notFound(root, name)
	}
	nested, err := project.NewWorkflows(root).Nested(c)
	if err != nil || nested == nil {
		return c, err
	}
	return c, &project.Failure{
		Code:    codeNamespace,
		Message: fmt.Sprintf("Cannot archive '%s': %s", name, project.NestedText(name, nested)),
		Fix:     fmt.Sprintf("Rename openspec/changes/%s/ to a flat change directory, then archive it.", nested[0]),
	}
}

func notFound(root *store.Root, name string) error {
	all, err := root.Changes()
	if err != nil {
		return err
	}
	message := fmt.Sprintf("Change '%s' not found. No active changes exist in this root.", name)
	if len(all) > 0 {
		message = fmt.Sprintf("Change '%s' not found. Available changes: %s", name, strings.Join(store.Names(all), ", "))
	}
	return &project.Failure{Code: codeNotFound, Message: message}
}

// archiveName returns the name of the directory that a change gets in the archive. If the name of the change has no
// date, today's date precedes the name.
func archiveName(name string, now time.Time) string {
	if store.HasDate(name) {
		return name
	}
	return now.Format(time.DateOnly) + "-" + name
}

// archiver is the state of one call of Archive.
type archiver struct {
	root      *store.Root
	change    store.Change
	request   ArchiveRequest
	validator *check.Validator
	name      string // the name of the change's directory in the archive
	input     validation.Input
	files     []project.DeltaFile
	totals    merge.Counts
	warnings  []string
	specs     []string
}

// check returns an error if the change must not be archived. The checks have the same order as in the openspec CLI.
func (a *archiver) check() error {
	if err := a.read(); err != nil {
		return err
	}
	if err := a.checkDeltas(); err != nil {
		return err
	}
	done, total, unread, err := a.validator.Workflows.CountTasks(a.change)
	if err != nil {
		return err
	}
	if len(unread) > 0 {
		return &project.Failure{
			Code:    codeTasks,
			Message: fmt.Sprintf("The tasks in %s of change '%s' cannot be read.", strings.Join(unread, ", "), a.change.Name),
			Fix:     "Make the file readable, and smaller than 4 MiB.",
		}
	}
	if open := total - done; open > 0 {
		if a.request.Ask {
			return &project.Failure{
				Code:    codeTasks,
				Message: fmt.Sprintf("%d incomplete task(s) found for change '%s'.", open, a.change.Name),
				Fix:     fmt.Sprintf(`Complete the tasks, or call openspec_archive(name: "%s", yes: true) (--yes).`, a.change.Name),
			}
		}
		a.warnings = append(a.warnings, fmt.Sprintf("%d incomplete task(s) found", open))
	}
	if _, exists := a.root.ArchivedChange(a.name); exists {
		return a.exists()
	}
	if a.request.Ask && !a.request.SkipSpecs && len(a.files) > 0 {
		return a.confirm(fmt.Sprintf("Updating %d spec(s) requires confirmation: rerun with --yes.", len(a.files)))
	}
	return nil
}

// read reads the files of the change. It also reads and caches the main specs for which the change has deltas, so that
// check reports a main spec that cannot be read.
func (a *archiver) read() error {
	files, loose, err := project.ReadDeltas(a.change)
	if err != nil {
		return err
	}
	a.files, a.input = files, validation.Input{ID: a.change.Name}
	for _, file := range files {
		if _, err := a.validator.Main(file.ID); err != nil {
			return err
		}
		a.input.Deltas = append(a.input.Deltas, validation.File{ID: file.ID, Facts: file.Facts()})
	}
	return a.validator.Input(a.change, &a.input, loose)
}

// checkDeltas validates the change if one of its files says that the change affects specs. It does nothing if the
// request skips validation.
func (a *archiver) checkDeltas() error {
	if a.request.NoValidate {
		if a.request.Ask {
			return a.confirm("Skipping validation requires confirmation: rerun with --yes.")
		}
		return nil
	}
	says := a.input.RootSpec || len(a.input.Misplaced) > 0 ||
		a.input.Metadata.SkipSpecs && a.input.HasFiles || a.input.Invalid != nil && a.input.Invalid.SkipSpecs
	for _, file := range a.files {
		says = says || file.Parsed.Meant
	}
	if !says || validation.Valid(validation.BeforeArchive(a.input), false) {
		return nil
	}
	return &project.Failure{
		Code:    codeValidation,
		Message: fmt.Sprintf("Validation failed for change '%s'.", a.change.Name),
		Fix: fmt.Sprintf(`Call openspec_validate(name: "%[1]s") for details (openspec validate %[1]s), fix the errors, or archive with noValidate: true (--no-validate).`,
			a.change.Name),
	}
}

func (a *archiver) confirm(message string) error {
	return &project.Failure{
		Code:    codeConfirm,
		Message: message,
		Fix:     fmt.Sprintf(`Call openspec_archive(name: "%s", yes: true) (--yes).`, a.change.Name),
	}
}

func (a *archiver) exists() error {
	return &project.Failure{Code: codeExists, Message: fmt.Sprintf("Archive '%s' already exists.", a.name)}
}

func (a *archiver) claimed() error {
	return &project.Failure{Code: codeExists, Message: fmt.Sprintf(
		"Archive '%s' is already being created. If no archive process is running, remove the stale claim at %s and rerun.", a.name, a.root.ClaimPath())}
}

// result returns the result that describes the archived change.
func (a *archiver) result(info project.RootInfo, plan store.Plan) *ArchiveResult {
	result := &ArchiveResult{Root: info, Specs: a.specs, Archive: ArchivedChange{
		Change:       a.change.Name,
		ArchivedAs:   a.name,
		Path:         filepath.Join(a.root.ArchiveDir(), a.name),
		SpecsUpdated: len(plan.Specs) > 0,
		Warnings:     a.warnings,
	}}
	if !a.request.SkipSpecs && len(a.files) > 0 {
		result.Archive.Totals = &a.totals
	}
	return result
}
