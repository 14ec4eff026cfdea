package evolve

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/render"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/report"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Candidate is an edit of a deployed file that can become part of a module's overlay.
type Candidate struct {
	ModuleID  string `json:"module_id"`
	Target    string `json:"target"`
	Path      string `json:"path"`
	PathPosix string `json:"path_posix"`
	file      string // the path of the file in the module, with slashes
	content   []byte // the content of the file in the module with the edit
}

// Skipped is a drifted file whose edit cannot be proposed.
type Skipped struct {
	Target      string       `json:"target"`
	Path        string       `json:"path"`
	PathPosix   string       `json:"path_posix"`
	Reason      string       `json:"reason"`
	ReasonCode  string       `json:"reason_code"`
	Message     string       `json:"reason_message"`
	ModuleID    string       `json:"module_id,omitempty"`
	ModuleIDs   []string     `json:"module_ids,omitempty"`
	NextActions []string     `json:"next_actions"`
	Suggestions []Suggestion `json:"suggestions,omitempty"`
}

// Suggestion is an action with which the user can resolve the drift of a skipped file.
type Suggestion struct {
	Action string `json:"action"`
	Reason string `json:"reason"`
}

// Summary holds numbers of drifted files.
type Summary struct {
	Proposeable   int `json:"drifted_proposeable"`
	Skipped       int `json:"drifted_skipped"`
	SkippedGone   int `json:"skipped_missing"`
	SkippedShared int `json:"skipped_multi_module"`
	SkippedUnread int `json:"skipped_read_error"`
}

// The reasons why a drifted file is skipped.
const (
	reasonMissing = "missing"
	reasonShared  = "multi_module_output"
)

// driftScan finds drifted files and sorts them into candidates and skipped files.
type driftScan struct {
	prefix     string // the beginning of each recommended command
	candidates []Candidate
	skipped    []Skipped
	summary    Summary
	warnings   []string
	sections   map[string]string // the first edit of the section of each module; the key is the module id
}

// run compares the desired files with the files on disk. If moduleID is not "", it compares only the files of that
// module.
func (s *driftScan) run(state *output.State, moduleID string) {
	s.sections, s.skipped = map[string]string{}, []Skipped{}
	for _, file := range state.Files {
		if moduleID == "" || slices.Contains(file.Modules, moduleID) {
			s.check(state, file)
		}
	}
	slices.SortStableFunc(s.candidates, func(a, b Candidate) int {
		return cmp.Or(strings.Compare(a.ModuleID, b.ModuleID), strings.Compare(a.Path, b.Path))
	})
	slices.SortStableFunc(s.skipped, func(a, b Skipped) int {
		return cmp.Or(strings.Compare(a.Reason, b.Reason), strings.Compare(a.Target, b.Target), strings.Compare(a.Path, b.Path))
	})
}

func (s *driftScan) check(state *output.State, file output.File) {
	actual, err := disk.Read(file.Path, disk.MaxFile)
	if err == nil && !bytes.Equal(actual, file.Content) {
		// An untrusted project may contain a symbolic link to another file of the user. Propose must not copy the
		// content of that file into the config repo.
		err = inside(state, file.Key)
	}
	switch {
	case filesystem.IsAbsent(err):
		s.skip(file, reasonMissing)
	case err != nil:
		s.skipUnreadable(file.Path, err.Error())
	case bytes.Equal(actual, file.Content):
	case len(file.Origins) == 1:
		s.addWhole(file, actual)
	case !s.addSections(file, string(actual)):
		s.skip(file, reasonShared)
	}
}

// inside returns an error unless the resolved path of the file at key is inside the root of the file.
func inside(state *output.State, key output.Key) error {
	root, ok := state.Owner(key)
	if !ok {
		return fmt.Errorf("the file is in none of the directories of the target %s", key.Target)
	}
	return disk.RequireInside(root.Path, key.Path)
}

// skipUnreadable counts a file whose edit cannot be determined, and adds a warning with the reason why.
func (s *driftScan) skipUnreadable(path, why string) {
	s.summary.SkippedUnread++
	s.warnings = append(s.warnings, fmt.Sprintf("evolve: %s is skipped: %s", path, why))
}

func (s *driftScan) add(file output.File, origin output.Origin, content []byte) {
	s.summary.Proposeable++
	s.candidates = append(s.candidates, Candidate{
		ModuleID: origin.Module, Target: file.Target, Path: file.Path, PathPosix: filepath.ToSlash(file.Path),
		file: origin.Path, content: content,
	})
}

// addWhole proposes the edit of a file that was generated from one file of one module.
func (s *driftScan) addWhole(file output.File, actual []byte) {
	origin := file.Origins[0]
	if file.Target == config.Cursor {
		// The header before the module's content is generated, so it is not part of the edit.
		header := render.CursorHeader(origin.Module)
		text, intact := bytes.CutPrefix(actual, header)
		if !intact {
			s.skipUnreadable(file.Path, "its generated header was edited, so the header cannot be separated from the content of "+origin.Module)
			return
		}
		actual = text
	}
	s.add(file, origin, actual)
}

// addSections proposes the edited sections of a file that was generated from several modules. It returns false if no
// edit is inside a section, or if the file has no section markers.
func (s *driftScan) addSections(file output.File, actual string) bool {
	if !strings.Contains(string(file.Content), render.SectionStart) || !strings.Contains(actual, render.SectionStart) {
		return false
	}
	before, ok := sectionsOf(string(file.Content), file.Origins)
	if !ok {
		return false
	}
	after, ok := sectionsOf(actual, file.Origins)
	if !ok {
		return false
	}
	edited := false
	for _, origin := range file.Origins {
		text := after[origin.Module]
		if text == before[origin.Module] {
			continue
		}
		edited = true
		first, seen := s.sections[origin.Module]
		switch {
		case !seen:
			s.sections[origin.Module] = text
			s.add(file, origin, []byte(text))
		case first != text:
			s.warnings = append(s.warnings, fmt.Sprintf("evolve: the section of %s in %s is not proposed: its edit differs from the edit in an earlier file", origin.Module, file.Path))
		}
	}
	return edited
}

// sectionsOf returns the sections of a file; the key is the module id. It returns false unless the file has a section
// for each origin.
func sectionsOf(text string, origins []output.Origin) (map[string]string, bool) {
	parts, err := render.ParseSections(text)
	if err != nil {
		return nil, false
	}
	sections := map[string]string{}
	for _, part := range parts {
		sections[part.Module] = part.Content
	}
	for _, origin := range origins {
		if _, ok := sections[origin.Module]; !ok {
			return nil, false
		}
	}
	return sections, true
}

func (s *driftScan) skip(file output.File, reason string) {
	s.summary.Skipped++
	item := Skipped{
		Target: file.Target, Path: file.Path, PathPosix: filepath.ToSlash(file.Path),
		Reason: reason, ReasonCode: reason, NextActions: []string{},
	}
	if len(file.Modules) == 1 && reason == reasonMissing {
		item.ModuleID = file.Modules[0]
	} else {
		item.ModuleIDs = file.Modules
	}
	if reason == reasonMissing {
		s.summary.SkippedGone++
		item.Message = "the file is missing, so there is no edit to propose"
		restore := " evolve restore"
		if item.ModuleID != "" {
			restore += " --module-id " + report.ShellQuote(item.ModuleID)
		}
		item.NextActions = []string{s.prefix + restore + " --yes --json", s.prefix + " deploy --apply --yes --json"}
		item.Suggestions = []Suggestion{
			{"agentpack evolve restore", "writes only missing files"},
			{"agentpack deploy --apply", "updates all files from the config repo"},
		}
	} else {
		s.summary.SkippedShared++
		item.Message = "the file is generated from several modules, and the edit cannot be attributed to one of them"
		item.Suggestions = []Suggestion{
			{"Add per-module markers to aggregated instructions outputs", "with markers, an edit is attributed to the module of its section"},
			{"Split aggregated outputs so each file maps to one module", "an edit of a file is then attributed to its only module"},
		}
	}
	s.skipped = append(s.skipped, item)
}
