package demo

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// step is one call of the conversation and what it should come to.
type step struct {
	tool      string
	arguments map[string]any
	why       string   // for whoever reads along
	says      []string // in the answer
	refused   bool     // the answer is an error that the model reads
	check     func(project string) error
}

// args shortens the table below.
type args = map[string]any

var steps = []step{
	{tool: "chant_status", arguments: args{"brief": true}, why: "reads the folder .chant of the project",
		says: []string{"1 pending | 1 completed | 1 blocked"}},
	{tool: "chant_ready", arguments: args{}, why: "two specs are left to do, and one waits for the other",
		says: []string{`"id": "2026-05-04-002-h2k"`, `"total": 1`}},
	{tool: "chant_search", arguments: args{"query": "rain"},
		says: []string{`"id": "2026-05-04-003-m9c"`}},
	{tool: "chant_add", arguments: args{"description": "Warn of frost"}, why: "writes a new spec",
		says: []string{"Created spec: "}, check: added},
	{tool: "chant_finalize", arguments: args{"id": "003-m9c"}, why: "the plugin refuses, and the model reads why",
		says: []string{"Current status: Blocked"}, refused: true, check: status("2026-05-04-003-m9c", "pending")},
	{tool: "chant_spec_update", arguments: args{"id": "002-h2k", "status": "in_progress"}, why: "changes the file",
		says: []string{"2026-05-04-002-h2k"}, check: status("2026-05-04-002-h2k", "in_progress")},
	{tool: "chant_finalize", arguments: args{"id": "002-h2k"}, why: "all its criteria are ticked",
		says: []string{"2026-05-04-002-h2k"}, check: status("2026-05-04-002-h2k", "completed")},
	{tool: "chant_ready", arguments: args{}, why: "what waited for it is ready now",
		says: []string{`"id": "2026-05-04-003-m9c"`, `"total": 2`}},
}

// added finds the spec that chant_add wrote.
func added(project string) error {
	files, err := filepath.Glob(filepath.Join(project, ".chant", "specs", "*.md"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte("Warn of frost")) {
			return nil
		}
	}
	return fmt.Errorf("no file in %s holds the new spec", filepath.Join(project, ".chant", "specs"))
}

// status wants a spec's file to have a status.
func status(id, want string) func(string) error {
	return func(project string) error {
		text, err := os.ReadFile(filepath.Join(project, ".chant", "specs", id+".md"))
		if err != nil {
			return err
		}
		if !bytes.Contains(text, []byte("\nstatus: "+want+"\n")) {
			return fmt.Errorf("the file of %s does not have the status %s", id, want)
		}
		return nil
	}
}
