package discovery

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// NoPluginsError says that there are no plugins, and how to get them.
type NoPluginsError struct {
	problem, remedy string
	unbuilt         bool // whether there are plugins, none of which has a module
}

func (e *NoPluginsError) Error() string { return e.problem + "\n" + e.remedy }

// Problem returns Error without the remedy.
func (e *NoPluginsError) Problem() string { return e.problem }

// Remedy returns how to get plugins.
func (e *NoPluginsError) Remedy() string { return e.remedy }

// missingError is the error for a directory of plugins, or a plugin, that the caller named and that does not exist. When a host
// starts, the name is wrong. Later, what it names was removed.
type missingError struct {
	error
	plugin string        // name of the plugin; empty: the directory does not exist
	config string        // config that does not list the plugin; empty if there is none
	files  []config.File // the config's file, and those that it includes
}

// noneIn returns the error for a directory of installed plugins that contains none that is built.
func noneIn(dir string) error {
	return &usage.Error{Err: &NoPluginsError{problem: "no plugins are installed: no built plugin is in " + dir, remedy: install(dir)}}
}

// noneFound returns the error for neither a config nor a plugin. looked has the default directories, and why none was used.
func noneFound(o Options, looked []string, unbuilt bool) error {
	beside, _ := usualFolders(o.System)
	return &usage.Error{Err: &NoPluginsError{
		problem: fmt.Sprintf("there are no plugins: no %s is in %s, neither --plugins nor $%s is given, and the default directories have none\n  %s",
			config.FileName, o.System.Dir, envPlugins, strings.Join(looked, "\n  ")),
		remedy: install(beside), unbuilt: unbuilt,
	}}
}

// install returns how to get plugins into dir, or from another directory.
func install(dir string) string {
	return fmt.Sprintf("%s, or name the directory of yours with --plugins DIR or $%s", installation(dir), envPlugins)
}

// installation returns how to get plugins into dir, which is beside the program unless the user has named it.
func installation(dir string) string {
	info, _ := debug.ReadBuildInfo()
	return installationOf(info, dir)
}

// installationOf implements installation for a program with this build information. A program that `go install` has built from a
// published version comes without plugins, but the go tool stores their source beside that of the program.
func installationOf(info *debug.BuildInfo, dir string) string {
	out := "DIR"
	if printable(dir) == dir {
		out = visible.ShellWord(dir)
	}
	if info == nil || info.Main.Sum == "" {
		return fmt.Sprintf("unpack a release archive, which has plugins beside the program, or build them in a checkout with `bulkhead plugin build -o %s plugins/*`", out)
	}
	return fmt.Sprintf("`go install` has built only the program: build its plugins with `bulkhead plugin build -o %s \"$(go env GOMODCACHE)\"/%s@%s/plugins/*`",
		out, info.Main.Path, info.Main.Version)
}
