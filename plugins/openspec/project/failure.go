package project

import (
	"errors"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
)

// The codes of failures. Packages that use this one have codes of their own.
const (
	// CodeInvalid is the code for an invalid name.
	CodeInvalid = "invalid_item"
	// CodeChange is the code for a failure that concerns a change.
	CodeChange = "change_error"

	codeNoRoot    = "no_openspec_root"
	codeUnknown   = "unknown_item"
	codeAmbiguous = "ambiguous_item"
)

// Failure is the reason why a request failed. Its JSON form is the status object of the openspec CLI.
type Failure struct {
	Code    string
	Message string
	Fix     string // the remedy; may be empty
	Target  string // the object that the failure is about; may be empty
	// Empty is the key of the result that the failure replaces, such as "changes". It is "" if the openspec CLI omits
	// the key.
	Empty string
	// EmptyList makes the value of the key Empty an empty list instead of null.
	EmptyList bool
	// Root is encoded after the key Empty if the root is known. If Root is nil, NullRoot makes the value null instead
	// of omitting it.
	Root     *RootInfo
	NullRoot bool
}

func (f *Failure) Error() string { return f.Message }

// MarshalJSON returns the status object of the openspec CLI.
func (f *Failure) MarshalJSON() ([]byte, error) {
	var out Members
	switch {
	case f.Empty != "" && f.EmptyList:
		out.Add(f.Empty, []any{})
	case f.Empty != "":
		out.Add(f.Empty, nil)
	}
	if f.Root != nil || f.NullRoot {
		out.Add("root", f.Root)
	}
	out.Add("status", []FailureStatus{f.Status()})
	return out.MarshalJSON()
}

// Members is a JSON object whose encoding has the members in the order in which Add appended them.
type Members []member

type member struct {
	key   string
	value any
}

// Add appends a member to the object.
func (m *Members) Add(key string, value any) { *m = append(*m, member{key, value}) }

// MarshalJSON implements json.Marshaler.
func (m Members) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, one := range m {
		if i > 0 {
			out = append(out, ',')
		}
		raw, err := rawjson.Marshal(one.value)
		if err != nil {
			return nil, err
		}
		out = append(append(rawjson.AppendQuote(out, one.key), ':'), raw...)
	}
	return append(out, '}'), nil
}

// FailureStatus is a failure as an element of a list in a result.
type FailureStatus struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Target   string `json:"target,omitempty"`
	Fix      string `json:"fix,omitempty"`
}

// Status returns the failure as an element of a list.
func (f *Failure) Status() FailureStatus {
	return FailureStatus{"error", f.Code, f.Message, f.Target, f.Fix}
}

// AsFailure returns err if err is a *Failure. Otherwise it returns a new failure with the text of err and the given
// code and key.
func AsFailure(err error, code, empty string, list bool) *Failure {
	if failure := (*Failure)(nil); errors.As(err, &failure) {
		failure.Empty, failure.EmptyList = empty, list
		return failure
	}
	if invalid := (*store.InvalidName)(nil); errors.As(err, &invalid) {
		code = CodeInvalid
	}
	if errors.Is(err, store.ErrNoRoot) {
		return &Failure{
			Code:      codeNoRoot,
			Message:   store.ErrNoRoot.Error(),
			Target:    "openspec.root",
			Fix:       "Call openspec_init to create a root here (openspec init).",
			Empty:     empty,
			EmptyList: list,
			NullRoot:  empty != "",
		}
	}
	return &Failure{Code: code, Message: err.Error(), Empty: empty, EmptyList: list}
}

// Convert replaces *err by the result of AsFailure, unless *err is nil. Callers defer it.
func Convert(err *error, code, empty string, list bool) {
	if *err != nil {
		*err = AsFailure(*err, code, empty, list)
	}
}
