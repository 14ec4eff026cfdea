// Package call is the vocabulary of a call. The gateway makes a Request from a client's message, dispatch, worker and wire pass it on to
// the engine of the worker process, and the Result comes back the same way. A type of these packages that wraps one of the two is named
// for what it adds, such as gateway.Queued or engine.Held.
package call

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tracecontext"
)

// Methods of the MCP extension for skills, which the host answers without a plugin.
const (
	MethodSkillsList    = "skills/list"
	MethodSkillsGet     = "skills/get"
	MethodDirectoryRead = "resources/directory/read"
)

// Request is a request of a client that a plugin answers: a tool call, or a method of prompts, resources or completions. Only Method,
// Params and the fields from Members on reach the worker process.
type Request struct {
	Method    string
	Name      string          // tool or prompt name, or resource URI, also of a completion's reference; empty for lists
	Params    json.RawMessage // as the client sent them: a JSON object; nil if absent
	Client    string          // "name/version" of the client; empty if it states none
	Principal *Principal      // on whose behalf the request is made; always set in the host process
	Sender    Sender          // what the transport knows of the client; the zero value on stdio
	Version   string          // negotiated protocol version; empty if there is none yet
	ID        []byte          // of the JSON-RPC request, as the client sent it
	Via       string          // tool of the host whose arguments contained the call; empty: none
	Parent    string          // ID of the audit record of the script that makes the call; empty if a client makes it
	RecordID  string          // ID of the audit record of the call itself; empty until it begins, and if none is kept

	// Members of Params, as the client sent them; nil or empty if absent.
	Arguments json.RawMessage // arguments of a tool or prompt
	Argument  json.RawMessage // the argument to complete
	Cursor    json.RawMessage // position in a list
	Ref       Reference       // the prompt or template of a completion

	Interaction Interaction

	Part  bool            // the request is one of those by which the host answers a request of the client
	Held  context.Context // ends when the principal has no access any more; nil: it does not end
	Whole bool            // the client needs the whole result, whatever its size: it is no model

	// Task is the id of the task that the call runs as; empty if it runs as none.
	Task string
	// Time is the time limit of the call; 0: that of its plugin.
	Time time.Duration

	// Members is a JSON object with the members of the module's request that follow params: client, answers and state. It is empty if
	// the module cannot ask the client.
	Members []byte
	// Output is the number of the tool's output schema in the Setup of the worker, from 1; 0 if the tool has none.
	Output int
	// ReadsOnly denies the call all changes of files and repositories, but for the plugin's own state, whatever the plugin is granted.
	ReadsOnly bool
	// Recorded asks the worker to report each operation, for the audit log.
	Recorded bool

	// Times receives the moments of the call's phases; nil: they are not needed.
	Times *Times
	// TraceParent is the span that the call is a child of; nil: the one that Params or the Sender name, if they name any.
	TraceParent *tracecontext.Context
	// Trace is the span of the call's module, which is the parent of the calls that it makes; nil: calls are not traced.
	Trace *tracecontext.Context
}

// Sender is what a transport knows of the client that has sent a request.
type Sender struct {
	Address string // IP address
	Session string // names the session in traces: a digest, since the ID itself is a credential; empty: there is no session
	// Traceparent and Tracestate are the headers of Trace Context, not checked yet.
	Traceparent, Tracestate string
}

// The IDs of the principals that have no ID of their own.
const (
	LocalID  = "local"  // the user who runs the host; over HTTP a client at a loopback address without a token
	BearerID = "bearer" // a client with the token of token_file or token_env
)

// Principal is on whose behalf a request is made, as the transport has authenticated it. It is immutable. Sessions, streams, cursors and
// questions belong to its ID. What a request may do is decided with the request's own principal, since the claims of one ID can change
// from one request to the next.
type Principal struct {
	ID   string // unique: what is compared, and recorded in the audit log
	Name string // of a named token; else empty

	// Of a verified JWT; else empty.
	Issuer, Subject string
	Claims          map[string]any // as encoding/json decodes them; bounded
	Groups          []string       // the claim of groups, if it is a list of strings
}

// String returns the ID.
func (p *Principal) String() string { return p.ID }

// Reference names the prompt, or the resource template, that a completion is for.
type Reference struct{ Type, Name, URI string }

// Interaction is what the client of a request can be asked, and what it was asked and has answered so far. It is set for the
// methods that interaction.Supports.
type Interaction struct {
	Client interaction.Client
	Round  int // number of asks so far; 0: the request is not a repetition, and the following fields are empty
	// PluginVersion identifies the version of the plugin that has asked.
	PluginVersion string
	Answers       map[string]json.RawMessage // of all asks so far, by the id of the request; each is a JSON object
	State         string                     // of the last ask

	// Approver is set if the user of the client can be asked whether the call may run.
	Approver bool
	// Approval is what the host has asked the user, with the decision; nil if it has asked nothing.
	Approval *interaction.Approval
}

// Result is the outcome of a call.
type Result struct {
	Kind Kind
	// Body depends on Kind. The engine returns the module's response, which is untrusted; the worker process takes the method's result
	// from it, and the host validates that again.
	Body []byte

	members []member // of Body, as Validate found them; nil if there are none, or more than maxMembers

	Fuel      int64 // instructions that the call executed; also set if the call failed
	StartFuel int64 // instructions that the start function and _initialize executed when the instance was created
	Memory    int64 // size in bytes of the module's linear memory after the call
	LeftOut   int64 // operations that were not recorded
	Uses      Uses  // the granted directories and repositories that the call used, as the worker process numbers them
	// Grants are these by their paths, but for the plugin's own state. They are set if the request is Recorded.
	Grants []UsedGrant

	ShortenedFrom int // size in bytes before the host shortened Body; 0 if it did not
}

// WithBody returns the result with another body.
func (r Result) WithBody(body []byte) Result {
	r.Body, r.members = body, nil
	return r
}

// Uses are grants that were used, a bit for each: first those that were read, and from MaxUses on those that were changed.
type Uses [2 * MaxUses / 64]uint64

// MaxUses is the number of grants whose use is known, at least config.MaxDirectories.
const MaxUses = 128

// Has reports whether the grant with a number was read, and whether it was changed.
func (u Uses) Has(grant int) (read, write bool) {
	bit := func(at int) bool { return u[at/64]>>(at%64)&1 != 0 }
	return grant < MaxUses && bit(grant), grant < MaxUses && bit(MaxUses+grant)
}

// UsedGrant is a granted directory or repository that a call used.
type UsedGrant struct {
	Kind        string // Directory or Repository
	Path        string // to which its symbolic links resolve
	Read, Write bool
}

// Kinds of a UsedGrant.
const (
	Directory  = "directory"
	Repository = "repository"
)

// Kind says how a call ended.
type Kind byte

// The kinds of results. Failed and RPCError are converted to Go errors in the host process.
const (
	OK        Kind = iota // Body is the method's result
	ToolError             // Body is the method's result, which has isError set
	RPCError              // Body is an abi.Error
	Failed                // Body is a wire.Failure
	Asks                  // Body is an abi.Ask
)
