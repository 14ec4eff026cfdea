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
)

// Candidate is an edit that can become a part of a module's overlay.
type Candidate struct {
	ModuleID  string `json:"module_id"`
	Target    string `json:"target"`
	Path      string `json:"path"`
	PathPosix string `json:"path_posix"`
	file      string // the file of the module, with slashes
	content   []byte // that it would get
}

// Skipped is a file that has drifted but cannot be proposed.
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

// Suggestion is what a user can do about a skipped file.
type Suggestion struct {
	Action string `json:"action"`
	Reason string `json:"reason"`
}

// Summary counts drifted files.
type Summary struct {
	Proposeable   int `json:"drifted_proposeable"`
	Skipped       int `json:"drifted_skipped"`
	SkippedGone   int `json:"skipped_missing"`
	SkippedShared int `json:"skipped_multi_module"`
	SkippedUnread int `json:"skipped_read_error"`
}

// Why a file is skipped.
const (
	reasonMissing = "missing"
	reasonShared  = "multi_module_output"
)

// scan finds what has drifted.
type driftScan struct {
	prefix     string // of the commands that are recommended
	candidates []Candidate
	skipped    []Skipped
	summary    Summary
	warnings   []string
	sections   map[string]string // the edit of a module's section that was seen first
}

// run looks at the files of a state, those of one module only if one is named.
func (s *driftScan) run(state *output.State, moduleID string) {
	s.sections, s.skipped = map[string]string{}, []Skipped{}
	for _, file := range state.Files {
		if moduleID == "" || slices.Contains(file.Modules, moduleID) {
			s.look(state, file)
		}
	}
	slices.SortStableFunc(s.candidates, func(a, b Candidate) int {
		return cmp.Or(strings.Compare(a.ModuleID, b.ModuleID), strings.Compare(a.Path, b.Path))
	})
	slices.SortStableFunc(s.skipped, func(a, b Skipped) int {
		return cmp.Or(strings.Compare(a.Reason, b.Reason), strings.Compare(a.Target, b.Target), strings.Compare(a.Path, b.Path))
	})
}

func (s *driftScan) look(state *output.State, file output.File) {
	actual, err := disk.Read(file.Path, disk.MaxFile)
	if err == nil && !bytes.Equal(actual, file.Content) {
		// A link in somebody else's project must not bring another file of the user's into the config repo.
		err = inside(state, file.Key)
	}
	switch {
	case disk.IsMissing(err):
		s.skip(file, reasonMissing)
	case err != nil:
		s.unread(file.Path, err.Error())
	case bytes.Equal(actual, file.Content):
	case len(file.Origins) == 1:
		s.whole(file, actual)
	case !s.inSections(file, string(actual)):
		s.skip(file, reasonShared)
	}
}

// inside proves that a file is in the folder that it is meant for once links are followed.
func inside(state *output.State, key output.Key) error {
	root, ok := state.Owner(key)
	if !ok {
		return fmt.Errorf("it is in none of the folders of the target %s", key.Target)
	}
	return disk.RequireInside(root.Path, key.Path)
}

// unread notes a file of which it cannot be said what was edited.
func (s *driftScan) unread(path, why string) {
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

// whole proposes a file that is made of one module's.
func (s *driftScan) whole(file output.File, actual []byte) {
	origin := file.Origins[0]
	if file.Target == config.Cursor {
		// What stands before the module's text was generated, and would come out twice.
		header := render.CursorHeader(origin.Module)
		text, intact := bytes.CutPrefix(actual, header)
		if !intact {
			s.unread(file.Path, "its header is not the generated one, so the text of "+origin.Module+" cannot be told from it")
			return
		}
		actual = text
	}
	s.add(file, origin, actual)
}

// inSections proposes the edited sections of a file that is made of several modules'. It tells whether
// there are any that can be told apart.
func (s *driftScan) inSections(file output.File, actual string) bool {
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
			s.warnings = append(s.warnings, fmt.Sprintf("evolve: the section of %s in %s has another edit than in a file before it: it is left out", origin.Module, file.Path))
		}
	}
	return edited
}

// sectionsOf takes a text apart, if it has a section of each module.
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
		item.Message = "the file is missing, so there is no edit of it to propose"
		restore := " evolve restore"
		if item.ModuleID != "" {
			restore += " --module-id " + report.ShellQuote(item.ModuleID)
		}
		item.NextActions = []string{s.prefix + restore + " --yes --json", s.prefix + " deploy --apply --yes --json"}
		item.Suggestions = []Suggestion{
			{"agentpack evolve restore", "writes missing files again, and nothing else"},
			{"agentpack deploy --apply", "makes all files what the config repo wants"},
		}
	} else {
		s.summary.SkippedShared++
		item.Message = "the file is made of several modules, and it cannot be told whose part was edited"
		item.Suggestions = []Suggestion{
			{"Add per-module markers to aggregated instructions outputs", "with the markers in place an edit belongs to the module in whose section it is"},
			{"Split aggregated outputs so each file maps to one module", "an edit of a file then belongs to its module"},
		}
	}
	s.skipped = append(s.skipped, item)
}
