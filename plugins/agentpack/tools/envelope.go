package tools

import (
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// agentpackVersion is the version of agentpack with which this plugin is compatible.
const agentpackVersion = "0.9.1"

// commandName names the command of agentpack's command line that corresponds to a tool.
type commandName struct {
	Name string   // for example "evolve.propose"
	ID   string   // for example "evolve propose"
	Path []string // for example "evolve", "propose"
}

// envelope is the JSON object that every tool returns. The fields are in the order of the output.
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

// successEnvelope returns the envelope of a call that succeeded with the result data.
func successEnvelope(command commandName, data any, warnings []string) (json.RawMessage, error) {
	answer := newEnvelope(command)
	answer.OK, answer.Data = true, data
	answer.Warnings = append(answer.Warnings, warnings...)
	return rawjson.Marshal(answer)
}

// failureEnvelope returns the envelope of a call that failed with err. The argument notes holds warnings that apply
// although the call failed.
func failureEnvelope(command commandName, err error, notes []string) (json.RawMessage, error) {
	answer := newEnvelope(command)
	answer.Warnings = append(answer.Warnings, notes...)
	wrong := fault.Of(err)
	answer.Errors = append(answer.Errors, errorItem{wrong.Code, wrong.Message, wrong.Details})
	return rawjson.Marshal(answer)
}
