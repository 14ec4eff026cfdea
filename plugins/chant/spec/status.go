package spec

// Status is the word under a spec's status key.
type Status string

// The statuses. Ready is read, but never assigned by a tool.
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

// titles holds every status with its name in messages.
func titles() map[Status]string {
	return map[Status]string{
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
}

// ParseStatus returns the status that a word names, if it does.
func ParseStatus(word string) (Status, bool) {
	_, known := titles()[Status(word)]
	return Status(word), known
}

// Title returns the status as messages write it, such as InProgress.
func (s Status) Title() string { return titles()[s] }
