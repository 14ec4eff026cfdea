package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// A release sets these with the linker's -X.
var releaseVersion, releaseCommit, releaseDate string

// versionInfo describes the build of this program.
type versionInfo struct {
	Version  string `json:"version"`          // begins with v
	Commit   string `json:"commit,omitempty"` // empty if it is unknown
	Date     string `json:"date,omitempty"`   // date of the commit in RFC 3339 format
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// readVersion returns the values that a release has set with linker flags, or else those that the go command has recorded: the
// version of the module if the program was installed by version, and the commit if it was built in a checkout.
func readVersion() versionInfo {
	v := versionInfo{Version: releaseVersion, Commit: releaseCommit, Date: releaseDate, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if v.Version == "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	v.Version = cmp.Or(v.Version, "0.0.0-dev")
	if v.Commit == "" && settings["vcs.revision"] != "" {
		v.Commit, v.Date = settings["vcs.revision"], settings["vcs.time"]
		if settings["vcs.modified"] == "true" {
			v.Commit += "-dirty"
		}
	}
	return v
}

// version returns the version of this program.
func version() string { return readVersion().Version }

func (v versionInfo) String() string {
	text := "bulkhead " + v.Version
	if v.Commit != "" {
		text += fmt.Sprintf(", commit %s of %s", v.Commit, v.Date)
	}
	return fmt.Sprintf("%s, %s, %s", text, v.Go, v.Platform)
}

func newVersion() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version [flags]",
		Short: "Print the version, and what it was built from",
		Long:  `Print the version of this program, the commit and the version of Go that it was built from, and its platform.`,
		Example: `  bulkhead version
  bulkhead version --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(c.OutOrStdout(), readVersion())
			}
			_, err := fmt.Fprintln(c.OutOrStdout(), readVersion())
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"version\", \"commit\", \"date\", \"go\", \"platform\"}")
	return c
}
