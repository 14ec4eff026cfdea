package discovery

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/config"
)

// NoPluginsError says that there are no plugins, and how to get them.
type NoPluginsError struct {
	problem string
	dir     string // where the remedy installs plugins
}

func (e *NoPluginsError) Error() string { return e.problem + "\n" + e.Remedy() }

// Problem returns Error without the remedy.
func (e *NoPluginsError) Problem() string { return e.problem }

// Remedy returns how to get plugins.
func (e *NoPluginsError) Remedy() string {
	return fmt.Sprintf("%s, or name the directory of yours with --plugins DIR or $%s", installation(e.dir), envPlugins)
}

// noneFound returns the error for neither a config nor a plugin. looked has the default directories, and why none was used.
func noneFound(o Options, looked []string) error {
	beside, _ := usualFolders(o.System)
	return &UsageError{Err: &NoPluginsError{
		problem: fmt.Sprintf("there are no plugins: no %s is in %s, neither --plugins nor $%s is given, and the default directories have none\n  %s",
			config.FileName, o.System.Dir, envPlugins, strings.Join(looked, "\n  ")),
		dir: beside,
	}}
}

// installation returns how to get plugins into dir, which is beside the program unless the user has named it.
func installation(dir string) string {
	info, _ := debug.ReadBuildInfo()
	return installationOf(info, dir)
}

// installationOf is installation for a program with this build information. A program that `go install` has built from a
// published version comes without plugins, but the go tool keeps their source beside that of the program.
func installationOf(info *debug.BuildInfo, dir string) string {
	out := "DIR"
	if printable(dir) == dir {
		out = shellQuote(dir)
	}
	if info == nil || info.Main.Sum == "" {
		return fmt.Sprintf("unpack a release archive, which has plugins beside the program, or build them in a checkout with `bulkhead plugin build -o %s plugins/*`", out)
	}
	return fmt.Sprintf("`go install` has built only the program: build its plugins with `bulkhead plugin build -o %s \"$(go env GOMODCACHE)\"/%s@%s/plugins/*`",
		out, info.Main.Path, info.Main.Version)
}
