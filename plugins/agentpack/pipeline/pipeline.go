// Package pipeline does what all tools but rollback begin with: read the config repo, find out about project
// and machine, render what is wanted, and find out what is managed. Run returns that as a Result, from
// which Plan and the other packages go on. It writes nothing but what the checkouts of modules need.
package pipeline

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/desired"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/managed"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/overlay"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/render"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/source"
)

// AllTargets is the argument that stands for every target of the manifest.
const AllTargets = "all"

// targets are what a caller can choose.
var targets = []string{AllTargets, manifest.Codex, manifest.ClaudeCode, manifest.Cursor, manifest.VSCode}

// Request is what a caller asks for.
type Request struct {
	Repo    string // "": the repo in agentpack's home
	Profile string
	Target  string // one, or AllTargets
	Machine string // "": this machine
}

// World is where the answers come from that are not in the config repo.
type World struct {
	Env       env.Env
	Git       project.Git
	Checkouts source.Checkouts
	// LastDeploy returns the files that the last deploy or rollback left, for where no manifest tells.
	LastDeploy func() ([]desired.Key, error)
}

// Result is what is known after the first part of a call.
type Result struct {
	World
	Repo     string // the config repo's folder
	Profile  string
	Target   string // one, or AllTargets
	Machine  string // the machine's id
	Project  project.Project
	Manifest *manifest.Manifest
	Lock     lockfile.Lock
	Layers   overlay.Layers
	Selected []manifest.Target // by name
	Targets  []string          // their names
	Composer *module.Composer
	State    *desired.State
	Folders  []managed.Folder // the state's roots with their manifests
	Managed  []desired.Key    // what an earlier deploy wrote, in order
	Warnings []string
}

// Run reads, renders and finds what is managed.
func Run(world World, request Request) (*Result, error) {
	result, err := load(world, request)
	if err != nil {
		return nil, err
	}
	if err := result.render(); err != nil {
		return nil, err
	}
	var warnings []string
	result.Folders, warnings = managed.Read(result.State.Roots)
	result.Warnings = append(result.Warnings, warnings...)
	result.Managed, err = managed.Paths(result.Folders, result.Targets, world.LastDeploy)
	return result, err
}

// load reads the manifest and finds out what the call is about.
func load(world World, request Request) (*Result, error) {
	result := &Result{World: world, Repo: world.Env.Repo(request.Repo), Profile: request.Profile, Target: request.Target}
	var err error
	if result.Manifest, err = manifest.Load(result.Repo); err != nil {
		return nil, err
	}
	result.Lock = lockfile.Load(result.Repo)
	result.Project, result.Warnings = project.Detect(world.Env, world.Git)
	result.Machine = project.Machine(world.Env, request.Machine)
	result.Layers = overlay.NewLayers(result.Repo, result.Machine, result.Project.ID)
	return result, result.choose()
}

// choose finds the targets that the caller means.
func (r *Result) choose() error {
	if !slices.Contains(targets, r.Target) {
		return fault.New(fault.TargetUnsupported, fault.Details{"target": r.Target, "allowed": targets},
			"there is no target %q; choose one of %s", r.Target, strings.Join(targets, ", "))
	}
	r.Selected = r.Manifest.Targets
	if r.Target != AllTargets {
		one, ok := r.Manifest.Target(r.Target)
		if !ok {
			return fault.New(fault.ConfigInvalid, fault.Details{
				"target": r.Target, "path": filepath.Join(r.Repo, manifest.File),
				"hint": "add the target to " + manifest.File + ", or choose one that is there",
			}, "the target %s is not in %s", r.Target, manifest.File)
		}
		r.Selected = []manifest.Target{one}
	}
	r.Targets = []string{}
	for _, target := range r.Selected {
		if target.Scope.Project() && filepath.Dir(r.Project.Root) == r.Project.Root {
			return fmt.Errorf("target %s writes into the project, and there is none: start the host in its folder or name it with --project, and grant it to the plugin", target.Name)
		}
		r.Targets = append(r.Targets, target.Name)
	}
	return nil
}

// render makes the state that is wanted.
func (r *Result) render() error {
	modules, err := r.Manifest.Select(r.Profile)
	if err != nil {
		return err
	}
	r.Composer = &module.Composer{
		Sources: source.Sources{Repo: r.Repo, Lock: r.Lock, Checkouts: r.Checkouts},
		Layers:  r.Layers,
	}
	var warnings []string
	r.State, warnings, err = render.Render(render.Input{
		Env: r.Env, Project: r.Project.Root, Targets: r.Selected, Modules: modules, Composer: r.Composer,
	})
	r.Warnings = append(r.Warnings, warnings...)
	return err
}

// Plan compares what is wanted with the disk.
func (r *Result) Plan() (plan.Plan, error) { return plan.Compute(r.State, r.Managed) }
