// Package abi declares ABI 1 between host and guest: the names of a module's imports and exports, and the JSON messages that pass through
// them. Start with Request and Response, of which every call consists. Both host and guest import this package, so it imports only the
// standard library and contains no logic. docs/abi.md specifies the ABI. Plugin authors mostly need only the error codes: the other
// packages below sdk wrap the rest.
//
// Stability: the names, codes and messages of ABI 1 do not change. Additions do not affect old modules.
package abi

import (
	"encoding/json"
	"fmt"
)

// ImportModule is the WebAssembly module name under which the host exports its own functions. WASI functions have a different one.
const ImportModule = "bulkhead"

// Functions that a module exports. The function ExportMarker has no effect: its existence states which ABI the module implements.
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

// Levels of the import log. The numbers are those of go-hclog.
const (
	LevelTrace int32 = 1
	LevelDebug int32 = 2
	LevelInfo  int32 = 3
	LevelWarn  int32 = 4
	LevelError int32 = 5
)

// Methods of a request. All of them are methods of MCP, except bulkhead/describe.
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

// Request is the input of the export bulkhead_call.
type Request struct {
	Method string `json:"method"`
	// Deadline is the time at which the host ends the call, in milliseconds since the Unix epoch by the host's clock; 0: there is no deadline.
	Deadline int64 `json:"deadline,omitempty"`
	// Params contains the parameters of the MCP request, byte for byte as the client sent them. If the client sent no parameters, Params is
	// absent.
	Params json.RawMessage `json:"params,omitempty"`
	// Client, Answers and State belong to the questions that a call asks: see Ask. They are absent unless the client can be asked.
	Client  *Client                    `json:"client,omitempty"`
	Answers map[string]json.RawMessage `json:"answers,omitempty"`
	State   string                     `json:"state,omitempty"`
}

// Response is the argument of the import output. Exactly one of Result, Error and Ask is set.
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

// Values of ClientRequest.Method.
const (
	MethodElicit    = "elicitation/create"
	MethodSample    = "sampling/createMessage"
	MethodListRoots = "roots/list"
)

// Client states what a client can be asked, as far as the plugin is granted to ask it. A pointer is nil if the client does not support that
// kind of question.
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

// Ask ends a call that needs something from the client. The host asks the client, and then makes the call again. The new call has the
// answers to all questions that the call has asked so far, and the State of the last Ask. At least one of Requests and State is set.
type Ask struct {
	Requests map[string]ClientRequest `json:"requests,omitempty"` // the questions, keyed by ids that the plugin chooses
	State    string                   `json:"state,omitempty"`
}

// ClientRequest is a request to the client. Method is MethodElicit, MethodSample or MethodListRoots. The answer is the result that MCP
// defines for that method, or an Error in a member called error.
type ClientRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// Actions in the result of MethodElicit.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline" // the user declined
	ActionCancel  = "cancel"  // the user made no decision
)

// Maximums for an Ask.
const (
	MaxAskRequests = 16
	MaxAskID       = 128       // bytes of an id
	MaxAskBytes    = 1 << 20   // bytes of the parameters of all requests together
	MaxAskState    = 256 << 10 // bytes of State
	MaxAskRounds   = 10        // number of times that one call can end with an Ask
	MaxAskAnswers  = 4 << 20   // bytes of all answers of one call
)

// MaxNesting is the maximum depth of nested arrays and objects in a message of a client and in a response of a module. With the host's own levels
// around them, messages stay below 128, which is the limit of serde_json; other readers of JSON exhaust their stack at a few thousand.
const MaxNesting = 120

// Description is the result of bulkhead/describe. It lists what a module has handlers for.
type Description struct {
	Tools       []string `json:"tools"`
	Prompts     bool     `json:"prompts"`
	Resources   bool     `json:"resources"`
	Completions bool     `json:"completions"`
}

// DescribeParams are the parameters of bulkhead/describe. They are absent when a host loads a module.
type DescribeParams struct {
	// Schemas asks for a SchemaDescription. A module that cannot derive schemas responds with a Description.
	Schemas bool `json:"schemas,omitempty"`
}

// SchemaDescription is a Description with the schemas that the module derives from the types of its handlers, by the names of the tools.
type SchemaDescription struct {
	Description
	Schemas map[string]ToolSchemas `json:"schemas,omitempty"`
}

// ToolSchemas are the JSON Schemas of a tool. Input describes the arguments that the handler decodes, and Output the structured results that
// it returns. Each is absent if it is unknown. The $comment of the root names its type, and the $comment of a property names the field and
// its type, separated by a space.
type ToolSchemas struct {
	Input  json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"` // why a type cannot be used
}

// HostRequest is the argument of the import host_call. It requests one host operation.
type HostRequest struct {
	Op     string          `json:"op"`
	Params json.RawMessage `json:"params,omitempty"`
}

// HostResponse is the result of the import host_result. Exactly one of Result and Error is set.
type HostResponse struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *HostError      `json:"error,omitempty"`
}

// HostError is the reason why the host did not perform an operation.
type HostError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Reason  string `json:"reason,omitempty"` // a Reason… constant, for a cause that a plugin can handle; usually absent
}

func (e *HostError) Error() string { return e.Message + " (" + e.Code + ")" }

// Values of HostError.Code.
const (
	HostDenied      = "denied"      // the operation is not granted; the audit log records the refusal
	HostInvalid     = "invalid"     // the operation or its parameters are malformed
	HostUnavailable = "unavailable" // this host does not support the operation
	HostFailed      = "failed"      // the host attempted the operation, and it failed
)

// ReasonNoIdentity is the Reason of the error of OpGitCommitBranch if user.name or user.email is not set.
const ReasonNoIdentity = "no_identity"

// Host operations. Each comment states the types of the operation's parameters -> its result.
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

// GitFile names a file on a local branch. Path is slash-separated and relative to the repository's top level.
type GitFile struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Path   string `json:"path"`
}

// GitContent is the content of a file, encoded as base64. Found is false if the repository, the branch or the file does not exist.
type GitContent struct {
	Found   bool   `json:"found"`
	Content []byte `json:"content,omitempty"`
}

// GitSearch asks for the newest commit that is reachable from HEAD and whose message contains Text. Case matters.
type GitSearch struct {
	Repo string `json:"repo"`
	Text string `json:"text"`
}

// GitCommit is the abbreviated hash of a commit, with 7 characters or more. Hash is empty if no commit was found.
type GitCommit struct {
	Hash string `json:"hash"`
}

// Notification is a notification for the client. Method is one of those that an MCP server sends: notifications/progress,
// notifications/message, notifications/…/list_changed or notifications/resources/updated. Params are its parameters.
type Notification struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}
