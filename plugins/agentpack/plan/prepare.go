package plan

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/render"
)

// AllTargets is the value of the argument target that selects every target of the manifest.
const AllTargets = "all"

// selectableTargets are the allowed values of the argument target.
var selectableTargets = []string{AllTargets, config.Codex, config.ClaudeCode, config.Cursor, config.VSCode, config.JetBrains, config.Zed}

// Request holds the arguments of a call that select what is prepared.
type Request struct {
	Repo    string // "" for the config repo in agentpack's data directory
	Profile string
	Target  string // the name of a target, or AllTargets
	Machine string // the id of a machine; "" for this machine
}

// Services holds the environment of a call, and functions that access data outside of the config repo.
type Services struct {
	Env       env.Env
	Git       env.Git
	Checkouts module.CheckoutProvider
	// LastDeploy returns the managed files of the last deploy or rollback. Prepare calls it if no manifest lists any
	// file.
	LastDeploy func() ([]output.Key, error)
}

// Prepared is the result of Prepare.
type Prepared struct {
	Services
	Repo        string // the directory of the config repo
	Profile     string
	Target      string // the name of a target, or AllTargets
	Machine     string // the id of the machine
	Project     env.Project
	Manifest    *config.Manifest
	Lock        config.Lock
	Layers      module.Layers
	Selected    []config.Target // the selected targets, sorted by name
	Targets     []string        // the names of the selected targets
	Composer    *module.Composer
	State       *output.State
	ManagedDirs []output.ManagedDir // the roots of the state together with their manifests
	ManagedKeys []output.Key        // the files that earlier deploys wrote, sorted
	Sums        *disk.Sums          // scans of the roots
	Warnings    []string
	managedErr  error // the error of the function that computes ManagedKeys; nil if it succeeded
}

// Prepare reads the config repo, renders the desired state, and reads the manifests of the roots.
func Prepare(world Services, request Request) (*Prepared, error) {
	result, err := load(world, request)
	if err != nil {
		return nil, err
	}
	if err := result.render(); err != nil {
		return nil, err
	}
	var warnings []string
	result.ManagedDirs, warnings = output.ReadManifests(result.State.Roots)
	result.Warnings = append(result.Warnings, warnings...)
	// Only Plan needs ManagedKeys, and returns managedErr. The other tools work without ManagedKeys.
	result.ManagedKeys, result.managedErr = output.ManagedKeys(result.ManagedDirs, result.Targets, world.LastDeploy)
	result.scanRoots()
	result.setLinkedAside()
	return result, nil
}

// load reads the manifest of the config repo, and determines the project and the machine.
func load(world Services, request Request) (*Prepared, error) {
	result := &Prepared{Services: world, Repo: world.Env.RepoDir(request.Repo), Profile: request.Profile, Target: request.Target}
	var err error
	if result.Manifest, err = config.LoadManifest(result.Repo); err != nil {
		return nil, err
	}
	result.Lock = config.LoadLock(result.Repo)
	result.Project, result.Warnings = env.DetectProject(world.Env, world.Git)
	result.Machine = env.MachineID(world.Env, request.Machine)
	result.Layers = module.NewLayers(result.Repo, result.Machine, result.Project.ID)
	if result.Machine == env.UnknownMachine && result.Layers.HasMachines() {
		result.Warnings = append(result.Warnings, "the machine is unknown, so files of the overlays of machines are neither deployed nor kept: "+
			`pass the argument machine, or grant AGENTPACK_MACHINE_ID or HOSTNAME, for example by env = { HOSTNAME = "${env:HOSTNAME}" } in bulkhead.toml`)
	}
	return result, result.selectTargets()
}

// selectTargets sets Selected and Targets from the argument target.
func (r *Prepared) selectTargets() error {
	if !slices.Contains(selectableTargets, r.Target) {
		return fault.New(fault.TargetUnsupported, fault.Details{"target": r.Target, "allowed": selectableTargets},
			"there is no target %q; choose one of %s", r.Target, strings.Join(selectableTargets, ", "))
	}
	r.Selected = r.Manifest.Targets
	if r.Target != AllTargets {
		target, ok := r.Manifest.Target(r.Target)
		if !ok {
			return fault.New(fault.ConfigInvalid, fault.Details{
				"target": r.Target, "path": filepath.Join(r.Repo, config.ManifestFile),
				"hint": "add the target to " + config.ManifestFile + ", or choose a target of that file",
			}, "the target %s is not in %s", r.Target, config.ManifestFile)
		}
		r.Selected = []config.Target{target}
	}
	r.Targets = []string{}
	for _, target := range r.Selected {
		if target.Scope.Project() && filepath.Dir(r.Project.Root) == r.Project.Root {
			return fmt.Errorf("target %s writes into the project, but the plugin has no project: start the host in the project's directory or pass --project, and grant that directory to the plugin", target.Name)
		}
		r.Targets = append(r.Targets, target.Name)
	}
	return nil
}

// render renders the desired state of the selected targets.
func (r *Prepared) render() error {
	modules, err := r.Manifest.Select(r.Profile)
	if err != nil {
		return err
	}
	r.Composer = &module.Composer{
		Sources: module.Sources{Repo: r.Repo, Lock: r.Lock, Checkouts: r.Checkouts},
		Layers:  r.Layers,
	}
	r.Composer.Sources.Prefetch(slices.DeleteFunc(slices.Clone(modules), func(m config.Module) bool {
		return !slices.ContainsFunc(r.Targets, m.For)
	}))
	var warnings []string
	r.State, warnings, err = render.Render(render.Input{
		Env: r.Env, Project: r.Project.Root, Targets: r.Selected, Modules: modules, Composer: r.Composer,
	})
	r.Warnings = append(r.Warnings, warnings...)
	return err
}

// Plan compares the desired state with the files on disk.
func (r *Prepared) Plan() (Plan, error) {
	if r.managedErr != nil {
		return Plan{}, r.managedErr
	}
	return Compute(r.State, r.ManagedKeys, r.Sums)
}

// minScanned is the number of files from which one scan of a root takes less time than looking at each file.
const minScanned = 4

// scanRoots scans the roots in which every file should be managed. It does not scan other roots, such as a project,
// because they can contain any number of other files.
func (r *Prepared) scanRoots() {
	files, size := map[string]int{}, map[string]int64{}
	count := func(key output.Key, length int) {
		if root, ok := r.State.Owner(key); ok && root.ScanExtras {
			files[root.Path]++
			size[root.Path] = max(size[root.Path], int64(length))
		}
	}
	for _, file := range r.State.Files {
		count(file.Key, len(file.Content))
	}
	for _, key := range r.ManagedKeys {
		count(key, 0)
	}
	r.Sums = &disk.Sums{}
	for _, root := range slices.Sorted(maps.Keys(files)) {
		if files[root] >= minScanned {
			r.Sums.Scan(root, files[root], size[root])
		}
	}
}
