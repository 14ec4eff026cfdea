// Package tools registers agentpack's operations as MCP tools. It decodes the arguments of a call, reads the
// environment, and encodes each result in an envelope. Register adds all eleven tools to a plugin.
package tools

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// approval says in which calls a tool requires the argument yes = true.
type approval int

const (
	never        approval = iota
	always                // in every call
	unlessDryRun          // in all calls except dry runs, because a dry run changes nothing
)

// tool describes one tool by its arguments and its implementation.
type tool struct {
	name     string
	takes    []string
	needs    []string // the names of the required arguments, a subset of takes
	approval approval
	command  func(a arguments) commandName
	run      func(c *call) (data any, err error)
}

// call is one call of a tool, and holds the warnings that the call has collected.
type call struct {
	arguments
	command   commandName
	now       func() time.Time
	services  plan.Services
	checkouts *module.Checkouts
	warnings  []string
	notes     []string // warnings about changed files, which are returned even if the call fails
	recovered bool     // set after the method recover has succeeded
	// createsPrivate is set if the host creates the files of this call with privateMode.
	createsPrivate bool
}

var common = []string{"repo", "profile", "target", "machine"}

func withCommon(more ...string) []string { return slices.Concat(common, more) }

// Register adds all tools to the plugin p. The function "now" returns the current time.
func Register(p *sdk.Plugin, now func() time.Time) {
	for _, tool := range all() {
		sdk.HandleTool(p, tool.name, func(_ context.Context, raw json.RawMessage) (*sdk.ToolResult, error) {
			return tool.answer(raw, now)
		})
	}
}

func all() []tool {
	return []tool{
		{name: "plan", takes: withCommon("dry_run"), command: fixedCommand("plan"), run: showPlan},
		{name: "diff", takes: withCommon("dry_run"), command: fixedCommand("diff"), run: showPlan},
		{name: "preview", takes: withCommon("diff", "dry_run"), command: fixedCommand("preview"), run: showPreview},
		{name: "status", takes: withCommon("only", "dry_run"), command: fixedCommand("status"), run: showStatus},
		{name: "doctor", takes: []string{"repo", "target"}, command: fixedCommand("doctor"), run: examine},
		{name: "deploy", takes: withCommon("dry_run"), command: fixedCommand("deploy"), run: deployPlan},
		{
			name: "deploy_apply", takes: withCommon("adopt", "dry_run", "confirm_token", "yes"), approval: always,
			command: func(arguments) commandName {
				return commandName{Name: "deploy", ID: "deploy --apply", Path: []string{"deploy", "--apply"}}
			},
			run: deployApply,
		},
		{
			name: "rollback", takes: []string{"repo", "to", "yes"}, needs: []string{"to"}, approval: always,
			command: fixedCommand("rollback"), run: rollback,
		},
		{
			name: "evolve_propose", takes: withCommon("module_id", "scope", "branch", "dry_run", "yes"), approval: unlessDryRun,
			command: fixedCommand("evolve", "propose"), run: evolvePropose,
		},
		{
			name: "evolve_restore", takes: withCommon("module_id", "dry_run", "yes"), approval: unlessDryRun,
			command: fixedCommand("evolve", "restore"), run: evolveRestore,
		},
		{name: "explain", takes: withCommon("kind"), needs: []string{"kind"}, command: explainCommand, run: explainKind},
	}
}

// fixedCommand returns a function that returns the command with the given path, whatever the arguments are.
func fixedCommand(path ...string) func(arguments) commandName {
	return func(arguments) commandName { return commandOf(path) }
}

func commandOf(path []string) commandName {
	command := commandName{Name: path[0], ID: path[0], Path: path}
	for _, word := range path[1:] {
		command.Name += "." + word
		command.ID += " " + word
	}
	return command
}

// answer executes a call and returns its result. It returns every error of the call in an envelope.
func (t tool) answer(raw json.RawMessage, now func() time.Time) (*sdk.ToolResult, error) {
	parsed, invalid := t.read(raw)
	c := &call{arguments: parsed, command: t.command(parsed), now: now}
	data, err := t.attempt(c, invalid)
	if err != nil {
		text, err := failureEnvelope(c.command, err, c.notes)
		return result(text, true), err
	}
	text, err := successEnvelope(c.command, data, append(c.notes, c.warnings...))
	return result(text, false), err
}

// attempt executes a call. It reports a missing approval before any other error.
func (t tool) attempt(c *call, invalid error) (any, error) {
	if !c.yes && (t.approval == always || t.approval == unlessDryRun && !c.dryRun) {
		return nil, fault.New(fault.ConfirmRequired, fault.Details{"command": c.command.ID},
			"%s may change files: it needs yes = true", c.command.ID)
	}
	if invalid != nil {
		return nil, invalid
	}
	at, err := readEnvironment(c.now())
	if err != nil {
		return nil, err
	}
	c.services, c.checkouts = newServices(at)
	return t.run(c)
}

func result(text json.RawMessage, failed bool) *sdk.ToolResult {
	return &sdk.ToolResult{
		Content:           []sdk.Content{sdk.TextContent{Text: string(text)}},
		StructuredContent: text,
		IsError:           failed,
	}
}
