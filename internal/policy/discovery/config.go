package discovery

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/trust"
)

// ParseTrusted parses a config with that content, if a host with these options would use it: because the user names it,
// because it is in a place that only the user can write, or because the user trusts it. Otherwise the error is a
// *usage.Error.
func ParseTrusted(o Options, source Source, content []byte) (*config.Config, tomlfile.Problems, error) {
	var err error
	if o.System, err = o.System.complete(); err != nil {
		return nil, nil, err
	}
	c, problems, not, err := parseTrusted(o.System, source, content)
	if not != nil {
		err = &usage.Error{Err: not}
	}
	return c, problems, err
}

// loadConfig reads the config. It returns nil if there is none.
func loadConfig(o Options, source Source, read configReader) (*config.Config, *UntrustedError, error) {
	c, problems, not, err := read(o, source)
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
		return nil, nil, &usage.Error{Err: &InvalidError{File: errs[0].File, Included: includedFiles(c), Problems: errs}}
	}
	for _, file := range c.Files {
		if err := ownedpath.CheckFile(file.Path, os.Geteuid()); err != nil && !source.By.NeedsTrust() {
			o.Log.Warn("another user decides what is granted: that user can change the config", "reason", ownedpath.Explain(err))
		}
	}
	if source.By != ByFlag {
		o.Log.Info("config", "file", c.File, "by", source.By.String())
	}
	return c, nil, nil
}

// readConfig is the configReader that reads the file.
func readConfig(o Options, source Source) (*config.Config, tomlfile.Problems, *UntrustedError, error) {
	if source.By == ByNothing {
		return nil, nil, nil, nil
	}
	data, err := tomlfile.ReadFile(source.File)
	switch {
	case err == nil:
		return parseTrusted(o.System, source, data)
	case source.By.NeedsTrust():
		return nil, nil, &UntrustedError{Path: source.File, Unreadable: true, Reason: err}, nil
	}
	return nil, tomlfile.Problems{unreadable(source, err)}, nil, nil
}

// unreadable returns the problem of a config that cannot be read, and that needs no trust.
func unreadable(source Source, err error) tomlfile.Problem {
	if !errors.Is(err, fs.ErrNotExist) {
		return tomlfile.Problem{File: source.File, What: err.Error()}
	}
	remedy := "create it, or pass the path of another one with --config"
	switch source.By {
	case ByVariable:
		remedy = "correct $" + envConfig + ", or unset it"
	case ByUser:
		remedy = "its path is a dangling symbolic link: create the target, or remove the link"
	}
	return tomlfile.Problem{File: source.File, What: "there is no such file", Remedy: remedy}
}

// parseTrusted parses the content of a config and of the files that it includes. The bytes that are checked are the bytes that are
// parsed, and content that is not trusted cannot name files to read.
func parseTrusted(s System, source Source, content []byte) (*config.Config, tomlfile.Problems, *UntrustedError, error) {
	if !source.By.NeedsTrust() {
		if err := source.checkPlace(source.File); err != nil {
			return nil, nil, nil, &usage.Error{Err: err}
		}
		c, problems := config.ParseWith(source.File, content, func(path string) ([]byte, error) {
			if err := source.checkPlace(path); err != nil {
				return nil, err
			}
			return tomlfile.ReadFile(path)
		})
		return c, problems, nil, nil
	}
	record, not := lookUp(s, source.File, userfile.Digest(content), false)
	if not != nil {
		return nil, nil, not, nil
	}
	c, problems := config.ParseWith(source.File, content, func(path string) ([]byte, error) {
		if not != nil {
			return nil, not
		}
		var data []byte
		if data, not = readTrusted(source, record, path); not != nil {
			return nil, not
		}
		return data, nil
	})
	if not != nil {
		return nil, nil, not, nil
	}
	return c, problems, nil, nil
}

// readTrusted reads a file that a trusted config includes. It returns no content that the record does not cover, since
// that could name files to read.
func readTrusted(source Source, record *trust.Record, path string) ([]byte, *UntrustedError) {
	data, err := tomlfile.ReadFile(path)
	if err != nil || !record.Trusts(path, userfile.Digest(data)) {
		return nil, &UntrustedError{Path: source.File, Included: path, Since: record.At, Reason: err}
	}
	return data, nil
}

// includedFiles returns the files that a config includes, or would include if they could be read.
func includedFiles(c *config.Config) []string {
	if c == nil {
		return nil
	}
	paths := slices.Clone(c.Unread)
	for _, f := range c.Files[1:] {
		paths = append(paths, f.Path)
	}
	return paths
}
