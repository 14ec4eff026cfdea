package spec

// Status is the value of a spec's status key.
type Status string

// The statuses. Files may contain Ready, but no tool assigns it.
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

// ParseStatus returns the status with a name; false if no status has the name.
func ParseStatus(name string) (Status, bool) {
	status := Status(name)
	return status, status.Title() != ""
}

// Title returns the status as messages name it, such as InProgress.
func (s Status) Title() string {
	switch s {
	case Pending:
		return "Pending"
	case InProgress:
		return "InProgress"
	case Completed:
		return "Completed"
	case Failed:
		return "Failed"
	case NeedsAttention:
		return "NeedsAttention"
	case Ready:
		return "Ready"
	case Blocked:
		return "Blocked"
	case Cancelled:
		return "Cancelled"
	case Paused:
		return "Paused"
	}
	return ""
}
