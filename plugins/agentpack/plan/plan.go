// Package plan computes the changes that a deploy would make. Prepare is the first step of all tools except rollback:
// it reads the config repo, renders the desired state and finds the managed files. Prepared.Plan compares the desired
// state with the files on disk. NewPreview adds diffs of the files. The package writes only checkouts of git modules.
package plan

import "github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"

// Op is the operation of a change on a file.
type Op string

const (
	Create Op = "create"
	Update Op = "update"
	Delete Op = "delete"
)

// UpdateKind distinguishes an update of a managed file from an update that overwrites a file of the user.
type UpdateKind string

const (
	ManagedUpdate UpdateKind = "managed_update"
	AdoptUpdate   UpdateKind = "adopt_update"
)

// Change is the write or removal of one file. Payloads contain it as JSON. Before and After are the SHA-256 of the
// content in hexadecimal; nil if the file does not exist before or after the change.
type Change struct {
	Target     string     `json:"target"`
	Op         Op         `json:"op"`
	Path       string     `json:"path"`
	PathPosix  string     `json:"path_posix"`
	Before     *string    `json:"before_sha256"`
	After      *string    `json:"after_sha256"`
	UpdateKind UpdateKind `json:"update_kind,omitempty"` // set only for updates
	Reason     string     `json:"reason"`
}

// Key returns the key of the file that the change writes or removes.
func (c Change) Key() output.Key { return output.Key{Target: c.Target, Path: c.Path} }

// Summary holds the number of changes for each operation.
type Summary struct {
	Create int `json:"create"`
	Update int `json:"update"`
	Delete int `json:"delete"`
}

// Plan holds all changes, sorted by target and path. Changes is never nil.
type Plan struct {
	Changes []Change `json:"changes"`
	Summary Summary  `json:"summary"`
}
