package discovery

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/trust"
)

// ConfigFile returns the path of the config that a host with these options uses, whether it exists or not, and trusted
// or not.
func ConfigFile(o Options) (string, error) {
	var err error
	if o.System, err = o.System.complete(); err != nil {
		return "", err
	}
	if o.ConfigFile != "" {
		return o.System.absolute(o.ConfigFile), nil
	}
	places, err := findPlaces(o)
	if err != nil {
		return "", err
	}
	file, _ := findConfig(o.System, places)
	return file, nil
}

// CheckTrust returns nil if a host with these options would use the config in file with that content, because the options
// name it or the user trusts it. The error is a *UsageError with an *UntrustedError.
func CheckTrust(o Options, file string, content []byte) error {
	system, err := o.System.complete()
	if err != nil {
		return err
	}
	if o.ConfigFile != "" {
		return nil
	}
	if not := untrusted(system, file, trust.Digest(content), false); not != nil {
		return &UsageError{Err: not}
	}
	return nil
}

// loadConfig reads the config. It returns nil if there is none.
func loadConfig(o Options, places config.Places, content []byte) (*config.Config, *UntrustedError, error) {
	if o.NoConfig && o.ConfigFile != "" {
		return nil, nil, UsageErrorf("--config and --no-config contradict each other: keep one of the two")
	}
	c, problems, not := readConfig(o, places, content)
	if c == nil && problems == nil {
		return nil, not, nil
	}
	if problems.Err() == nil {
		problems = append(problems, config.Expand(c, o.System.LookupEnv)...)
	}
	for _, warning := range problems.Warnings() {
		o.Log.Warn(warning.String())
	}
	if err := problems.Err(); err != nil {
		return nil, nil, &UsageError{Err: err}
	}
	if o.ConfigFile == "" {
		o.Log.Info("using a trusted config", "file", c.File)
	}
	return c, nil, nil
}

// findConfig returns the path of the config that is used if none is named: the one in the working directory, else the
// one in the project. If neither exists, it returns the former.
//
// Symbolic links are resolved in the directories but not in the file name: paths in a config are relative to the
// directory in which it was found, so a link to a config that is trusted elsewhere would change their meaning.
func findConfig(s System, places config.Places) (file string, exists bool) {
	for _, dir := range []string{s.Dir, places.Project} {
		if dir == "" {
			continue
		}
		file := filepath.Join(dir, config.FileName)
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			return file, true // a config that cannot be accessed is not skipped
		}
	}
	return filepath.Join(s.Dir, config.FileName), false
}

// readConfig reads the config once: the bytes that are checked are the bytes that are parsed. The config is nil if there
// is none, or if it is not trusted. If content is not nil, it is parsed in place of the file's content.
func readConfig(o Options, places config.Places, content []byte) (*config.Config, tomlfile.Problems, *UntrustedError) {
	if o.ConfigFile != "" {
		file := o.System.absolute(o.ConfigFile)
		if content != nil {
			return parsed(config.Parse(file, content))
		}
		return parsed(config.Load(file))
	}
	file, exists := findConfig(o.System, places)
	switch {
	case o.NoConfig, !exists && content == nil:
		return nil, nil, nil
	case content != nil:
		return parsed(config.Parse(file, content))
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

// parsed returns its arguments, and no UntrustedError.
func parsed(c *config.Config, problems tomlfile.Problems) (*config.Config, tomlfile.Problems, *UntrustedError) {
	return c, problems, nil
}
