// Package merge applies a delta to a main spec.
//
//	result, err := merge.Apply(merge.Input{ID: "inventory", Change: "add-x", Delta: parsed, Target: spec.NewMain(source), Path: path})
//
// The package accesses no files. Result.Text is the new content of the main spec.
package merge

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/delta"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
)

// Input is the delta for one capability, together with the main spec to which Apply applies the delta.
type Input struct {
	ID     string // the id of the capability
	Change string // the id of the change
	Delta  *delta.Delta
	Target *spec.Main // nil if the main spec does not exist yet
	Path   string     // the path of the main spec, for messages
}

// Counts holds the number of changed requirements for each operation.
type Counts struct {
	Added    int `json:"added"`
	Modified int `json:"modified"`
	Removed  int `json:"removed"`
	Renamed  int `json:"renamed"`
}

// Total returns the sum of all counts.
func (c Counts) Total() int { return c.Added + c.Modified + c.Removed + c.Renamed }

// Plus returns the sum of two Counts, field by field.
func (c Counts) Plus(other Counts) Counts {
	return Counts{c.Added + other.Added, c.Modified + other.Modified, c.Removed + other.Removed, c.Renamed + other.Renamed}
}

// Result is the result of a merge.
type Result struct {
	Text     string
	Counts   Counts
	Warnings []string // in the order in which the merge found their causes
	Left     int      // the number of requirements in the new text
}

// Apply applies a delta to a main spec. It makes the renames first, then the removals, the modifications and the
// additions, each on the result of the steps before. If the delta must not be archived, the error says why, in the
// wording of the openspec CLI.
func Apply(in Input) (*Result, error) {
	if err := Refuse(in.ID, in.Delta); err != nil {
		return nil, err
	}
	m := &merger{in: in}
	for _, orphan := range in.Delta.Orphans {
		m.warn("requirement \"%s\" (line %d) is %s, which is not a delta section, so it was not applied. Move it under ADDED/MODIFIED/REMOVED/RENAMED Requirements.",
			orphan.Name, orphan.Line, orphan.Place())
	}
	target, err := m.target()
	if err != nil {
		return nil, err
	}
	m.parts = target.Parts()
	for _, block := range m.parts.Blocks {
		m.entries.add(block)
	}
	for _, step := range []func() error{m.rename, m.remove, m.modify, m.add} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return m.result()
}

// merger is the state of one call of Apply.
type merger struct {
	in       Input
	parts    spec.Parts
	entries  entries
	counts   Counts
	warnings []string
}

func (m *merger) warn(format string, arguments ...any) {
	m.warnings = append(m.warnings, m.in.ID+" - "+fmt.Sprintf(format, arguments...))
}

func (m *merger) fail(operation, name, reason string, arguments ...any) error {
	return fmt.Errorf(`%s %s failed for header "%s" - %s`, m.in.ID, operation, requirement.Title(name), fmt.Sprintf(reason, arguments...))
}

func (m *merger) rename() error {
	for _, pair := range m.in.Delta.Renamed {
		source, target := m.entries.find(pair.From), m.entries.find(pair.To)
		if source == nil {
			if target == nil {
				return m.fail("RENAMED", pair.From, "source not found")
			}
			if near := m.entries.like(pair.From, target); near != nil {
				return m.fail("RENAMED", pair.From, `source not found, but "%s" exists; fix the header to match it exactly`, requirement.Title(near.name))
			}
			continue // an earlier merge has already made this rename
		}
		if target != nil {
			return m.fail("RENAMED", pair.To, "target already exists")
		}
		if near := m.entries.like(pair.To, source); near != nil {
			return m.fail("RENAMED", pair.To, `"%s" already exists and differs only in case or spacing; choose a distinct name`, requirement.Title(near.name))
		}
		m.entries.rename(source, requirement.Key(pair.To))
		m.counts.Renamed++
	}
	return nil
}

func (m *merger) remove() error {
	for _, gone := range m.in.Delta.Removed {
		found := m.entries.find(gone.Name)
		if found == nil && m.in.Target == nil {
			continue // skeleton has already warned about all removals from a new spec
		}
		if found == nil {
			if near := m.entries.like(gone.Name, nil); near != nil {
				return m.fail("REMOVED", gone.Name, `not found, but "%s" exists; fix the header to match it exactly`, requirement.Title(near.name))
			}
			m.warn("REMOVED requirement \"%s\" is not in the current spec; treating it as already removed.", gone.Name)
			continue
		}
		m.entries.drop(found)
		m.counts.Removed++
	}
	return nil
}

func (m *merger) modify() error {
	for _, block := range m.in.Delta.Modified {
		found := m.entries.find(block.Name)
		if found == nil {
			return m.fail("MODIFIED", block.Name, "not found")
		}
		if block.Name != requirement.Key(block.Name) {
			return m.fail("MODIFIED", block.Name, "header mismatch in content")
		}
		raw := block.Raw()
		if loss := LostScenarios(found.block, block); loss != nil {
			return m.fail("MODIFIED", block.Name, "current spec contains scenario(s) not present in the modified block: %s. %s Refresh the change spec before archiving to avoid dropping scenarios.",
				loss.Names(), loss.Balance())
		}
		if raw == found.raw {
			continue
		}
		found.raw = raw
		m.counts.Modified++
	}
	return nil
}

func (m *merger) add() error {
	for _, block := range m.in.Delta.Added {
		raw := block.Raw()
		if found := m.entries.find(block.Name); found != nil {
			if found.raw == raw {
				continue
			}
			return m.fail("ADDED", block.Name, "already exists")
		}
		if near := m.entries.like(block.Name, nil); near != nil {
			return m.fail("ADDED", block.Name, `"%s" already exists and differs only in case or spacing; use MODIFIED with that exact header to change it, or choose a distinct name`, requirement.Title(near.name))
		}
		m.entries.add(block)
		m.counts.Added++
	}
	return nil
}

// result composes the new text. It returns an error if the text, when parsed, has other requirements than those from
// which the text was composed. An unclosed fence, for example, may hide the requirements after it.
func (m *merger) result() (*Result, error) {
	for _, one := range m.entries.order {
		m.warnTail(one)
	}
	names, blocks := m.entries.left()
	text := m.parts.Compose(blocks)
	shown := Names(spec.Divide(markdown.Parse(text)).Blocks)
	for i, name := range names {
		if i >= len(shown) || shown[i] != name {
			return nil, fmt.Errorf(`%s: requirement "%s" would be hidden in the rebuilt spec; close the fence above it`, m.in.ID, name)
		}
	}
	if m.in.Target != nil && mostlyCRLF(m.in.Target.Source) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return &Result{Text: text, Counts: m.counts, Warnings: m.warnings, Left: len(blocks)}, nil
}

// mostlyCRLF reports whether text has CRLF line ends, and at least half of all line ends are CRLF.
func mostlyCRLF(text string) bool {
	crlf := strings.Count(text, "\r\n")
	return crlf > 0 && 2*crlf >= strings.Count(text, "\n")
}
