package project

import (
	"bytes"
	"errors"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
)

// The codes of failures.
const (
	codeNoRoot      = "no_openspec_root"
	codeUnknown     = "unknown_item"
	codeAmbiguous   = "ambiguous_item"
	codeInvalid     = "invalid_item"
	codeShow        = "show_error"
	codeChange      = "change_error"
	codeList        = "list_error"
	codeValidate    = "validate_error"
	codeInit        = "init_error"
	codeArchive     = "archive_error"
	codeOutside     = "archive_path_outside_root"
	codeNameInvalid = "archive_change_name_invalid"
	codeNameMissing = "archive_change_name_required"
	codeNotFound    = "archive_change_not_found"
	codeSymlink     = "archive_change_symlink"
	codeNamespace   = "archive_change_is_namespace_folder"
	codeConfirm     = "archive_confirmation_required"
	codeTasks       = "archive_tasks_incomplete"
	codeExists      = "archive_target_exists"
	codeSpecUpdate  = "archive_spec_update_failed"
	codeSpecInvalid = "archive_spec_validation_failed"
	codeValidation  = "archive_validation_failed"
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
	status, err := rawjson.Marshal([]FailureStatus{f.status()})
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

func (f *Failure) status() FailureStatus {
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

// asFailure returns err if err is a *Failure. Otherwise it returns a new failure with the text of err and the given
// code and key.
func asFailure(err error, code, empty string, list bool) *Failure {
	if failure := (*Failure)(nil); errors.As(err, &failure) {
		failure.Empty, failure.EmptyList = empty, list
		return failure
	}
	if invalid := (*store.InvalidName)(nil); errors.As(err, &invalid) {
		code = codeInvalid
	}
	if errors.Is(err, store.ErrNoRoot) {
		failure := noRoot()
		failure.Empty, failure.EmptyList, failure.NullRoot = empty, list, empty != ""
		return failure
	}
	return &Failure{Code: code, Message: err.Error(), Empty: empty, EmptyList: list}
}
