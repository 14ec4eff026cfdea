package plan

import (
	"fmt"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/diff"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// unknownRoot is the value of FileDiff.Root for a file outside all roots.
const unknownRoot = "<unknown>"

// maxDiffs is the maximum size in bytes of all diffs of a preview. The memory of a call holds the diffs several times, as
// text, as JSON, and as JSON in a string.
const maxDiffs = 4 << 20

// Preview is a plan together with the diffs of the changed files.
type Preview struct {
	Plan
	Files []FileDiff `json:"files"`
}

// FileDiff is the diff of one file. Path is relative to Root, or absolute if Root is unknownRoot.
type FileDiff struct {
	Target     string  `json:"target"`
	Root       string  `json:"root"`
	RootPosix  string  `json:"root_posix"`
	Path       string  `json:"path"`
	PathPosix  string  `json:"path_posix"`
	Op         Op      `json:"op"`
	BeforeHash *string `json:"before_hash"`
	AfterHash  *string `json:"after_hash"`
	Unified    *string `json:"unified,omitempty"` // nil for a removal, or if a warning says why there is no diff; "" for a new, empty file
}

// NewPreview computes the diffs of the files that a plan changes, in the order of the plan. If a diff would exceed
// maxDiffs, NewPreview omits it and all later ones, and a warning says so.
func NewPreview(state *output.State, changes Plan) (Preview, []string, error) {
	diff := Preview{Plan: changes, Files: []FileDiff{}}
	var warnings []string
	size, omitted := 0, 0
	for _, change := range changes.Changes {
		file := describe(state, change)
		switch {
		case change.Op == Delete:
		case omitted > 0:
			omitted++
		default:
			text, warning, err := diffFile(state, change, file.PathPosix)
			if err != nil {
				return Preview{}, nil, err
			}
			switch {
			case warning != "":
				warnings = append(warnings, warning)
			case size+len(text) > maxDiffs:
				omitted++
			default:
				size += len(text)
				file.Unified = &text
			}
		}
		diff.Files = append(diff.Files, file)
	}
	if omitted > 0 {
		warnings = append(warnings, fmt.Sprintf("preview: no diff of the last %d files: the diffs of one preview have at most %d MiB; choose one target, or deploy fewer modules at once", omitted, maxDiffs>>20))
	}
	return diff, warnings, nil
}

func describe(state *output.State, change Change) FileDiff {
	root, path := unknownRoot, change.Path
	if owner, ok := state.Owner(change.Key()); ok {
		if relative, err := filepath.Rel(owner.Path, change.Path); err == nil {
			root, path = owner.Path, relative
		}
	}
	return FileDiff{
		Target: change.Target, Op: change.Op,
		Root: root, RootPosix: filepath.ToSlash(root), Path: path, PathPosix: filepath.ToSlash(path),
		BeforeHash: output.PrefixedSum(change.Before), AfterHash: output.PrefixedSum(change.After),
	}
}

// diffFile returns the diff of a file that the plan writes, or a warning that says why there is no diff.
func diffFile(state *output.State, change Change, name string) (text, warning string, err error) {
	file, ok := state.File(change.Key())
	if !ok {
		return "", "", fmt.Errorf("the plan writes %s, but the desired state has no content for it", change.Path)
	}
	var before []byte
	if change.Op == Update {
		before, err = disk.Read(change.Path, disk.MaxFile)
		if err != nil {
			return "", fmt.Sprintf("preview: no diff of %s: %s", change.Path, fault.IO(change.Path, err)), nil
		}
		if change.Before == nil || digest.Hex(before) != *change.Before {
			return "", fmt.Sprintf("preview: no diff of %s: the file was changed after the plan was computed", change.Path), nil
		}
	}
	text, err = diff.Unified(name, before, file.Content)
	if err != nil {
		return "", fmt.Sprintf("preview: no diff of %s: %s", change.Path, err), nil
	}
	return text, "", nil
}
