// Package abi holds what crosses the border between the host and a module: the names of ABI 1's
// imports and exports, and the JSON messages that pass through them. Both sides import it, so it
// depends on the standard library only and has no behaviour. docs/abi.md describes it in prose.
package abi

import (
	"encoding/json"
	"fmt"
)

// ImportModule is the WASM module name of everything the host offers beside WASI.
const ImportModule = "bulkhead"

// Functions that a module exports. ExportMarker's body is empty: that it exists says which ABI the
// module speaks.
const (
	ExportMarker     = "bulkhead_abi_1" // ()
	ExportCall       = "bulkhead_call"  // (len i32)
	ExportInitialize = "_initialize"    // (); optional
	ExportMemory     = "memory"
)

// Functions that the host offers under ImportModule.
const (
	ImportInput      = "input"       // (dst i32, len i32)
	ImportOutput     = "output"      // (src i32, len i32)
	ImportHostCall   = "host_call"   // (src i32, len i32) -> i32
	ImportHostResult = "host_result" // (dst i32, len i32)
	ImportLog        = "log"         // (level i32, src i32, len i32)
)

// Levels of the log import; the numbers are go-hclog's.
const (
	LevelTrace int32 = 1
	LevelDebug int32 = 2
	LevelInfo  int32 = 3
	LevelWarn  int32 = 4
	LevelError int32 = 5
)

// Methods of a request: MCP's own names, and one of ours.
const (
	MethodToolsCall              = "tools/call"
	MethodPromptsList            = "prompts/list"
	MethodPromptsGet             = "prompts/get"
	MethodResourcesList          = "resources/list"
	MethodResourcesTemplatesList = "resources/templates/list"
	MethodResourcesRead          = "resources/read"
	MethodComplete               = "completion/complete"
	MethodDescribe               = "bulkhead/describe"
)

// Request is what bulkhead_call's input holds.
type Request struct {
	Method string `json:"method"`
	// Deadline is when the host ends the call, in milliseconds since the Unix epoch by the host's
	// clock; 0 means that nothing limits it.
	Deadline int64 `json:"deadline,omitempty"`
	// Params are MCP's own, byte for byte as the client sent them; absent if it sent none.
	Params json.RawMessage `json:"params,omitempty"`
}

// Response is what output takes: exactly one of Result and Error.
type Response struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// Error is a JSON-RPC error: it reaches the client as it stands.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// JSON-RPC error codes that a plugin may use.
const (
	CodeMethodNotFound   = -32601
	CodeInvalidParams    = -32602
	CodeInternal         = -32603
	CodeResourceNotFound = -32002
)

// Description is the result of bulkhead/describe: what a module has handlers for.
type Description struct {
	Tools       []string `json:"tools"`
	Prompts     bool     `json:"prompts"`
	Resources   bool     `json:"resources"`
	Completions bool     `json:"completions"`
}

// HostRequest is what host_call takes: one operation of the host's.
type HostRequest struct {
	Op     string          `json:"op"`
	Params json.RawMessage `json:"params,omitempty"`
}

// HostResponse is what host_result gives: exactly one of Result and Error.
type HostResponse struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *HostError      `json:"error,omitempty"`
}

// HostError says why an operation did not happen.
type HostError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Reason  string `json:"reason,omitempty"` // one of Reason…, for a cause that a plugin can handle; usually absent
}

func (e *HostError) Error() string { return e.Message + " (" + e.Code + ")" }

// Codes of a HostError.
const (
	HostDenied      = "denied"      // not granted; the audit has a line of it
	HostInvalid     = "invalid"     // the operation or its parameters are not of the form below
	HostUnavailable = "unavailable" // this host has no such operation
	HostFailed      = "failed"      // tried, and it did not work
)

// ReasonNoIdentity is the Reason of OpGitCommitBranch's failure where user.name or user.email is not set.
const ReasonNoIdentity = "no_identity"

// Host operations.
const (
	OpGitBranchExists = "git/branch_exists" // GitBranch -> bool
	OpGitReadFile     = "git/read_file"     // GitFile -> GitContent
	OpGitFindCommit   = "git/find_commit"   // GitSearch -> GitCommit
	OpNotify          = "notify"            // Notification -> null
)

// GitBranch names a local branch. Repo is the absolute path of the repository's top level.
type GitBranch struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
}

// GitFile names a file on a local branch; Path is relative to the repository's top level and
// slash-separated.
type GitFile struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Path   string `json:"path"`
}

// GitContent is a file's content; Found is false where the repository, the branch or the file does
// not exist. Content travels as base64.
type GitContent struct {
	Found   bool   `json:"found"`
	Content []byte `json:"content,omitempty"`
}

// GitSearch asks for the newest commit reachable from HEAD whose message has Text in it, literally
// and case-sensitively.
type GitSearch struct {
	Repo string `json:"repo"`
	Text string `json:"text"`
}

// GitCommit is a commit's abbreviated hash (7 characters or more); empty if none was found.
type GitCommit struct {
	Hash string `json:"hash"`
}

// Notification is something for the client: Method is one of MCP's notifications that a server sends
// (notifications/progress, notifications/message, notifications/…/list_changed,
// notifications/resources/updated), Params are its parameters.
type Notification struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}
