// Package fault holds the refusals that agentpack promises its callers: a stable code, and details that a
// program can act on. Make one with New; IO makes one of a failure of the file system. What is no Fault
// reaches a caller as Unexpected.
package fault

import (
	"errors"
	"fmt"
	"maps"
)

// Code is one of agentpack's error codes.
type Code string

// The codes that these tools answer with.
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

// Details says more about a fault, by names that are part of the contract.
type Details map[string]any

// Fault is a refusal. Details is nil where there are none.
type Fault struct {
	Code    Code
	Message string
	Details Details
	cause   error
}

// guidance is what every fault of a code says unless its own details say otherwise.
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

// New returns a fault whose details are given and, where they do not have them, the code's own reason_code
// and next_actions. The message is formatted as by fmt.Errorf.
func New(code Code, details Details, format string, arguments ...any) *Fault {
	wrapped := fmt.Errorf(format, arguments...)
	fault := &Fault{Code: code, Message: wrapped.Error(), cause: errors.Unwrap(wrapped)}
	own, ok := guidance[code]
	if !ok && details == nil {
		return fault
	}
	fault.Details = Details{}
	if ok {
		fault.Details["reason_code"] = own.reason
		fault.Details["next_actions"] = own.actions
	}
	maps.Copy(fault.Details, details)
	return fault
}

// Error implements error.
func (f *Fault) Error() string { return f.Message }

// Unwrap gives what the message was made of.
func (f *Fault) Unwrap() error { return f.cause }

// Of returns the fault that an error is or holds; any other error becomes one that is Unexpected.
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
