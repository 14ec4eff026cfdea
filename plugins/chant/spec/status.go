package spec

import "strings"

// Status is the value of the key status of a spec.
type Status string

// All statuses. Files may contain Ready, but no tool sets this status.
const (
	Pending        Status = "pending"
	InProgress     Status = "in_progress"
	Completed      Status = "completed"
	Failed         Status = "failed"
	NeedsAttention Status = "needs_attention"
	Ready          Status = "ready"
	Blocked        Status = "blocked"
	Cancelled      Status = "cancelled"
	Paused         Status = "paused"
)

var titles = map[Status]string{
	Pending:        "Pending",
	InProgress:     "InProgress",
	Completed:      "Completed",
	Failed:         "Failed",
	NeedsAttention: "NeedsAttention",
	Ready:          "Ready",
	Blocked:        "Blocked",
	Cancelled:      "Cancelled",
	Paused:         "Paused",
}

// ParseStatus returns the status with the given name. It returns false if no status has that name.
func ParseStatus(name string) (Status, bool) {
	status := Status(name)
	return status, status.Title() != ""
}

// FindStatus is like ParseStatus, and accepts the joined names, too.
func FindStatus(name string) (Status, bool) {
	for status := range titles {
		if name == string(status) || name == string(status.Joined()) {
			return status, true
		}
	}
	return "", false
}

// Joined returns the name that the MCP server of the chant CLI shows: inprogress for in_progress.
func (s Status) Joined() Status { return Status(strings.ReplaceAll(string(s), "_", "")) }

// Title returns the name of the status in messages, such as InProgress.
func (s Status) Title() string { return titles[s] }
