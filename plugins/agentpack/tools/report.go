package tools

import (
	"os"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/report"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// planned is the payload of the tool plan.
type planned struct {
	Profile string   `json:"profile"`
	Targets []string `json:"targets"`
	plan.Plan
}

// previewed is the payload of the tool preview.
type previewed struct {
	Profile string        `json:"profile"`
	Targets []string      `json:"targets"`
	Plan    plan.Plan     `json:"plan"`
	Diff    *plan.Preview `json:"diff,omitempty"`
}

// prepare calls plan.Prepare, and adds the warnings of plan.Prepare to the call.
func (c *call) prepare() (*plan.Prepared, error) {
	c.pending()
	result, err := plan.Prepare(c.services, plan.Request{Repo: c.repo, Profile: c.profile, Target: c.target, Machine: c.machine})
	if err != nil {
		return nil, err
	}
	c.warnings = append(append(c.warnings, result.Warnings...), c.checkouts.Warnings()...)
	return result, nil
}

// plan prepares the call and returns the current plan.
func (c *call) plan() (*plan.Prepared, planned, error) {
	result, err := c.prepare()
	if err != nil {
		return nil, planned{}, err
	}
	changes, err := result.Plan()
	return result, planned{result.Profile, result.Targets, changes}, err
}

// prefix returns the beginning of each recommended command.
func (c *call) prefix() string { return report.CommandPrefix(c.repo, c.profile, c.target, c.machine) }

func showPlan(c *call) (any, error) {
	_, payload, err := c.plan()
	return payload, err
}

func showPreview(c *call) (any, error) {
	result, computed, err := c.plan()
	if err != nil {
		return nil, err
	}
	payload := previewed{Profile: computed.Profile, Targets: computed.Targets, Plan: computed.Plan}
	if c.diff {
		diff, warnings, err := plan.NewPreview(result.State, computed.Plan)
		if err != nil {
			return nil, err
		}
		payload.Diff = &diff
		c.warnings = append(c.warnings, warnings...)
	}
	return payload, nil
}

func showStatus(c *call) (any, error) {
	result, err := c.prepare()
	if err != nil {
		return nil, err
	}
	drift, err := report.ScanDrift(result.State, result.ManagedDirs, result.Sums, true)
	if err != nil {
		return nil, err
	}
	assets, actions := report.OperatorCheck{
		Env: c.services.Env, Project: result.Project.Root, Version: agentpackVersion, Repo: c.repo, Machine: c.machine,
	}.Run(result.Selected)
	c.warnings = append(append(c.warnings, assets...), drift.Warnings...)
	return drift.Report(result.Profile, result.Targets, c.only, c.prefix(), actions), nil
}

func examine(c *call) (any, error) {
	// Doctor succeeds even if the recovery fails. The recovery fails, for example, if the plugin has only read access.
	if err := c.recover(); err != nil {
		c.warnings = append(c.warnings, err.Error())
	}
	result, err := c.prepare()
	if err != nil {
		return nil, err
	}
	payload, warnings, err := report.Diagnose(result, repositories{}, writable, c.prefix())
	c.warnings = append(c.warnings, warnings...)
	return payload, err
}

// writable reports whether a directory can be written. WASI has no file permissions, so writable calls Chtimes with
// zero times. Such a call changes nothing, and the host refuses it in directories that are granted only for reading.
func writable(dir string) bool {
	if os.Chtimes(dir, time.Time{}, time.Time{}) != nil {
		return false
	}
	var mode abi.FileModeResult
	if err := sdk.HostCall(abi.OpFSMode, abi.FileMode{Path: dir}, &mode); err == nil {
		return mode.Mode&0o200 != 0
	}
	info, err := os.Stat(dir)
	return err == nil && info.Mode().Perm()&0o200 != 0
}

func explainCommand(a arguments) commandName {
	if a.kind == "" {
		return commandOf([]string{"explain"})
	}
	command := commandOf([]string{"explain", a.kind})
	if a.kind == "diff" {
		command.Name = "explain.plan"
	}
	return command
}

func explainKind(c *call) (any, error) {
	if c.kind == "status" {
		result, err := c.prepare()
		if err != nil {
			return nil, err
		}
		drift, warnings, err := report.ExplainStatus(result)
		c.warnings = append(c.warnings, warnings...)
		return drift, err
	}
	result, computed, err := c.plan()
	if err != nil {
		return nil, err
	}
	return report.ExplainPlan(result, computed.Plan), nil
}
