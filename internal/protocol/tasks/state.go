// Package tasks keeps the tasks of clients: calls that are answered at once with an identifier, under which their result is fetched later, by
// the extension io.modelcontextprotocol/tasks of MCP. A Store has the records of all tasks on disk, so that a result survives the process
// that has computed it, and a task that a process did not end is reported as failed. A Task is one that runs in this process.
//
// The package executes nothing and sends nothing: package gateway runs calls and encodes messages. Start with In,
// Store.Begin and Store.Fetch.
package tasks

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Status is the status of a task, as the extension names it.
type Status string

// The values of Status. A task with one of the last three does not change any more.
const (
	Working       Status = "working"
	InputRequired Status = "input_required"
	Completed     Status = "completed"
	Failed        Status = "failed"
	Cancelled     Status = "cancelled"
)

func (s Status) isFinal() bool { return s == Completed || s == Failed || s == Cancelled }

// NewID returns an identifier of 128 random bits, which cannot be guessed.
func NewID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // crypto/rand does not fail
	return hex.EncodeToString(id[:])
}

// isID reports whether a string has the form of what NewID returns, so that it is safe as the name of a file.
func isID(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

// Owner identifies to whom tasks belong. For all others they do not exist.
type Owner string

// OwnerOf returns the Owner for a principal. Principals of the same ID own different tasks in different scopes.
func OwnerOf(scope, principal string) Owner {
	sum := sha256.Sum256(fmt.Appendf(nil, "owner of tasks\x00%d\x00%s%s", len(scope), scope, principal))
	return Owner(hex.EncodeToString(sum[:16]))
}

// Question is something that a task asks its client, under a key that no other question of the task has.
type Question struct {
	Key string
	interaction.Request
}

// State is what the owner of a task sees of it.
type State struct {
	ID        string
	Status    Status
	Message   string // for people; may be empty
	Created   time.Time
	Updated   time.Time
	Expires   time.Time
	Questions []Question // of InputRequired: those without an answer
	Payload   []byte     // of Completed: the result of the call; of Failed: its JSON-RPC error; each a JSON object on one line
}

// pollInterval is how often clients are asked to fetch the state of a task.
const pollInterval = time.Second

const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// Handle encodes the members of the object that answers a call with its task, without the braces.
func (s State) Handle() []byte {
	out := fmt.Appendf(nil, `"taskId":"%s","status":"%s"`, s.ID, s.Status)
	if s.Message != "" {
		out = append(append(out, `,"statusMessage":`...), rawjson.Quote(s.Message)...)
	}
	return fmt.Appendf(out, `,"createdAt":"%s","lastUpdatedAt":"%s","ttlMs":%d,"pollIntervalMs":%d`,
		s.Created.UTC().Format(timeFormat), s.Updated.UTC().Format(timeFormat), max(1, s.Expires.Sub(s.Created).Milliseconds()), pollInterval.Milliseconds())
}

// Detail encodes the members of the object that has the complete state, without the braces.
func (s State) Detail() []byte {
	out := s.Handle()
	switch s.Status {
	case Completed:
		out = append(append(out, `,"result":`...), s.Payload...)
	case Failed:
		out = append(append(out, `,"error":`...), s.Payload...)
	case InputRequired:
		out = append(out, `,"inputRequests":{`...)
		for i, q := range s.Questions {
			if i > 0 {
				out = append(out, ',')
			}
			out = fmt.Appendf(out, `%s:{"method":"%s","params":%s}`, rawjson.Quote(q.Key), q.Method, q.Params)
		}
		out = append(out, '}')
	}
	return out
}
