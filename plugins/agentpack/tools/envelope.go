// Package envelope is the form of every answer of agentpack's: what was asked, whether it worked, and the
// data or the error.
package tools

import (
	"bytes"
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// Version is the version of agentpack whose behaviour this is.
const agentpackVersion = "0.9.1"

// Command is what was asked for, in the words of agentpack's command line.
type commandName struct {
	Name string   // "evolve.propose"
	ID   string   // "evolve propose"
	Path []string // "evolve", "propose"
}

// envelope in the order in which it is written.
type envelope struct {
	SchemaVersion int         `json:"schema_version"`
	OK            bool        `json:"ok"`
	Command       string      `json:"command"`
	CommandID     string      `json:"command_id"`
	CommandPath   []string    `json:"command_path"`
	Version       string      `json:"version"`
	Data          any         `json:"data"`
	Warnings      []string    `json:"warnings"`
	Errors        []errorItem `json:"errors"`
}

type errorItem struct {
	Code    fault.Code    `json:"code"`
	Message string        `json:"message"`
	Details fault.Details `json:"details,omitempty"`
}

func newEnvelope(command commandName) envelope {
	return envelope{
		SchemaVersion: 1, Command: command.Name, CommandID: command.ID, CommandPath: command.Path, Version: agentpackVersion,
		Data: struct{}{}, Warnings: []string{}, Errors: []errorItem{},
	}
}

// Success is the answer that has data, and warnings if there are any.
func successEnvelope(command commandName, data any, warnings []string) (json.RawMessage, error) {
	answer := newEnvelope(command)
	answer.OK, answer.Data = true, data
	answer.Warnings = append(answer.Warnings, warnings...)
	return encodeEnvelope(answer)
}

// Failure is the answer that has an error and, beside it, only what has to be known whatever happened.
func failureEnvelope(command commandName, err error, notes []string) (json.RawMessage, error) {
	answer := newEnvelope(command)
	answer.Warnings = append(answer.Warnings, notes...)
	wrong := fault.Of(err)
	answer.Errors = append(answer.Errors, errorItem{wrong.Code, wrong.Message, wrong.Details})
	return encodeEnvelope(answer)
}

func encodeEnvelope(answer envelope) (json.RawMessage, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}
