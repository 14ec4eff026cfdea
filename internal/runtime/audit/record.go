package audit

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of a line.
type Kind string

// The kinds of a Record. The log itself adds lines of kind KindGap, which count records that were lost before them.
const (
	KindCall    Kind = "call"    // a call that ended
	KindRefused Kind = "refused" // an operation that a module was denied, or a client's request that was refused
	KindTask    Kind = "task"    // a call that runs as a task has begun, or goes on with the answers of its client; its end is a KindCall
	KindServer  Kind = "server"  // a server began or ended to serve clients over HTTP
	KindPolicy  Kind = "policy"  // a change of the config, the plugins or the trust in them was applied or rejected
	KindTokens  Kind = "tokens"  // the tokens of a server have changed
	KindGap     Kind = "gap"
)

// Outcome is the result of a call or an operation.
type Outcome string

// The outcomes. An operation is OK, Denied or Failed.
const (
	OK        Outcome = "ok"
	ToolError Outcome = "tool_error" // the tool returned an error result
	RPCError  Outcome = "rpc_error"  // the plugin returned a JSON-RPC error
	Failed    Outcome = "failed"     // the host terminated the call, or the module crashed
	Denied    Outcome = "denied"     // the call or operation was not granted
	Cancelled Outcome = "cancelled"  // the client cancelled the call
	Asked     Outcome = "asked"      // the call asked its client, and is made again with the answers
)

// Record is one line. Its strings are untrusted: they are bounded, and escaped so that they cannot control a
// terminal. Empty and zero fields are omitted.
type Record struct {
	Time    time.Time // zero: now
	Kind    Kind
	ID      string // ID of the call, from Log.NewID; a refused operation has the ID of its call
	Parent  string // ID of the script that made the call
	Plugin  string
	Version string // version of the plugin
	Digest  string // digest of the plugin's module
	Client  string // name and version that the client reported
	// Principal is on whose behalf the client called, as the transport has authenticated it.
	Principal string
	Table     string // name of the table of [[clients]] that decides for the principal
	Address   string // IP address of the peer of an HTTP request; the address that a server listens on
	Project   string // name of the project, if the server has several
	Request   []byte // the id of the JSON-RPC request, as the client sent it
	Method    string // MCP method; of a refused HTTP request that of HTTP; what happened to a server, its policy or its tokens
	Task      string // id of the task that the call runs as
	Config    string // of KindPolicy: path of the config that is in force
	Subject   string // of KindTokens: the principal that the token stands for
	Name      string // of KindTokens: name of the token
	Tool      string // name of the tool or prompt, or URI of the resource
	Via       string // tool of the host through which the client called Tool; empty: none
	Outcome   Outcome
	Code      string // code of the failure
	Reason    string // why an HTTP request was refused, or a change of policy rejected, in words of the host

	Duration time.Duration
	Fuel     uint64
	BytesIn  int64
	BytesOut int64
	// ShortenedFrom is the size of a result that the client got shortened; 0: it was not.
	ShortenedFrom int64

	Round int // number of times that the call has asked its client before

	Arguments []byte // exactly as the client sent them; Config.Arguments decides what is kept

	Further int64 // number of earlier refused HTTP requests that have no record

	Grants     []UsedGrant // granted directories and repositories that the call used
	Operations []Operation // host operations of the call
	LeftOut    int64       // number of further operations, which the record does not list
}

// ErrorType returns error.type of OpenTelemetry's conventions; empty for a call that succeeded or asks its client.
func (r *Record) ErrorType() string {
	switch r.Outcome {
	case OK, Asked:
		return ""
	case Failed, Denied:
		if r.Code != "" {
			return r.Code
		}
	}
	return string(r.Outcome)
}

// Operation is a host operation of a module, with the number of its repetitions.
type Operation struct {
	Op      string  `json:"op"`
	Target  string  `json:"target,omitempty"` // a path or an origin: never a URL's user, password or query, nor any other secret
	Outcome Outcome `json:"outcome"`
	Code    string  `json:"code,omitempty"`
	Count   int64   `json:"count"` // 0 means 1
}

// UsedGrant is a granted directory or repository that a call used, by the path to which its symbolic links resolve.
type UsedGrant struct {
	Kind   string `json:"kind"`   // directory or repository
	Path   string `json:"path"`   // not that of a file in it
	Access string `json:"access"` // what it was used for: r, w or rw
}

// NewUsedGrant returns a UsedGrant.
func NewUsedGrant(kind, path string, read, write bool) UsedGrant {
	access := ""
	if read {
		access = "r"
	}
	if write {
		access += "w"
	}
	return UsedGrant{kind, path, access}
}

// Written reports whether write access was used.
func (g UsedGrant) Written() bool { return strings.HasSuffix(g.Access, "w") }

// MaxLine bounds a line in bytes, its newline included. The bounds of the fields imply it.
const MaxLine = 64 << 10

// Bounds of the encoded fields in bytes.
const (
	maxWord       = 64 // constants of the host: kinds, outcomes, codes
	maxName       = 128
	maxClient     = 256
	maxTool       = 2 << 10 // a URI can be long
	maxTarget     = 1 << 10
	maxOperations = 24 << 10 // size of all grants and operations; the last one of each may exceed it
	maxGrants     = 12 << 10 // size of all grants; the last one may exceed it
	maxArguments  = 32 << 10
)

// line is an encoded record.
type line struct {
	b    []byte
	cuts []string // names of truncated fields
}

// encode encodes a record as one line of valid JSON.
func (l *line) encode(r *Record, arguments string) {
	l.b, l.cuts = append(l.b[:0], '{'), l.cuts[:0]
	l.time("time", r.Time)
	l.text("kind", string(r.Kind), maxWord)
	l.text("id", r.ID, maxWord)
	l.text("parent", r.Parent, maxWord)
	l.text("plugin", r.Plugin, maxName)
	l.text("version", r.Version, maxName)
	l.text("digest", r.Digest, maxName)
	l.text("client", r.Client, maxClient)
	l.text("principal", r.Principal, maxWord)
	l.text("table", r.Table, maxWord)
	l.text("address", r.Address, maxName)
	l.text("project", r.Project, maxName)
	l.text("request", string(r.Request), maxName)
	l.text("method", r.Method, maxName)
	l.text("config", r.Config, maxTarget)
	l.text("subject", r.Subject, maxWord)
	l.text("name", r.Name, maxName)
	l.text("tool", r.Tool, maxTool)
	l.text("via", r.Via, maxWord)
	l.text("task", r.Task, maxWord)
	l.text("outcome", string(r.Outcome), maxWord)
	l.text("code", r.Code, maxWord)
	l.text("reason", r.Reason, maxClient)
	l.number("duration_us", r.Duration.Microseconds())
	if r.Fuel > 0 {
		l.key("fuel")
		l.b = strconv.AppendUint(l.b, r.Fuel, 10)
	}
	l.number("bytes_in", r.BytesIn)
	l.number("bytes_out", r.BytesOut)
	l.number("shortened_from", r.ShortenedFrom)
	begin := len(l.b)
	l.grants(r.Grants)
	l.operations(r.Operations, r.LeftOut, maxOperations-(len(l.b)-begin))
	l.number("round", int64(r.Round))
	l.number("further", r.Further)
	l.text("arguments", arguments, maxArguments)
	if len(l.cuts) > 0 {
		l.key("cut")
		l.b = append(l.b, '[')
		for i, name := range l.cuts {
			if i > 0 {
				l.b = append(l.b, ',')
			}
			l.b = strconv.AppendQuote(l.b, name)
		}
		l.b = append(l.b, ']')
	}
	l.b = append(l.b, '}', '\n')
}

// grants come before operations, so that a module cannot push them out.
func (l *line) grants(all []UsedGrant) {
	leftOut := int64(0)
	if len(all) > 0 {
		l.key("grants")
		l.b = append(l.b, '[')
		begin := len(l.b)
		for _, g := range all {
			if len(l.b)-begin > maxGrants {
				leftOut++
				continue
			}
			l.item()
			l.text("kind", g.Kind, maxWord)
			l.text("path", g.Path, maxTarget)
			l.text("access", g.Access, maxWord)
			l.b = append(l.b, '}')
		}
		l.b = append(l.b, ']')
	}
	l.number("grants_left_out", leftOut)
}

// item begins an object of an array.
func (l *line) item() {
	if l.b[len(l.b)-1] == '}' {
		l.b = append(l.b, ',')
	}
	l.b = append(l.b, '{')
}

func (l *line) operations(all []Operation, leftOut int64, most int) {
	if len(all) > 0 {
		l.key("operations")
		l.b = append(l.b, '[')
		begin := len(l.b)
		for _, o := range all {
			o.Count = max(o.Count, 1)
			if len(l.b)-begin > most {
				leftOut += o.Count
				continue
			}
			l.operation(o)
		}
		l.b = append(l.b, ']')
	}
	l.number("operations_left_out", leftOut)
}

func (l *line) operation(o Operation) {
	l.item()
	l.text("op", o.Op, maxWord)
	l.text("target", o.Target, maxTarget)
	l.text("outcome", string(o.Outcome), maxWord)
	l.text("code", o.Code, maxWord)
	l.number("count", o.Count)
	l.b = append(l.b, '}')
}

// gap describes lost records.
type gap struct {
	records int64
	since   time.Time
	until   time.Time
	cause   error
}

// encodeGap encodes the line that replaces lost records.
func (l *line) encodeGap(g gap) {
	l.b, l.cuts = append(l.b[:0], '{'), l.cuts[:0]
	l.time("time", g.until)
	l.text("kind", string(KindGap), maxWord)
	l.number("lost", g.records)
	l.time("since", g.since)
	l.text("cause", g.cause.Error(), maxTarget)
	l.b = append(l.b, '}', '\n')
}

func (l *line) key(name string) {
	if l.b[len(l.b)-1] != '{' {
		l.b = append(l.b, ',')
	}
	l.b = append(l.b, '"')
	l.b = append(l.b, name...)
	l.b = append(l.b, '"', ':')
}

func (l *line) number(name string, n int64) {
	if n != 0 {
		l.key(name)
		l.b = strconv.AppendInt(l.b, n, 10)
	}
}

func (l *line) time(name string, t time.Time) {
	l.key(name)
	l.b = append(l.b, '"')
	l.b = t.UTC().AppendFormat(l.b, "2006-01-02T15:04:05.000000Z07:00")
	l.b = append(l.b, '"')
}

func (l *line) text(name, value string, limit int) {
	if value == "" {
		return
	}
	l.key(name)
	whole := false
	if l.b, whole = appendString(l.b, value, limit); whole {
		return
	}
	if !slices.Contains(l.cuts, name) {
		l.cuts = append(l.cuts, name)
	}
}
