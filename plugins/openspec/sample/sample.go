// Package sample generates openspec projects of any size, for benchmarks:
//
//	err := sample.Write(directory, 1000)
package sample

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// changesForEachSpec is the number of changes that affect one main spec.
const changesForEachSpec = 2

// Write creates a valid project with the given number of active changes. Two changes share one main spec of ten
// requirements. Each change has a proposal, tasks, and a delta that adds and modifies requirements. The content of the
// files depends only on the number of changes.
func Write(folder string, changes int) error {
	top := filepath.Join(folder, "openspec")
	if err := write(filepath.Join(top, "config.yaml"), "schema: spec-driven\n"); err != nil {
		return err
	}
	for i := range (changes + changesForEachSpec - 1) / changesForEachSpec {
		if err := write(filepath.Join(top, "specs", capability(i), "spec.md"), mainSpec(i)); err != nil {
			return err
		}
	}
	for i := range changes {
		if err := writeChange(filepath.Join(top, "changes", fmt.Sprintf("add-feature-%04d", i)), i); err != nil {
			return err
		}
	}
	return nil
}

func writeChange(dir string, i int) error {
	for name, content := range map[string]string{
		".openspec.yaml": "schema: spec-driven\ncreated: 2026-01-15\n",
		"proposal.md":    fmt.Sprintf("# Change: Feature %d\n\n## Why\n\nPeople ask for feature %d and have no way to get it today.\n\n## What Changes\n\n- Add it.\n", i, i),
		"tasks.md":       "## 1. Work\n\n- [x] 1.1 Write it\n- [ ] 1.2 Test it\n",
		filepath.Join("specs", capability(i/changesForEachSpec), "spec.md"): "## ADDED Requirements\n\n" +
			block(fmt.Sprintf("Feature %d", i), "offer it") + "\n## MODIFIED Requirements\n\n" + block("Rule 3", "do it in another way"),
	} {
		if err := write(filepath.Join(dir, name), content); err != nil {
			return err
		}
	}
	return nil
}

func capability(i int) string { return fmt.Sprintf("area-%02d/capability-%04d", i%10, i) }

func mainSpec(i int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Capability %d\n\n## Purpose\nSays what capability %d is there for, at a length that nobody takes for a placeholder.\n\n## Requirements\n", i, i)
	for n := range 10 {
		out.WriteString("\n" + block(fmt.Sprintf("Rule %d", n), "do it"))
	}
	return out.String()
}

func block(name, does string) string {
	return fmt.Sprintf("### Requirement: %s\nThe system SHALL %s.\n\n#### Scenario: Usual\n- **WHEN** it is asked for\n- **THEN** it happens\n", name, does)
}

func write(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}
