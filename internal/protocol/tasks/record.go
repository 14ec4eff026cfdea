package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// record is the file of a task: a line with a JSON object, and a line with the payload if the task has ended with one.
type record struct {
	Version int    `json:"version"`
	Status  Status `json:"status"`
	Message string `json:"message,omitempty"`
	Created int64  `json:"created"` // Unix milliseconds, like the other times
	Updated int64  `json:"updated"`
	Expires int64  `json:"expires"`
	Server  string `json:"server"` // the process that runs the task
	Writes  bool   `json:"writes"` // whether the call may write something
	Size    int    `json:"size"`   // bytes of the payload

	payload []byte
}

const (
	recordVersion = 1
	maxHead       = 4 << 10   // bytes of the first line
	maxMessage    = 512       // bytes of Message
	maxPayload    = 16 << 20  // bytes
	maxAge        = 366 * day // between two times of a record
	day           = 24 * time.Hour
)

// encode returns the content of the file.
func (r record) encode() []byte {
	r.Version, r.Size = recordVersion, len(r.payload)
	head, _ := json.Marshal(r) // strings and numbers always encode
	out := append(head, '\n')
	if r.payload != nil {
		out = append(append(out, r.payload...), '\n')
	}
	return out
}

var errRecord = errors.New("it is not a record of a task")

// decodeRecord decodes a file. It refuses what encode does not write, since others may have changed the file.
func decodeRecord(data []byte) (record, error) {
	head, rest, found := bytes.Cut(data, []byte("\n"))
	if !found {
		return record{}, errRecord
	}
	r, err := decodeHead(head)
	if err != nil {
		return record{}, err
	}
	if !r.hasPayload() {
		if len(rest) > 0 {
			return record{}, errRecord
		}
		return r, nil
	}
	if len(rest) != r.Size+1 || rest[r.Size] != '\n' {
		return record{}, errRecord
	}
	r.payload = rest[:r.Size]
	if bytes.ContainsAny(r.payload, "\r\n") || call.Normalize(r.payload) != "" {
		return record{}, errRecord
	}
	return r, nil
}

// decodeHead decodes the first line of a file, without the line break.
func decodeHead(line []byte) (record, error) {
	var r record
	if len(line) > maxHead {
		return r, errRecord
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil || decoder.More() {
		return record{}, errRecord
	}
	switch {
	case r.Version > recordVersion:
		return record{}, errors.New("a newer version of bulkhead has written it")
	case r.Version != recordVersion, !isID(r.Server), len(r.Message) > maxMessage, r.Size < 0, r.Size > maxPayload, r.Size > 0 && !r.hasPayload():
		return record{}, errRecord
	case r.Status != Working && !r.Status.isFinal():
		return record{}, errRecord
	case r.Created < 0, r.Updated < r.Created, r.Expires < r.Created, r.Expires-r.Created > maxAge.Milliseconds():
		return record{}, errRecord
	}
	return r, nil
}

func (r record) hasPayload() bool { return r.Status == Completed || r.Status == Failed }

func (r record) state(id string) State {
	return State{
		ID: id, Status: r.Status, Message: r.Message, Payload: r.payload,
		Created: time.UnixMilli(r.Created), Updated: time.UnixMilli(r.Updated), Expires: time.UnixMilli(r.Expires),
	}
}

// interrupted returns the record of a task whose process did not end it.
func (r record) interrupted(now time.Time, keep time.Duration) record {
	r.Status, r.Message = Failed, "The server ended while the task ran. "+wrote(r.Writes)
	r.Updated, r.Expires = max(r.Created, now.UnixMilli()), max(r.Created, now.UnixMilli())+keep.Milliseconds()
	r.payload = failure("interrupted", r.Message, r.Writes)
	return r
}

// wrote tells what a task that did not end may have done.
func wrote(may bool) string {
	if may {
		return "It may have written something: check that before you repeat the call."
	}
	return "It cannot have written anything but the plugin's own state: the call can be repeated."
}

const codeInternal = -32603

// failure encodes a JSON-RPC error.
func failure(code, message string, writes bool) []byte {
	return fmt.Appendf(nil, `{"code":%d,"message":%s,"data":{"bulkhead/error":{"code":"%s","may_have_written":%t}}}`, codeInternal, rawjson.Quote(message), code, writes)
}
