// Package abi declares ABI 1 between host and guest: the names of a module's imports and exports, and the JSON messages
// that pass through them. Start with Request and Response, which every call consists of. Host and guest both import it,
// so it imports only the standard library and contains no logic. docs/abi.md specifies the ABI. Plugin authors mostly
// need only its error codes: the other packages below sdk wrap the rest.
//
// Stability: names, codes and messages of ABI 1 do not change; additions do not affect old modules.
package abi

import (
	"encoding/json"
	"fmt"
)

// ImportModule is the WASM module name of the host's functions other than WASI.
const ImportModule = "bulkhead"

// Functions that a module exports. ExportMarker has no effect: its existence tells which ABI the module implements.
const (
	ExportMarker     = "bulkhead_abi_1"  // ()
	ExportCall       = "bulkhead_call"   // (len i32)
	ExportInitialize = "_initialize"     // (); optional
	ExportDerive     = "bulkhead_derive" // (function i32, len i32); optional
	ExportMemory     = "memory"
)

// Functions that the host exports under ImportModule.
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

// Methods of a request: those of MCP, and bulkhead/describe.
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

// Request is the input of bulkhead_call.
type Request struct {
	Method string `json:"method"`
	// Deadline is when the host ends the call, in milliseconds since the Unix epoch by the host's
	// clock; 0: there is no deadline.
	Deadline int64 `json:"deadline,omitempty"`
	// Params contains the parameters of the MCP request, byte for byte as the client sent them. It is absent if the
	// client sent no parameters.
	Params json.RawMessage `json:"params,omitempty"`
	// Client, Answers and State are those of an Ask. They are absent unless the client can be asked.
	Client  *Client                    `json:"client,omitempty"`
	Answers map[string]json.RawMessage `json:"answers,omitempty"`
	State   string                     `json:"state,omitempty"`
}

// Response is the argument of output: exactly one of Result, Error and Ask is set.
type Response struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
	Ask    *Ask            `json:"ask,omitempty"`
}

// Error is a JSON-RPC error. The client gets it unchanged.
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

// Methods of a ClientRequest.
const (
	MethodElicit    = "elicitation/create"
	MethodSample    = "sampling/createMessage"
	MethodListRoots = "roots/list"
)

// Client is what a client can be asked, restricted to what the plugin is granted. A pointer is nil if the client does not
// support it.
type Client struct {
	Elicitation *Elicitation `json:"elicitation,omitempty"`
	Sampling    *Sampling    `json:"sampling,omitempty"`
	Roots       *struct{}    `json:"roots,omitempty"`
}

// Elicitation has the modes of elicitation that a client supports.
type Elicitation struct {
	Form *struct{} `json:"form,omitempty"`
	URL  *struct{} `json:"url,omitempty"`
}

// Sampling has the optional features of sampling that a client supports.
type Sampling struct {
	Tools   *struct{} `json:"tools,omitempty"`
	Context *struct{} `json:"context,omitempty"`
}

// Ask ends a call that needs something from the client. The host asks the client, and then makes the call again, with the
// answers of all asks of the call so far and the State of the last one. At least one of Requests and State is set.
type Ask struct {
	Requests map[string]ClientRequest `json:"requests,omitempty"` // by an id that the plugin chooses
	State    string                   `json:"state,omitempty"`
}

// ClientRequest is a request to the client: Method is one of MethodElicit, MethodSample and MethodListRoots. Its answer is
// the result of MCP for that method, or an Error in a member called error.
type ClientRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// Actions of the result of MethodElicit.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline" // the user said no
	ActionCancel  = "cancel"  // the user did not decide
)

// Bounds of an Ask.
const (
	MaxAskRequests = 16
	MaxAskID       = 128       // bytes of an id
	MaxAskBytes    = 1 << 20   // of the parameters of all requests
	MaxAskState    = 256 << 10 // bytes of State
	MaxAskRounds   = 10        // asks of one call
	MaxAskAnswers  = 4 << 20   // bytes of the answers of one call
)

// Description is the result of bulkhead/describe: what a module has handlers for.
type Description struct {
	Tools       []string `json:"tools"`
	Prompts     bool     `json:"prompts"`
	Resources   bool     `json:"resources"`
	Completions bool     `json:"completions"`
}

// HostRequest is the argument of host_call: one host operation.
type HostRequest struct {
	Op     string          `json:"op"`
	Params json.RawMessage `json:"params,omitempty"`
}

// HostResponse is the result of host_result: exactly one of Result and Error is set.
type HostResponse struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *HostError      `json:"error,omitempty"`
}

// HostError is the reason why the host did not perform an operation.
type HostError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Reason  string `json:"reason,omitempty"` // one of Reason…, for a cause that a plugin can handle; usually absent
}

func (e *HostError) Error() string { return e.Message + " (" + e.Code + ")" }

// Codes of a HostError.
const (
	HostDenied      = "denied"      // not granted; recorded in the audit log
	HostInvalid     = "invalid"     // malformed operation or parameters
	HostUnavailable = "unavailable" // this host does not have the operation
	HostFailed      = "failed"      // attempted and failed
)

// ReasonNoIdentity is the Reason with which OpGitCommitBranch fails if user.name or user.email is not set.
const ReasonNoIdentity = "no_identity"

// Host operations, each with the types of its parameters -> its result.
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

// GitContent is a file's content; Found is false if the repository, the branch or the file does not exist. Content is
// encoded as base64.
type GitContent struct {
	Found   bool   `json:"found"`
	Content []byte `json:"content,omitempty"`
}

// GitSearch asks for the newest commit reachable from HEAD whose message contains Text, case-sensitively.
type GitSearch struct {
	Repo string `json:"repo"`
	Text string `json:"text"`
}

// GitCommit is a commit's abbreviated hash (7 characters or more); empty if none was found.
type GitCommit struct {
	Hash string `json:"hash"`
}

// Notification is a notification for the client: Method is one of those that an MCP server sends
// (notifications/progress, notifications/message, notifications/…/list_changed,
// notifications/resources/updated), Params are its parameters.
type Notification struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}
