package validation

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/delta"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/merge"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
)

const (
	rootSpec   = "Delta spec found at specs/spec.md. Delta specs must live under a capability path (e.g. specs/<capability-path>/spec.md) — a file at the specs/ root is ignored when the change is applied or archived."
	misplaced  = "Delta spec found at specs/%s. Delta specs must be a spec.md inside a capability folder — this file is ignored when the change is applied or archived. Move its requirements into specs/%s."
	noDelta    = `Change must have at least one delta. No deltas found. Ensure your change has a specs/ directory with capability folders (e.g. specs/http-server/spec.md) containing .md files that use delta headers (## ADDED/MODIFIED/REMOVED/RENAMED Requirements) and that each requirement includes at least one "#### Scenario:" block. If this change intentionally modifies no specs (pure refactor, tooling, docs), set "skip_specs: true" in the change's .openspec.yaml instead. Tip: run "openspec change show <change-id> --json --deltas-only" to inspect parsed deltas.`
	noSections = `No delta sections found. Add headers such as "## ADDED Requirements" or move non-delta notes outside specs/.`
	badMarker  = "skip_specs is set but .openspec.yaml is not valid change metadata, so the marker is not honored. Fix the metadata (%s)"
	bothWays   = "skip_specs is set in .openspec.yaml but spec files exist under specs/. Remove skip_specs or delete the delta spec files"
	skipped    = "skip_specs is set in .openspec.yaml: change declares no spec-level behavior changes, zero deltas accepted"
)

// MetadataFile is the name of the metadata file of a change.
const MetadataFile = ".openspec.yaml"

// Input holds the parsed files of a change.
type Input struct {
	ID     string
	Deltas []File // sorted by the id of the capability
	// RootSpec reports whether the change has a file specs/spec.md, which has no effect at that path.
	RootSpec bool
	// Misplaced holds the other Markdown files below specs/ that have delta sections, sorted by their path relative to
	// specs/.
	Misplaced []Misplaced
	// HasFiles reports whether specs/ contains a file that is not hidden.
	HasFiles bool
	Metadata change.Metadata
	// Invalid is the reason why the metadata is ignored; nil if the metadata is valid.
	Invalid *change.Invalid
	Tasks   Tasks
}

// Tasks holds the task files of a change, sorted by path.
type Tasks struct {
	Files []change.TaskFile
	// Tracked reports whether the workflow schema names the task files, and all of them were read.
	Tracked bool
	// Numbered reports whether the schema is the built-in schema, whose tasks have numbers.
	Numbered bool
}

// File is one delta file of a change.
type File struct {
	ID     string // the id of the capability
	Facts  *DeltaFacts
	Delta  *delta.Delta // the parsed delta; nil if the facts fit the main spec, or if the caller calls only BeforeArchive
	Target *spec.Main   // the main spec to which the delta applies; nil if the spec does not exist
	Path   string       // the path of the main spec, for messages
}

// Misplaced is a delta file at a path where it has no effect, together with its correct path.
type Misplaced struct{ Path, Expected string }

// Change returns the issues of a change.
func Change(in Input) []Issue {
	issues, failed := deltas(in, true)
	for _, file := range in.Deltas {
		if failed[file.ID] || file.Delta == nil {
			continue
		}
		_, err := merge.Apply(merge.Input{ID: file.ID, Change: in.ID, Delta: file.Delta, Target: file.Target, Path: file.Path})
		if err != nil {
			issues = append(issues, Issue{Level: Info, Path: deltaPath(file.ID), Message: "Archive would refuse this delta: " + err.Error()})
		}
	}
	issues = append(issues, whole(in)...)
	return append(issues, in.Tasks.issues()...)
}

func (t Tasks) issues() []Issue {
	var findings []change.Finding
	if t.Tracked {
		findings = change.LintLists(t.Files)
	}
	if t.Numbered {
		findings = append(findings, change.LintNumbers(t.Files)...)
	}
	var issues []Issue
	for _, finding := range findings {
		issues = append(issues, Issue{Level: Warning, Path: finding.Path, Line: finding.Line, Message: finding.Message})
	}
	return issues
}

// BeforeArchive returns those issues of a change that an archive checks before it merges the change.
func BeforeArchive(in Input) []Issue {
	issues, _ := deltas(in, false)
	return append(issues, whole(in)...)
}

func deltaPath(id string) string { return id + "/spec.md" }

// deltas checks each delta file. The result failed contains the ids of the capabilities whose delta has an error.
func deltas(in Input, heedLoss bool) (issues []Issue, failed map[string]bool) {
	failed = map[string]bool{}
	if in.RootSpec {
		issues = append(issues, Issue{Level: Error, Path: "spec.md", Message: rootSpec})
	}
	for _, file := range in.Deltas {
		found := file.Facts.issuesAt(deltaPath(file.ID))
		if heedLoss && file.Delta != nil && len(file.Delta.Modified) > 0 {
			found = deltaIssues(deltaPath(file.ID), file.Delta, newCurrentBlocks(file))
		}
		failed[file.ID] = file.Facts.Entries == 0 || !Valid(found, false)
		issues = append(issues, found...)
	}
	return issues, failed
}

// currentBlocks holds the requirements of a main spec, which find returns by the names that they have after the renames
// of a delta.
type currentBlocks struct {
	blocks  map[string]*requirement.Block // the key is the requirement.Key in the main spec; nil for a requirement that is known to be missing
	from    map[string]string             // the old name of each renamed requirement; the key is the new name
	renamed map[string]bool               // the old names of all renamed requirements
}

func newCurrentBlocks(file File) *currentBlocks {
	c := &currentBlocks{blocks: map[string]*requirement.Block{}, from: map[string]string{}, renamed: map[string]bool{}}
	if file.Target == nil {
		return c
	}
	blocks := file.Target.Parts().Blocks
	for i, block := range blocks {
		c.blocks[requirement.Key(block.Name)] = &blocks[i]
	}
	for _, pair := range file.Delta.Renamed {
		from := requirement.Key(pair.From)
		c.from[requirement.Key(pair.To)] = from
		c.renamed[from] = true
	}
	return c
}

// find returns the requirement that has the given requirement.Key after the renames of the delta; nil if there is none. Renames
// may form chains and, in an invalid delta, cycles.
func (c *currentBlocks) find(name string) *requirement.Block {
	if c == nil || c.renamed[name] {
		return nil
	}
	var chain []string
	block, known := c.blocks[name]
	for !known {
		c.blocks[name] = nil
		chain = append(chain, name)
		old, renamed := c.from[name]
		if !renamed {
			break
		}
		name = old
		block, known = c.blocks[name]
	}
	for _, name := range chain {
		c.blocks[name] = block
	}
	return block
}

// whole returns the issues that concern the change as a whole.
func whole(in Input) []Issue {
	var issues []Issue
	for _, file := range in.Misplaced {
		issues = append(issues, Issue{Level: Error, Path: file.Path, Message: fmt.Sprintf(misplaced, file.Path, file.Expected)})
	}
	entries := 0
	var headless []Issue
	for _, file := range in.Deltas {
		entries += file.Facts.Entries
		switch {
		case file.Facts.Entries > 0:
		case len(file.Facts.Sections) > 0:
			issues = append(issues, emptySections(deltaPath(file.ID), file.Facts.Sections))
		default:
			headless = append(headless, Issue{Level: Error, Path: deltaPath(file.ID), Message: noSections})
		}
	}
	issues = append(issues, headless...)
	if in.Invalid != nil && in.Invalid.SkipSpecs {
		issues = append(issues, Issue{Level: Error, Path: MetadataFile, Message: fmt.Sprintf(badMarker, in.Invalid.Reason)})
	}
	switch {
	case in.Metadata.SkipSpecs && in.HasFiles:
		issues = append(issues, Issue{Level: Error, Path: "file", Message: bothWays})
	case in.Metadata.SkipSpecs:
		issues = append(issues, Issue{Level: Info, Path: "file", Message: skipped})
	case entries == 0 && !in.RootSpec && len(in.Misplaced) == 0:
		issues = append(issues, Issue{Level: Error, Path: "file", Message: noDelta})
	}
	return issues
}
