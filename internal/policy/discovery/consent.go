package discovery

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/trust"
)

// UntrustedError says that the host found a config, or a directory of plugins, that the options do not name and the user
// does not trust. It may have been written by the author of the project, so the host uses nothing of it.
type UntrustedError struct {
	Path    string
	Plugins bool // Path is a directory of plugins, not a config
	// Included is the file that the config includes and that has changed; empty if the config itself is not trusted.
	Included string
	Since    time.Time // time at which different content was trusted at Path; zero if none was trusted
	// Unreadable is set if the config itself cannot be read, for Reason.
	Unreadable bool
	Reason     error // why the path cannot be trusted or its record cannot be read; nil if there is no record
}

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("%s, so no plugin is served: %s", e.Problem(), e.Remedy())
}

// Problem returns the message without the remedy.
func (e *UntrustedError) Problem() string {
	what := "is not trusted"
	switch {
	case e.Unreadable:
		return fmt.Sprintf("%s cannot be read (%v)", printable(e.Path), e.Reason)
	case e.Reason != nil:
		what += fmt.Sprintf(" (%v)", e.Reason)
	case !e.Since.IsZero():
		what = "has changed since it was trusted on " + e.Since.UTC().Format("2006-01-02 at 15:04 MST")
	}
	if e.Included != "" {
		return fmt.Sprintf("%s includes %s, which %s", printable(e.Path), printable(e.Included), what)
	}
	return printable(e.Path) + " " + what
}

// Remedy returns what the user can do.
func (e *UntrustedError) Remedy() string {
	if e.Unreadable {
		return "make it a file that you may read, or leave it out with --no-config"
	}
	if e.Plugins {
		return fmt.Sprintf("review it with `%s`, or name a directory of plugins with --plugins", e.command())
	}
	return fmt.Sprintf("review it with `%s`, or leave it out with --no-config", e.command())
}

// command returns the command that trusts the path. It leaves out a path that a user cannot type: the command then
// discovers the same path.
func (e *UntrustedError) command() string {
	if printable(e.Path) != e.Path {
		return "bulkhead trust"
	}
	return "bulkhead trust " + visible.ShellWord(e.Path)
}

// printable returns a path, quoted if it contains characters that a terminal or a client's model could interpret.
func printable(path string) string {
	if !visible.Only(path) {
		return visible.Quote(path)
	}
	return path
}

// lookUp returns the record of a path if the user trusts content with that digest there.
func lookUp(s System, path, digest string, plugins bool) (*trust.Record, *UntrustedError) {
	record, err := records(s).Lookup(path)
	switch {
	case err != nil:
		return nil, &UntrustedError{Path: path, Plugins: plugins, Reason: err}
	case record == nil:
		return nil, &UntrustedError{Path: path, Plugins: plugins}
	case record.SHA256 != digest:
		return nil, &UntrustedError{Path: path, Plugins: plugins, Since: record.At}
	}
	return record, nil
}

// trustedPlugins returns the plugins of a directory that the options do not name, if the user trusts them.
func trustedPlugins(s System, dir string, plugins []Candidate) ([]Candidate, *UntrustedError, error) {
	digest, err := PluginsDigest(plugins)
	if err != nil {
		return nil, &UntrustedError{Path: dir, Plugins: true, Reason: err}, nil
	}
	if _, not := lookUp(s, dir, digest, true); not != nil {
		return nil, not, nil
	}
	return plugins, nil, nil
}

// PluginsDigest returns a digest of the manifests of the plugins in a directory. Each manifest must contain the digest of
// its module, which is verified before the module runs, so PluginsDigest need not read modules.
func PluginsDigest(plugins []Candidate) (string, error) {
	var text strings.Builder
	for _, p := range plugins {
		switch {
		case p.Manifest == nil:
			return "", fmt.Errorf("%s cannot be read", filepath.Join(p.Entry.Path, manifest.FileName))
		case p.Manifest.Module.SHA256 == "":
			return "", fmt.Errorf("%s does not contain the digest of its module: build the plugin with `bulkhead plugin build`", p.Manifest.File)
		}
		fmt.Fprintf(&text, "%q %s\n", p.Entry.Path, p.Manifest.Digest)
	}
	return userfile.Digest([]byte(text.String())), nil
}
