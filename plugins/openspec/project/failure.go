package project

import (
	"bytes"
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
	var out bytes.Buffer
	out.WriteByte('{')
	if f.Empty != "" {
		value := "null"
		if f.EmptyList {
			value = "[]"
		}
		out.WriteString(`"` + f.Empty + `":` + value + ",")
	}
	if f.Root != nil || f.NullRoot {
		root, err := rawjson.Marshal(f.Root)
		if err != nil {
			return nil, err
		}
		out.WriteString(`"root":`)
		out.Write(root)
		out.WriteByte(',')
	}
	status, err := rawjson.Marshal([]FailureStatus{f.Status()})
	if err != nil {
		return nil, err
	}
	out.WriteString(`"status":`)
	out.Write(status)
	out.WriteByte('}')
	return out.Bytes(), nil
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

// noRoot returns the failure of a call that finds no project.
func noRoot() *Failure {
	return &Failure{
		Code:    codeNoRoot,
		Message: store.ErrNoRoot.Error(),
		Target:  "openspec.root",
		Fix:     "Call openspec_init to create a root here (openspec init).",
	}
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
		failure := noRoot()
		failure.Empty, failure.EmptyList, failure.NullRoot = empty, list, empty != ""
		return failure
	}
	return &Failure{Code: code, Message: err.Error(), Empty: empty, EmptyList: list}
}
