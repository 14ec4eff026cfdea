package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/imports"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// HostError is the reason why the host did not perform an operation. Its Code is a constant of package abi, such as
// abi.HostDenied.
type HostError = abi.HostError

// ErrorCode returns the code of the *HostError that err wraps; "" if err wraps none.
func ErrorCode(err error) string {
	var refused *HostError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

// HostCall performs a host operation and decodes its result into result, which may be nil. If the host refuses, the error wraps a *HostError.
// The sub-packages of sdk have typed functions for the existing operations.
func HostCall(op string, params, result any) error {
	raw, err := rawjson.Marshal(params)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	request, err := rawjson.Marshal(abi.HostRequest{Op: op, Params: raw})
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	var response abi.HostResponse
	if err := json.Unmarshal(imports.HostCall(request), &response); err != nil {
		return fmt.Errorf("%s: the host's response: %w", op, err)
	}
	if refused := response.Error; refused != nil {
		if strings.HasPrefix(refused.Message, op+":") { // most messages of the host begin so
			return refused
		}
		return fmt.Errorf("%s: %w", op, refused)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(response.Result, result); err != nil {
		return fmt.Errorf("%s: the host's response: %w", op, err)
	}
	return nil
}

// Level is the severity of a log line.
type Level int32

// Values of Level.
const (
	LevelTrace = Level(abi.LevelTrace)
	LevelDebug = Level(abi.LevelDebug)
	LevelInfo  = Level(abi.LevelInfo)
	LevelWarn  = Level(abi.LevelWarn)
	LevelError = Level(abi.LevelError)
)

// Log writes a line to the host's log, which the operator of the host reads. The line is formatted as fmt.Sprintf does. To write to the
// client's log, use Message.
func Log(level Level, format string, arguments ...any) {
	imports.Log(int32(level), fmt.Sprintf(format, arguments...))
}
