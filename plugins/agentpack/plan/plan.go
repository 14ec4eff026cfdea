// Package plan computes what a deploy would do. Prepare does what all tools but rollback begin with: it reads
// the config repo, renders the desired state and reads which files are managed. Prepared.Plan compares that
// with the disk, and NewPreview adds the differences of file contents. The package writes nothing but
// checkouts of git modules.
package plan

import "github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"

// Op is the operation on a file.
type Op string

// The operations.
const (
	Create Op = "create"
	Update Op = "update"
	Delete Op = "delete"
)

// UpdateKind distinguishes updates of managed files from those that take over a file of the user's.
type UpdateKind string

// The kinds of update.
const (
	ManagedUpdate UpdateKind = "managed_update"
	AdoptUpdate   UpdateKind = "adopt_update"
)

// Change is one file to be written or removed, as in payloads. Hashes are SHA-256 in hexadecimal; nil if the
// file does not exist before or after.
type Change struct {
	Target     string     `json:"target"`
	Op         Op         `json:"op"`
	Path       string     `json:"path"`
	PathPosix  string     `json:"path_posix"`
	Before     *string    `json:"before_sha256"`
	After      *string    `json:"after_sha256"`
	UpdateKind UpdateKind `json:"update_kind,omitempty"` // only for updates
	Reason     string     `json:"reason"`
}

// Key returns the key of the changed file.
func (c Change) Key() output.Key { return output.Key{Target: c.Target, Path: c.Path} }

// Summary counts changes.
type Summary struct {
	Create int `json:"create"`
	Update int `json:"update"`
	Delete int `json:"delete"`
}

// Plan holds all changes, by target and path. Changes is never nil.
type Plan struct {
	Changes []Change `json:"changes"`
	Summary Summary  `json:"summary"`
}
