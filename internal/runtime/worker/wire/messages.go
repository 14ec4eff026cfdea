package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const requestHead = 12

// Flags of a request.
const (
	flagRecorded = 1 << iota
	flagReadsOnly
)

// EncodeRequest returns the parts of the payload of TypeCall: the fields of r that the worker needs. Params and Members are not copied.
func EncodeRequest(r *call.Request) [][]byte {
	head := make([]byte, 0, requestHead+len(r.Method))
	flags := byte(0)
	if r.Recorded {
		flags |= flagRecorded
	}
	if r.ReadsOnly {
		flags |= flagReadsOnly
	}
	head = append(head, flags, byte(len(r.Method)))
	head = binary.LittleEndian.AppendUint16(head, uint16(r.Output))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(r.Members)))
	head = binary.LittleEndian.AppendUint32(head, uint32(min(r.Time.Milliseconds(), math.MaxUint32)))
	head = append(head, r.Method...)
	return [][]byte{head, r.Members, r.Params}
}

// DecodeRequest decodes what EncodeRequest returned.
func DecodeRequest(payload []byte) (call.Request, error) {
	if len(payload) < requestHead {
		return call.Request{}, Violation("a malformed call of %d bytes", len(payload))
	}
	method := requestHead + int(payload[1])
	params := int64(method) + int64(binary.LittleEndian.Uint32(payload[4:]))
	if int64(len(payload)) < params {
		return call.Request{}, Violation("a malformed call of %d bytes", len(payload))
	}
	return call.Request{
		Time:     time.Duration(binary.LittleEndian.Uint32(payload[8:])) * time.Millisecond,
		Recorded: payload[0]&flagRecorded != 0, ReadsOnly: payload[0]&flagReadsOnly != 0, Output: int(binary.LittleEndian.Uint16(payload[2:])),
		Method: string(payload[requestHead:method]), Members: payload[method:params], Params: payload[params:],
	}, nil
}

// Sizes of the parts of a result before its body, in bytes.
const (
	resultNumbers = 33
	resultHead    = resultNumbers + 8*len(call.Uses{})
)

// EncodeResult returns the parts of the payload of TypeResult; Body is not copied.
func EncodeResult(r call.Result) [][]byte {
	head := make([]byte, 0, resultHead)
	head = append(head, byte(r.Kind))
	head = binary.LittleEndian.AppendUint64(head, uint64(r.Fuel))
	head = binary.LittleEndian.AppendUint64(head, uint64(r.LeftOut))
	head = binary.LittleEndian.AppendUint64(head, uint64(r.StartFuel))
	head = binary.LittleEndian.AppendUint64(head, uint64(r.Memory))
	for _, bits := range r.Uses {
		head = binary.LittleEndian.AppendUint64(head, bits)
	}
	return [][]byte{head, r.Body}
}

// DecodeResult decodes what EncodeResult returned. Body is not validated.
func DecodeResult(payload []byte) (call.Result, error) {
	if len(payload) < resultHead || call.Kind(payload[0]) > call.Asks {
		return call.Result{}, Violation("a malformed result of %d bytes", len(payload))
	}
	number := func(at int) int64 { return max(0, int64(binary.LittleEndian.Uint64(payload[at:]))) }
	r := call.Result{
		Kind: call.Kind(payload[0]), Fuel: number(1), LeftOut: number(9), StartFuel: number(17), Memory: number(25), Body: payload[resultHead:],
	}
	for i := range r.Uses {
		r.Uses[i] = binary.LittleEndian.Uint64(payload[resultNumbers+8*i:])
	}
	return r, nil
}

// Bounds of TypeDerived, in bytes. The payload is a chunk of derived.Cache.Take.
const (
	MaxDerived     = 1<<20 + 1<<10 // maximum payload of a frame
	DerivedPerCall = 4 << 20       // maximum total of the payloads that are sent with the result of a call
)

// Failure is the serialized form of an engine.Error.
type Failure struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Detail  string   `json:"detail,omitempty"`
	Panic   string   `json:"panic,omitempty"`
	Printed []string `json:"printed,omitempty"`
}

// Operation is an operation that the host process performs for a call. The call waits for the Reply, so a call has at most one
// operation in flight.
type Operation struct {
	Op     string
	Params []byte
}

// Names of operations in addition to abi.OpNotify, abi.OpClaims and abi.OpHTTPFetch.
const (
	OpGitOpen   = "git/open"   // sends a request to a git server; Params: a GitRequest; the answer is a GitAnswer
	OpGitRead   = "git/read"   // returns the next bytes of the response's body; Params: the stream's number in decimal
	OpGitShut   = "git/shut"   // closes the response's body; Params: the stream's number in decimal
	OpGitUser   = "git/user"   // returns the user's git configuration, a git.UserConfig; no Params
	OpMemory    = "memory"     // asks for credit; Params and Result: bytes in decimal; the codes of its errors are CreditBusy and CreditRefused
	OpMemoryNow = "memory/now" // is OpMemory, but does not wait for memory
	OpCreate    = "create"     // creates a granted directory that does not exist; Params: the mount's index in decimal
)

// Codes of errors of OpMemory.
const (
	CreditBusy    = "busy"    // the call must end
	CreditRefused = "refused" // the call continues without the memory
)

// GitRequest is a request to a git server.
type GitRequest struct {
	Method string            `json:"method"`
	URL    string            `json:"url"`
	Header map[string]string `json:"header,omitempty"`
	Body   []byte            `json:"body,omitempty"`
}

// GitAnswer is the head of the server's response.
type GitAnswer struct {
	Stream      int    `json:"stream"`
	Status      int    `json:"status"`
	ContentType string `json:"contentType,omitempty"`
	Location    string `json:"location,omitempty"`
}

// Encode returns the parts of the payload.
func (o Operation) Encode() [][]byte { return [][]byte{{byte(len(o.Op))}, []byte(o.Op), o.Params} }

// DecodeOperation decodes what Encode returned.
func DecodeOperation(payload []byte) (Operation, error) {
	if len(payload) < 1 || len(payload) < 1+int(payload[0]) {
		return Operation{}, Violation("a malformed operation of %d bytes", len(payload))
	}
	end := 1 + int(payload[0])
	return Operation{Op: string(payload[1:end]), Params: payload[end:]}, nil
}

// Reply is the result of an Operation, or its error.
type Reply struct {
	Error  *abi.HostError
	Result []byte
}

// ReplyOf returns the reply with a result, or with an error unless that is nil.
func ReplyOf(result []byte, err error) Reply {
	if err == nil {
		return Reply{Result: result}
	}
	failure, ok := errors.AsType[*abi.HostError](err)
	if !ok {
		failure = &abi.HostError{Code: abi.HostFailed, Message: err.Error(), Reason: abi.ReasonOf(err)}
	}
	return Reply{Error: failure}
}

// Encode returns the parts of the payload.
func (r Reply) Encode() [][]byte {
	if r.Error == nil {
		return [][]byte{{0}, r.Result}
	}
	text, _ := json.Marshal(r.Error) // strings always encode
	return [][]byte{{1}, text}
}

// DecodeReply decodes what Encode returned.
func DecodeReply(payload []byte) (Reply, error) {
	switch {
	case len(payload) == 0:
		return Reply{}, Violation("an empty reply")
	case payload[0] == 0:
		return Reply{Result: payload[1:]}, nil
	}
	var r Reply
	if err := json.Unmarshal(payload[1:], &r.Error); err != nil || r.Error == nil {
		return Reply{}, Violation("malformed reply")
	}
	return r, nil
}

// Log is a line of the log.
type Log struct {
	Level int8     `json:"l"` // level of hclog
	Text  string   `json:"t"`
	Args  []string `json:"a,omitempty"` // alternating names and values
}

// Encode returns the payload.
func (l Log) Encode() []byte {
	text, _ := json.Marshal(l) // strings always encode
	return text
}

// DecodeLog decodes what Encode returned.
func DecodeLog(payload []byte) (Log, error) {
	var l Log
	if err := json.Unmarshal(payload, &l); err != nil {
		return Log{}, Violation("malformed log line")
	}
	return l, nil
}

// EncodeRecord returns the payload of TypeRecord.
func EncodeRecord(o audit.Operation) []byte {
	text, _ := json.Marshal(o) // strings always encode
	return text
}

// DecodeRecord decodes what EncodeRecord returned. An operation with an unknown outcome has failed. The strings are not bounded, except for
// the code of a denied operation: it is a label of metrics, so the worker has no choice.
func DecodeRecord(payload []byte) (audit.Operation, error) {
	var o audit.Operation
	if err := json.Unmarshal(payload, &o); err != nil {
		return audit.Operation{}, Violation("malformed record")
	}
	switch o.Outcome {
	case audit.OK, audit.Failed:
	case audit.Denied:
		o.Code = abi.HostDenied
	default:
		o.Outcome = audit.Failed
	}
	o.Count = max(1, o.Count)
	return o, nil
}
