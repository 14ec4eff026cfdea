package discovery

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/config"
)

// NoPluginsError says that neither a config nor a plugin was found, and how to get plugins.
type NoPluginsError struct {
	dir    string   // working directory
	looked []string // the default directories, and why none was used
	remedy string
}

func (e *NoPluginsError) Error() string { return e.Problem() + "\n" + e.Remedy() }

// Problem returns Error without the remedy.
func (e *NoPluginsError) Problem() string {
	return fmt.Sprintf("there are no plugins: no %s is in %s, neither --plugins nor $%s is given, and the default directories have none\n  %s",
		config.FileName, e.dir, envPlugins, strings.Join(e.looked, "\n  "))
}

// Remedy returns how to get plugins.
func (e *NoPluginsError) Remedy() string {
	return e.remedy + ", or name the directory of yours with --plugins DIR"
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
