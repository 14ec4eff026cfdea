package workflow

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/board"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/criteria"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
)

// Diagnosis is the result that Diagnose returns.
type Diagnosis struct {
	ID         string      `json:"spec_id"`
	Status     spec.Status `json:"status"` // the status in the spec's file
	Location   string      `json:"location"`
	Checks     []Check     `json:"checks"`
	Diagnosis  string      `json:"diagnosis"`
	Suggestion *string     `json:"suggestion"`
}

// Check is the result of one of the checks of Diagnose.
type Check struct {
	Name    string  `json:"name"`
	Passed  bool    `json:"passed"`
	Details *string `json:"details"`
}

// Diagnose checks the file, log, lock, commit and criteria of a spec, and whether the status of the spec is consistent
// with them. It uses the status and body in the file, instead of those on the branch and of the computed status.
func (p *Project) Diagnose(id string) (Diagnosis, error) {
	entry, err := p.find(id, false)
	if err != nil {
		return Diagnosis{}, err
	}
	commit, search := p.checkCommit(entry)
	unchecked := criteria.Unchecked(entry.Spec.Body)
	result := Diagnosis{
		ID:       entry.ID,
		Status:   entry.Spec.Status,
		Location: "main repository",
		Checks: []Check{
			passed("Spec file", "Valid YAML"),
			p.checkLog(entry),
			p.checkLock(entry),
			commit,
			checkCriteria(unchecked),
			checkConsistency(entry.Spec.Status, search, unchecked),
		},
	}
	result.summarize(search, unchecked)
	result.Status = p.shown(result.Status)
	return result, nil
}

func passed(name, details string) Check { return Check{name, true, &details} }
func failed(name, details string) Check { return Check{name, false, &details} }

func (p *Project) checkLog(entry *board.Entry) Check {
	const name = "Log file"
	info, err := os.Stat(p.Dir.Log(entry.ID))
	if err != nil {
		return failed(name, "Does not exist (checked in main)")
	}
	return passed(name, fmt.Sprintf("Exists (%d bytes), last modified: %s (checked in main)",
		info.Size(), age(p.Now.Sub(info.ModTime()))))
}

func (p *Project) checkLock(entry *board.Entry) Check {
	const name = "Lock file"
	if _, err := os.Stat(p.Dir.Lock(entry.ID)); err != nil {
		return passed(name, "Not present (checked in main)")
	}
	return passed(name, "Present (spec may be running) (checked in main)")
}

// commitCheck is the name of the check for a commit.
const commitCheck = "Git commit"

// search is the result of the search for a commit.
type search int

const (
	absent  search = iota // no commit mentions the spec
	found                 // a commit mentions the spec
	unknown               // the repository cannot be read
)

func (p *Project) checkCommit(entry *board.Entry) (Check, search) {
	var hash string
	var err error
	if p.Git != nil {
		hash, err = p.Git.FindCommit("chant(" + entry.ID + ")")
	}
	switch {
	case err != nil:
		p.Warn("cannot search for the spec's commit: " + err.Error())
		return failed(commitCheck, "Cannot run git log: "+err.Error()), unknown
	case hash == "":
		return failed(commitCheck, "No matching commit found"), absent
	}
	return passed(commitCheck, "Found: "+hash), found
}

func checkCriteria(unchecked int) Check {
	const name = "Acceptance criteria"
	if unchecked > 0 {
		return failed(name, fmt.Sprintf("%d unchecked items remaining", unchecked))
	}
	return passed(name, "All satisfied")
}

func checkConsistency(status spec.Status, commit search, unchecked int) Check {
	const name = "Status consistency"
	switch {
	case status == spec.InProgress && commit == found:
		return failed(name, "Status is in_progress but commit exists (should be completed?)")
	case status == spec.Completed && commit == absent:
		return failed(name, "Status is completed but no commit found")
	case status == spec.Completed && unchecked > 0:
		return failed(name, "Status is completed but acceptance criteria unchecked")
	case status == spec.Pending && commit == found:
		return failed(name, "Status is pending but commit exists")
	case status == spec.Ready && commit == found:
		return failed(name, "Status is ready but commit exists")
	case status == spec.Failed:
		return passed(name, "Marked as failed")
	case status == spec.NeedsAttention:
		return passed(name, "Marked as needs attention")
	case status == spec.Blocked:
		return passed(name, "Blocked by unmet dependencies")
	case status == spec.Cancelled:
		return passed(name, "Marked as cancelled (preserved but excluded from list and work)")
	case status == spec.Paused:
		return passed(name, "Paused (work stopped mid-execution)")
	case commit == unknown:
		return passed(name, "Not checked: git cannot be read")
	}
	return Check{Name: name, Passed: true}
}

// summarize sets the fields Diagnosis and Suggestion of d. A commit check that could not be made is no issue of the spec.
func (d *Diagnosis) summarize(commit search, unchecked int) {
	var names []string
	for _, check := range d.Checks {
		if !check.Passed && (check.Name != commitCheck || commit != unknown) {
			names = append(names, check.Name)
		}
	}
	var suggestion string
	switch {
	case len(names) == 0 && commit == unknown:
		d.Diagnosis = "All other checks passed, but commits are not checked: git cannot be read."
		suggestion = "Let the plugin read the repository: the check \"" + commitCheck + "\" says what prevents it."
	case len(names) == 0:
		d.Diagnosis = "All checks passed. Spec appears healthy."
		return
	case d.Status == spec.InProgress && commit == found && unchecked == 0:
		d.Diagnosis = "Spec appears complete but wasn't finalized."
		suggestion = fmt.Sprintf("Run `just chant work %s --finalize` to fix.", d.ID)
	case d.Status == spec.InProgress && commit == found:
		d.Diagnosis = "Spec has a commit but acceptance criteria not all satisfied."
		suggestion = "Complete the unchecked acceptance criteria and re-run the spec."
	case d.Status == spec.InProgress:
		d.Diagnosis = "Spec is in progress but has issues."
		suggestion = fmt.Sprintf("Check the log: `just chant log %s`", d.ID)
	default:
		d.Diagnosis = "Spec has issues: " + strings.Join(names, ", ")
		suggestion = fmt.Sprintf("Run `just chant log %s` for details", d.ID)
	}
	d.Suggestion = &suggestion
}

// age formats the time that has passed since a file was modified.
func age(since time.Duration) string {
	switch {
	case since < 0:
		return "unknown age"
	case since < time.Minute:
		return "just now"
	case since < time.Hour:
		return fmt.Sprintf("%d minutes ago", since/time.Minute)
	case since < 24*time.Hour:
		return fmt.Sprintf("%d hours ago", since/time.Hour)
	}
	return fmt.Sprintf("%d days ago", since/(24*time.Hour))
}
