// Package doctor diagnoses the packages, the configuration and the registries of a project. Run performs all checks and
// changes no file. It reports each problem as a check that warns or fails, and returns no error.
package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/workspace"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// The statuses of a check.
const (
	Pass = "pass"
	Warn = "warn"
	Fail = "fail"
)

// Check is the result of one check.
type Check struct {
	Name       string  `json:"name"`
	Status     string  `json:"status"`
	Message    string  `json:"message"`
	Suggestion *string `json:"suggestion"` // what the user can do; nil if there is no suggestion
}

// Report holds the results of all checks. Healthy is set unless a check fails.
type Report struct {
	Healthy bool    `json:"healthy"`
	Checks  []Check `json:"checks"`
	Summary string  `json:"summary"`
}

// doctor runs the checks and collects their results.
type doctor struct {
	files  files.System
	ws     *workspace.Workspace
	checks []Check

	lock        *lockfile.Lock         // nil before the lock file is read, and if it cannot be read
	deployments *workspace.Deployments // nil before the deployments are read, and if they cannot be read
}

// Run checks the workspace, the configuration of the workspace's project and home directory, and the configured
// registries.
func Run(ws *workspace.Workspace) Report {
	d := &doctor{files: ws.Files, ws: ws}
	d.pass("python_version", "not applicable: sandboxed plugin")
	if ws.Home == "" {
		d.warn("global_config", "the home directory is unknown, so there is no global configuration",
			"Grant the plugin the variable HOME and the directory .aam in the home directory")
	} else {
		layer, err := config.ReadGlobal(ws.Files, ws.Home)
		d.layer("global_config", "Global config", layer, err, Pass)
	}
	layer, err := config.ReadProject(ws.Files, ws.Project)
	d.layer("project_config", "Project config", layer, err, Warn)
	c, _, err := config.Load(ws.Files, ws.Home, ws.Project)
	if d.merged(c, err); err == nil {
		for _, r := range c.Registries {
			d.registry(r)
		}
	}
	d.packages()
	d.orphans(c.DefaultPlatform)
	d.interrupted()
	return d.report()
}

func (d *doctor) add(name, status, message, suggestion string) {
	check := Check{Name: name, Status: status, Message: message}
	if suggestion != "" {
		check.Suggestion = &suggestion
	}
	d.checks = append(d.checks, check)
}

func (d *doctor) pass(name, message string)             { d.add(name, Pass, message, "") }
func (d *doctor) warn(name, message, suggestion string) { d.add(name, Warn, message, suggestion) }
func (d *doctor) fail(name, message, suggestion string) { d.add(name, Fail, message, suggestion) }

// layer adds the check of one configuration file. The argument err is the error of reading the file, and absent is the
// status of the check if the file does not exist.
func (d *doctor) layer(name, title string, layer config.Layer, err error, absent string) {
	path := layer.Path
	var syntax *yaml11.SyntaxError
	switch {
	case errors.As(err, &syntax):
		d.fail(name, fmt.Sprintf("%s: %s (invalid YAML: %v)", title, path, err), fmt.Sprintf("Fix the YAML syntax in '%s' or remove the file.", path))
		return
	case err != nil:
		d.fail(name, fmt.Sprintf("%s: %s (cannot be read: %v)", title, path, err), fmt.Sprintf("Make '%s' a readable file.", path))
		return
	case !layer.Found:
		d.add(name, absent, fmt.Sprintf("%s: %s (not found, using defaults)", title, path), "")
		return
	case layer.Empty:
		d.pass(name, fmt.Sprintf("%s: %s (empty, using defaults)", title, path))
		return
	}
	var problems yaml11.Problems
	if errors.As(layer.Check(), &problems) {
		d.fail(name, fmt.Sprintf("%s: %s (schema error: %s)", title, path, count(len(problems), "validation error")),
			fmt.Sprintf("Correct these settings in '%s': %s", path, problems.Error()))
		return
	}
	d.pass(name, fmt.Sprintf("%s: %s (valid)", title, path))
}

// merged adds the check of the effective configuration.
func (d *doctor) merged(c config.Config, err error) {
	const name = "config_valid"
	switch {
	case err != nil:
		d.fail(name, "The configuration cannot be loaded: "+fault.From(err).Message, "Correct the files that the checks global_config and project_config name.")
	case len(c.Registries) == 0:
		d.add(name, Pass, "Configuration loaded (0 registries configured)", "Add a registry with aam_registry_add.")
	case len(c.Registries) == 1:
		d.pass(name, "Configuration loaded (1 registry configured)")
	default:
		d.pass(name, fmt.Sprintf("Configuration loaded (%d registries configured)", len(c.Registries)))
	}
}

// registry adds the check whether the directory of a local registry exists. It does not use the network.
func (d *doctor) registry(r config.Registry) {
	name := "registry_" + r.Name
	root, local := r.Root()
	switch {
	case r.Type != config.Local:
		d.pass(name, fmt.Sprintf("Registry '%s' has the type %s, which is not probed", r.Name, r.Type))
	case !local:
		d.warn(name, fmt.Sprintf("Registry '%s' has a URL without a directory", r.Name), "Write the URL as file:///path/to/registry.")
	case files.IsDir(d.files, root):
		d.pass(name, fmt.Sprintf("Registry '%s' accessible at %s", r.Name, r.Place()))
	default:
		d.warn(name, fmt.Sprintf("Registry '%s' path not found: %s", r.Name, r.Place()),
			fmt.Sprintf("Create the directory, grant it to the plugin, or remove registry '%s'.", r.Name))
	}
}

func (d *doctor) report() Report {
	counts := map[string]int{}
	for _, check := range d.checks {
		counts[check.Status]++
	}
	return Report{
		Healthy: counts[Fail] == 0,
		Checks:  d.checks,
		Summary: fmt.Sprintf("%d passed, %s, %d failed", counts[Pass], count(counts[Warn], "warning"), counts[Fail]),
	}
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// some joins at most five of the names.
func some(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
