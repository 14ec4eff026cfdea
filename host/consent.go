package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/trust"
	"github.com/bulkhead-mcp/bulkhead/internal/visible"
)

// UntrustedError says that the host found a config, or a directory of plugins, that nobody named and the user
// has not agreed to. Whoever wrote it may be whoever wrote the project, so nothing in it is obeyed.
type UntrustedError struct {
	Path    string
	Plugins bool      // it is a directory of plugins; else a config
	Since   time.Time // when other content was trusted at Path; zero: none was
	Reason  error     // why it cannot be trusted, or the record of it not be read; nil: there is no record
}

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("%s, so no plugin is served: %s", e.Problem(), e.Remedy())
}

// Problem is what the error says without its remedy.
func (e *UntrustedError) Problem() string {
	what := "is not trusted"
	switch {
	case e.Reason != nil:
		what += fmt.Sprintf(" (%v)", e.Reason)
	case !e.Since.IsZero():
		what = "has changed since it was trusted on " + e.Since.UTC().Format("2006-01-02 at 15:04 MST")
	}
	return printable(e.Path) + " " + what
}

// Remedy says what the user can do.
func (e *UntrustedError) Remedy() string {
	if e.Plugins {
		return fmt.Sprintf("review it with `%s`, or name a directory of plugins with --plugins", e.command())
	}
	return fmt.Sprintf("review it with `%s`, or leave it out with --no-config", e.command())
}

// command is what a user types to trust the path. A path that cannot be typed is found by the command itself.
func (e *UntrustedError) command() string {
	switch {
	case printable(e.Path) != e.Path:
		return "bulkhead trust"
	case strings.ContainsFunc(e.Path, needsQuotes):
		return "bulkhead trust '" + strings.ReplaceAll(e.Path, "'", `'\''`) + "'"
	}
	return "bulkhead trust " + e.Path
}

// needsQuotes tells whether a shell may read a character of a path as more than itself.
func needsQuotes(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+@%,:", r)
}

// printable is a path as it is, or quoted where a terminal or a client's model would read more than a path.
func printable(path string) string {
	if !visible.Only(path) {
		return visible.Quote(path)
	}
	return path
}

// trustStore records what the user has agreed to.
func trustStore(s System) trust.Store { return trust.In(stateDir(s)) }

// untrusted is nil if the user trusts content of that digest at path.
func untrusted(s System, path, digest string, plugins bool) *UntrustedError {
	record, err := trustStore(s).Lookup(path)
	switch {
	case err != nil:
		return &UntrustedError{Path: path, Plugins: plugins, Reason: err}
	case record == nil:
		return &UntrustedError{Path: path, Plugins: plugins}
	case record.SHA256 != digest:
		return &UntrustedError{Path: path, Plugins: plugins, Since: record.At}
	}
	return nil
}

// findConfig is the config that is used where none is named: the one in the working directory, else the one in
// the project. Where neither is there, it is where the first would be.
//
// The directories are resolved and the name is not: paths in a config are relative to where it was found, so a
// symbolic link to a file that is trusted elsewhere would lead them elsewhere.
func findConfig(s System, places config.Places) (file string, exists bool) {
	for _, dir := range []string{s.Dir, places.Project} {
		if dir == "" {
			continue
		}
		file := filepath.Join(dir, config.FileName)
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			return file, true // one that cannot be looked at is there, and is not passed over
		}
	}
	return filepath.Join(s.Dir, config.FileName), false
}

// readConfig reads the config that o means, once: the bytes that are checked are the bytes that are parsed.
// The config is nil where there is none, and where it is not trusted.
func readConfig(o Options, places config.Places) (*config.Config, tomlfile.Problems, *UntrustedError) {
	if o.ConfigFile != "" {
		file := o.System.absolute(o.ConfigFile)
		if o.content != nil {
			return parsed(config.Parse(file, o.content))
		}
		return parsed(config.Load(file))
	}
	file, exists := findConfig(o.System, places)
	switch {
	case o.NoConfig, !exists && o.content == nil:
		return nil, nil, nil
	case o.content != nil:
		return parsed(config.Parse(file, o.content))
	}
	data, err := tomlfile.ReadFile(file)
	if err != nil {
		return nil, nil, &UntrustedError{Path: file, Reason: err}
	}
	if not := untrusted(o.System, file, trust.Digest(data), false); not != nil {
		return nil, nil, not
	}
	return parsed(config.Parse(file, data))
}

func parsed(c *config.Config, problems tomlfile.Problems) (*config.Config, tomlfile.Problems, *UntrustedError) {
	return c, problems, nil
}

// CheckConfig tells whether a host with these options obeys file with that content: nil if it is named by them,
// or trusted. The error is a *UsageError with an *UntrustedError.
func CheckConfig(o Options, file string, content []byte) error {
	system, err := o.System.complete()
	if err != nil {
		return err
	}
	if o.ConfigFile != "" {
		return nil
	}
	if not := untrusted(system, file, trust.Digest(content), false); not != nil {
		return &UsageError{not}
	}
	return nil
}

// trustedPlugins are the plugins of a directory that nobody named, if the user trusts them.
func trustedPlugins(s System, dir string, plugins []candidate) ([]candidate, *UntrustedError, error) {
	digest, err := pluginsDigest(manifests(plugins))
	if err != nil {
		return nil, &UntrustedError{Path: dir, Plugins: true, Reason: err}, nil
	}
	if not := untrusted(s, dir, digest, true); not != nil {
		return nil, not, nil
	}
	return plugins, nil, nil
}

// PluginsDigest stands for all that the plugins of a directory are: their manifests, each of which has to name
// the digest of its module, which is checked before the module runs. So no module is read for it.
func PluginsDigest(plugins []Standing) (string, error) {
	all := make([]described, len(plugins))
	for i, p := range plugins {
		all[i] = described{p.Entry.Path, p.Manifest}
	}
	return pluginsDigest(all)
}

// described is a plugin's directory and manifest; nil: it cannot be read.
type described struct {
	dir      string
	manifest *manifest.Manifest
}

func manifests(plugins []candidate) []described {
	all := make([]described, len(plugins))
	for i, p := range plugins {
		all[i] = described{p.entry.Path, p.manifest}
	}
	return all
}

func pluginsDigest(plugins []described) (string, error) {
	var text strings.Builder
	for _, p := range plugins {
		switch {
		case p.manifest == nil:
			return "", fmt.Errorf("%s cannot be read", filepath.Join(p.dir, manifest.FileName))
		case p.manifest.Module.SHA256 == "":
			return "", fmt.Errorf("%s does not name the digest of its module: build the plugin with `bulkhead plugin build`", p.manifest.File)
		}
		fmt.Fprintf(&text, "%q %s\n", p.dir, p.manifest.Digest)
	}
	return trust.Digest([]byte(text.String())), nil
}
