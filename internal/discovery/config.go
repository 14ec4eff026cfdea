package discovery

import (
	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/trust"
)

// CheckTrust returns nil if a host with these options would use a config with that content: because the user names it,
// because it is in a place that only the user can write, or because the user trusts it. The error is a *UsageError.
func CheckTrust(o Options, source Source, content []byte) error {
	if !source.By.needsTrust() {
		return source.checkPlace()
	}
	system, err := o.System.complete()
	if err != nil {
		return err
	}
	if not := untrusted(system, source.File, trust.Digest(content), false); not != nil {
		return &UsageError{Err: not}
	}
	return nil
}

// loadConfig reads the config. It returns nil if there is none.
func loadConfig(o Options, source Source, content []byte) (*config.Config, *UntrustedError, error) {
	c, problems, not, err := readConfig(o, source, content)
	if err != nil || c == nil && problems == nil {
		return nil, not, err
	}
	if problems.Err() == nil {
		problems = append(problems, config.Expand(c, o.System.LookupEnv)...)
		if err := ResolveNames(o, c); err != nil {
			return nil, nil, err
		}
	}
	for _, warning := range problems.Warnings() {
		o.Log.Warn(warning.String())
	}
	if errs := problems.Errors(); len(errs) > 0 {
		return nil, nil, &UsageError{Err: &InvalidError{File: errs[0].File, Problems: errs}}
	}
	if source.By != ByFlag {
		o.Log.Info("config", "file", c.File, "by", source.By.String())
	}
	return c, nil, nil
}

// readConfig reads the config once: the bytes that are checked are the bytes that are parsed. The config is nil if there
// is none, or if it is not trusted. If content is not nil, it is parsed in place of the file's content.
func readConfig(o Options, source Source, content []byte) (*config.Config, tomlfile.Problems, *UntrustedError, error) {
	file := source.File
	switch {
	case content != nil:
		return parsed(config.Parse(file, content))
	case source.By == ByNothing:
		return nil, nil, nil, nil
	case !source.By.needsTrust():
		if err := source.checkPlace(); err != nil {
			return nil, nil, nil, err
		}
		return parsed(config.Load(file))
	}
	data, err := tomlfile.ReadFile(file)
	if err != nil {
		return nil, nil, &UntrustedError{Path: file, Reason: err}, nil
	}
	if not := untrusted(o.System, file, trust.Digest(data), false); not != nil {
		return nil, nil, not, nil
	}
	return parsed(config.Parse(file, data))
}

// parsed returns its arguments, no UntrustedError and no error.
func parsed(c *config.Config, problems tomlfile.Problems) (*config.Config, tomlfile.Problems, *UntrustedError, error) {
	return c, problems, nil, nil
}
