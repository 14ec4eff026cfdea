// Package plan is what a deploy would do: the difference between what a config repo wants and what is on
// the disk. Compute makes a plan; it changes nothing.
package plan

import "github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"

// Op is what happens to a file.
type Op string

// What can happen to a file.
const (
	Create Op = "create"
	Update Op = "update"
	Delete Op = "delete"
)

// UpdateKind tells an update of a file of agentpack's own from one that takes over a file of the user's.
type UpdateKind string

// The kinds of update.
const (
	ManagedUpdate UpdateKind = "managed_update"
	AdoptUpdate   UpdateKind = "adopt_update"
)

// Change is one file that would be written or removed, in the form of the payloads. Hashes are SHA-256 in
// hexadecimal; nil where there is no file before or after.
type Change struct {
	Target     string     `json:"target"`
	Op         Op         `json:"op"`
	Path       string     `json:"path"`
	PathPosix  string     `json:"path_posix"`
	Before     *string    `json:"before_sha256"`
	After      *string    `json:"after_sha256"`
	UpdateKind UpdateKind `json:"update_kind,omitempty"` // "" but for updates
	Reason     string     `json:"reason"`
}

// Key names the file that changes.
func (c Change) Key() output.Key { return output.Key{Target: c.Target, Path: c.Path} }

// Summary counts the changes.
type Summary struct {
	Create int `json:"create"`
	Update int `json:"update"`
	Delete int `json:"delete"`
}

// Plan is all changes, by target and path. Changes is never nil.
type Plan struct {
	Changes []Change `json:"changes"`
	Summary Summary  `json:"summary"`
}
