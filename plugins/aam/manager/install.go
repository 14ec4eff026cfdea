package manager

import (
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/registry"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/resolve"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/version"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/workspace"
)

// MaxSpecs is the maximum number of packages that one call may request.
const MaxSpecs = 100

// signatureMissing is the error code for an unsigned package if the configuration requires signatures.
const signatureMissing fault.Code = "AAM_SIGNATURE_MISSING"

// Request holds the arguments of Install.
type Request struct {
	Packages []string // the package specs to install
	Platform *string  // the platform to which packages are deployed; nil for the configured default
	Force    bool     // reinstall installed packages, and replace other versions
	NoDeploy bool
}

// Result is the result of Install.
type Result struct {
	Installed            []Package `json:"installed"`         // the requested packages, and the dependencies that were installed or changed
	AlreadyInstalled     []string  `json:"already_installed"` // the names of the packages
	Failed               []Failed  `json:"failed"`
	DependenciesResolved int       `json:"dependencies_resolved"` // the number of packages in the resolution, including the requested packages
	// Backups lists the content that Install has moved to the backup, because no package had deployed it in this form.
	// Paths inside of the project are relative to the project.
	Backups []deploy.Backup `json:"backups,omitempty"`
}

func (m *Manager) backups(moved []deploy.Backup) []deploy.Backup {
	var all []deploy.Backup
	for _, b := range moved {
		all = append(all, m.workspace().Shown(b))
	}
	return all
}

// Failed describes a package spec that could not be installed.
type Failed struct {
	Package string         `json:"package"` // the spec as the caller wrote it
	Code    fault.Code     `json:"code"`
	Message string         `json:"message"`
	Hint    *string        `json:"hint"`
	Details map[string]any `json:"details"`
}

// Install installs packages with their dependencies. If a spec fails, the result reports the failure, and Install
// installs the other specs. If dependencies conflict, the error has the code DependencyConflict and Install installs
// nothing.
func (m *Manager) Install(r Request) (*Result, error) {
	if len(r.Packages) > MaxSpecs {
		return nil, fault.New(fault.InvalidArgument, "packages has %d items, at most %d are allowed in one call", len(r.Packages), MaxSpecs)
	}
	ws := m.workspace()
	if !ws.Exists() {
		return nil, fault.New(fault.NotInitialized, "the project %s has no workspace", m.Project).WithHint("Create an empty directory .aam in the project")
	}
	if err := m.lockProject(); err != nil {
		return nil, err
	}
	c, _, err := m.config()
	if err != nil {
		return nil, err
	}
	if err := checkPlatform(r, c); err != nil {
		return nil, err
	}
	i := &installation{
		Manager: m, ws: ws, request: r, config: c, texts: map[pkgname.Spec]string{}, done: map[string]bool{}, resolved: map[string]bool{},
		result: &Result{Installed: []Package{}, AlreadyInstalled: []string{}, Failed: []Failed{}},
	}
	return i.result, i.run()
}

// lockProject makes concurrent calls that change the project, or .codex in the home directory, wait for each other.
// Calls of other processes take the same lock on the directory .aam. They do not lock the project itself, because the
// project may not be granted.
func (m *Manager) lockProject() error {
	if m.Home != "" {
		if err := m.lock("codex", m.Home, filepath.Join(m.Home, ".codex")); err != nil {
			return err
		}
	}
	return m.lock("project", m.Project, filepath.Dir(config.Path(m.Project)))
}

// installation is the state of one call of Install.
type installation struct {
	*Manager
	ws      *workspace.Workspace
	request Request
	config  config.Config
	clients []registry.Registry
	texts   map[pkgname.Spec]string // the argument from which each spec was parsed
	done    map[string]bool         // names of the packages that this call has installed or deployed
	present []string                // names of installed packages that are to be deployed to another platform
	// platforms holds the platforms to which each installed package was deployed before the call. The key is the name
	// of the package.
	platforms map[string][]string
	resolved  map[string]bool // names of the packages in all groups
	result    *Result
}

func (i *installation) fail(text string, err error) {
	f := fault.From(err)
	failed := Failed{Package: text, Code: f.Code, Message: f.Message, Hint: orNull(f.Hint), Details: f.Details}
	if failed.Details == nil {
		failed.Details = map[string]any{}
	}
	i.result.Failed = append(i.result.Failed, failed)
}

func (i *installation) run() error {
	var err error
	if i.platforms, err = i.ws.Platforms(i.config.DefaultPlatform); err != nil {
		return err
	}
	specs, err := i.specs()
	if err != nil {
		return err
	}
	for _, name := range i.present {
		if err := i.deploy(name); err != nil {
			i.fail(i.textOf(name), err)
		}
	}
	if err := i.installAll(specs); err != nil {
		return err
	}
	i.result.DependenciesResolved = len(i.resolved)
	slices.SortStableFunc(i.result.Failed, func(a, b Failed) int {
		return slices.Index(i.request.Packages, a.Package) - slices.Index(i.request.Packages, b.Package)
	})
	return nil
}

// installAll resolves the specs and installs their packages.
func (i *installation) installAll(specs []pkgname.Spec) error {
	if len(specs) == 0 {
		return nil
	}
	lock, err := i.ws.Lock()
	if err != nil {
		return err
	}
	resolution, err := i.resolve(specs, lock)
	if err != nil {
		return err
	}
	for _, failure := range resolution.Failed {
		err := failure.Err
		if entry, found := lock.Find(failure.Spec.Name); found && entry.Source == lockfile.FromFolder && entry.Checksum == "" {
			err = fault.From(err).WithHint("The package was installed from a local directory or archive: install it from there with the command line (aam install PATH --force), or publish it to a registry")
		}
		i.fail(i.texts[failure.Spec], err)
	}
	for _, group := range resolution.Groups {
		if err := i.install(group); err != nil {
			i.fail(i.texts[group.Spec], err)
			continue
		}
		for _, p := range group.Packages {
			i.resolved[p.Name] = true
		}
	}
	return nil
}

// textOf returns the first argument that requests the package called name.
func (i *installation) textOf(name string) string {
	for _, text := range i.request.Packages {
		if spec, err := parseSpec(text); err == nil && spec.Name == name {
			return text
		}
	}
	return name
}

// specs parses the arguments of the call and returns the specs that have to be resolved. It records malformed arguments
// as failures, and omits installed packages.
func (i *installation) specs() ([]pkgname.Spec, error) {
	lock, err := i.ws.Lock()
	if err != nil {
		return nil, err
	}
	var specs []pkgname.Spec
	for _, text := range i.request.Packages {
		spec, err := parseSpec(text)
		if err != nil {
			i.fail(text, err)
			continue
		}
		if entry, found := lock.Find(spec.Name); found && !i.request.Force {
			if i.isElsewhere(spec.Name) && allows(spec.Constraint, entry.Version) {
				if !slices.Contains(i.present, spec.Name) {
					i.present = append(i.present, spec.Name)
				}
			} else if !slices.Contains(i.result.AlreadyInstalled, spec.Name) {
				i.result.AlreadyInstalled = append(i.result.AlreadyInstalled, spec.Name)
			}
			continue
		}
		switch _, twice := i.texts[spec]; {
		case twice:
		case len(i.config.Registries) == 0:
			i.fail(text, notConfigured())
		default:
			specs = append(specs, spec)
		}
		i.texts[spec] = text
	}
	return specs, nil
}

// allows reports whether the version in text satisfies the constraint of a spec. The constraint "" allows any version.
func allows(constraint, text string) bool {
	if constraint == "" {
		return true
	}
	c, err := version.ParseConstraint(constraint)
	if err != nil {
		return false
	}
	v, err := version.Parse(text)
	return err == nil && c.Allows(v)
}

func parseSpec(text string) (pkgname.Spec, error) {
	spec, err := pkgname.ParseSpec(text)
	if err == nil && spec.Constraint != "" {
		if _, bad := version.ParseConstraint(spec.Constraint); bad != nil {
			err = fault.New(fault.InvalidArgument, "%w", bad)
		}
	}
	return spec, err
}

func (i *installation) resolve(specs []pkgname.Spec, lock *lockfile.Lock) (*resolve.Resolution, error) {
	request := resolve.Request{Specs: specs, Installed: lock.Packages, Force: i.request.Force}
	i.clients = i.usable(i.config)
	for _, client := range i.clients {
		request.Sources = append(request.Sources, registry.Source{Registry: client, Limits: i.Limits})
	}
	return resolve.Resolve(request)
}
