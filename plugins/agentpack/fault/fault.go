// Package fault defines the errors that agentpack's contract prescribes. Each error has a stable code and
// machine-readable details. New creates a Fault, IO converts a file system error to a Fault, and Of converts any error.
package fault

import (
	"errors"
	"fmt"
	"maps"
)

// Code is one of the error codes of agentpack.
type Code string

// The error codes that the tools return.
const (
	ConfirmRequired          Code = "E_CONFIRM_REQUIRED"
	ConfirmTokenRequired     Code = "E_CONFIRM_TOKEN_REQUIRED"
	ConfirmTokenExpired      Code = "E_CONFIRM_TOKEN_EXPIRED"
	ConfirmTokenMismatch     Code = "E_CONFIRM_TOKEN_MISMATCH"
	AdoptConfirmRequired     Code = "E_ADOPT_CONFIRM_REQUIRED"
	ConfigMissing            Code = "E_CONFIG_MISSING"
	ConfigInvalid            Code = "E_CONFIG_INVALID"
	ConfigUnsupportedVersion Code = "E_CONFIG_UNSUPPORTED_VERSION"
	TargetUnsupported        Code = "E_TARGET_UNSUPPORTED"
	DesiredStateConflict     Code = "E_DESIRED_STATE_CONFLICT"
	OverlayPatchApplyFailed  Code = "E_OVERLAY_PATCH_APPLY_FAILED"
	GitRepoRequired          Code = "E_GIT_REPO_REQUIRED"
	GitWorktreeDirty         Code = "E_GIT_WORKTREE_DIRTY"
	IOPermissionDenied       Code = "E_IO_PERMISSION_DENIED"
	IOInvalidPath            Code = "E_IO_INVALID_PATH"
	IOPathTooLong            Code = "E_IO_PATH_TOO_LONG"
	Unexpected               Code = "E_UNEXPECTED"
)

// Details are the additional fields of a fault. The contract prescribes their names.
type Details map[string]any

// Fault is an error with a code. Its Details may be nil.
type Fault struct {
	Code    Code
	Message string
	Details Details
	cause   error
}

// guidance holds the default values of reason_code and next_actions for each code.
var guidance = map[Code]struct {
	reason  string
	actions []string
}{
	ConfirmRequired:          {"confirm_required", []string{"retry_with_yes"}},
	ConfirmTokenRequired:     {"confirm_token_required", []string{"call_deploy", "retry_deploy_apply"}},
	ConfirmTokenExpired:      {"confirm_token_expired", []string{"call_deploy", "retry_deploy_apply"}},
	ConfirmTokenMismatch:     {"confirm_token_mismatch", []string{"call_deploy", "retry_deploy_apply"}},
	AdoptConfirmRequired:     {"adopt_confirm_required", []string{"retry_with_adopt"}},
	ConfigMissing:            {"config_missing", []string{"run_init", "retry_with_repo", "retry_command"}},
	ConfigInvalid:            {"config_invalid", []string{"fix_config", "retry_command"}},
	ConfigUnsupportedVersion: {"config_unsupported_version", []string{"upgrade_agentpack", "fix_config_version", "retry_command"}},
	TargetUnsupported:        {"target_filter_unsupported", []string{"inspect_help_json", "retry_with_supported_target"}},
	DesiredStateConflict:     {"desired_state_conflict", []string{"resolve_desired_state_conflict", "retry_command"}},
	OverlayPatchApplyFailed:  {"overlay_patch_apply_failed", []string{"regenerate_patch", "switch_to_dir_overlay", "retry_command"}},
	GitRepoRequired:          {"git_repo_required", []string{"init_git_repo", "retry_command"}},
	GitWorktreeDirty:         {"git_worktree_dirty", []string{"commit_or_stash", "retry_command"}},
	IOPermissionDenied:       {"io_permission_denied", []string{"fix_permissions", "retry_command"}},
	IOInvalidPath:            {"io_invalid_path", []string{"fix_path", "retry_command"}},
	IOPathTooLong:            {"io_path_too_long", []string{"shorten_path", "enable_long_paths", "retry_command"}},
}

// New returns a fault with details. If details lack reason_code or next_actions, New adds the default value for the
// code. fmt.Errorf formats the message.
func New(code Code, details Details, format string, arguments ...any) *Fault {
	wrapped := fmt.Errorf(format, arguments...)
	fault := &Fault{Code: code, Message: wrapped.Error(), cause: errors.Unwrap(wrapped)}
	defaults, ok := guidance[code]
	if !ok && details == nil {
		return fault
	}
	fault.Details = Details{}
	if ok {
		fault.Details["reason_code"] = defaults.reason
		fault.Details["next_actions"] = defaults.actions
	}
	maps.Copy(fault.Details, details)
	return fault
}

// Error implements error.
func (f *Fault) Error() string { return f.Message }

// Unwrap returns the wrapped error.
func (f *Fault) Unwrap() error { return f.cause }

// Of returns the Fault in the chain of err. If the chain has no Fault, Of wraps err in a Fault with the code
// Unexpected.
func Of(err error) *Fault {
	var fault *Fault
	if errors.As(err, &fault) {
		if err == error(fault) {
			return fault
		}
		return &Fault{Code: fault.Code, Message: err.Error(), Details: fault.Details, cause: err}
	}
	return &Fault{Code: Unexpected, Message: err.Error(), cause: err}
}
