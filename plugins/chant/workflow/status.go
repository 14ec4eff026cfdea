package workflow

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/board"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
)

// Summary holds the number of active specs for each Entry.Status. A spec with the status Ready counts as pending, and
// one with the status Paused as in progress.
type Summary struct {
	Total          int `json:"total"`
	Pending        int `json:"pending"`
	InProgress     int `json:"in_progress"`
	Completed      int `json:"completed"`
	Failed         int `json:"failed"`
	Blocked        int `json:"blocked"`
	Cancelled      int `json:"cancelled"`
	NeedsAttention int `json:"needs_attention"`

	Activity []Activity `json:"in_progress_activity,omitzero"` // nil if the caller did not request the activity

	Omitted string `json:"omitted,omitzero"` // names of the specs that a limit excludes from the counts
}

// Activity holds the times at which the file of a spec in progress and the log of the spec were last modified; nil for
// a missing file.
type Activity struct {
	ID           string  `json:"id"`
	Title        *string `json:"title"`
	SpecModified *string `json:"spec_modified"`
	LogModified  *string `json:"log_modified"`
	HasLog       bool    `json:"has_log"`
}

// Status counts the specs of the project. If activity is set, the result has an Activity for each spec in progress.
func (p *Project) Status(activity bool) (Summary, error) {
	loaded, err := p.load(true)
	if err != nil {
		return Summary{}, err
	}
	summary := Summary{Omitted: loaded.Omitted()}
	if activity {
		summary.Activity = []Activity{}
	}
	for _, entry := range loaded.Entries {
		summary.count(entry.Status)
		if activity && entry.Status == spec.InProgress {
			summary.Activity = append(summary.Activity, p.activity(entry))
		}
	}
	return summary, nil
}

func (s *Summary) count(status spec.Status) {
	s.Total++
	switch status {
	case spec.Pending, spec.Ready:
		s.Pending++
	case spec.InProgress, spec.Paused:
		s.InProgress++
	case spec.Completed:
		s.Completed++
	case spec.Failed:
		s.Failed++
	case spec.Blocked:
		s.Blocked++
	case spec.Cancelled:
		s.Cancelled++
	case spec.NeedsAttention:
		s.NeedsAttention++
	}
}

// Brief returns the counts that are not zero, and the omitted specs, in one line.
func (s Summary) Brief() string {
	var parts []string
	for _, count := range []struct {
		number int
		status spec.Status
	}{
		{s.Pending, spec.Pending}, {s.InProgress, spec.InProgress}, {s.Completed, spec.Completed},
		{s.Failed, spec.Failed}, {s.Blocked, spec.Blocked}, {s.Cancelled, spec.Cancelled},
		{s.NeedsAttention, spec.NeedsAttention},
	} {
		if count.number > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count.number, count.status))
		}
	}
	if len(parts) == 0 {
		parts = []string{"No specs"}
	}
	if s.Omitted != "" {
		parts = append(parts, s.Omitted)
	}
	return strings.Join(parts, " | ")
}

func (p *Project) activity(entry *board.Entry) Activity {
	logModified := p.modified(p.Dir.Log(entry.ID))
	return Activity{
		ID:           entry.ID,
		Title:        entry.Title(),
		SpecModified: p.modified(entry.File.Path),
		LogModified:  logModified,
		HasLog:       logModified != nil,
	}
}

// modified returns the time at which the file at path was last modified, in the location of Project.Now; nil if the
// file does not exist.
func (p *Project) modified(path string) *string {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	local := info.ModTime().In(p.Now.Location()).Format(time.DateTime)
	return &local
}
