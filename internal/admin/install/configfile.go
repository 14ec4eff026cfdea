package install

import (
	"fmt"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/trust"
)

// configFile is a config to edit.
type configFile struct {
	*userfile.File
	by discovery.By
}

// readConfigFile reads a config, which need not exist.
func readConfigFile(source discovery.Source) (*configFile, error) {
	f, err := userfile.Read(source.File, tomlfile.ReadFile)
	if err != nil {
		return nil, err
	}
	return &configFile{f, source.By}, nil
}

// findConfigFile finds the config that is in force, which need not exist, and reads it.
func findConfigFile(o discovery.Options) (discovery.Source, *configFile, error) {
	source, err := discovery.FindConfig(o)
	if err != nil {
		return source, nil, err
	}
	file, err := readConfigFile(source)
	return source, file, err
}

// replace replaces the file atomically. It refuses if the file has changed since it was read.
func (f *configFile) replace(content []byte) error {
	// Other users must not read a new config: variables in it may have values.
	return f.Replace(content, 0o600)
}

// ConfigTrust says whether an edited config is used where a host discovers it.
type ConfigTrust struct {
	Trusted bool   `json:"trusted"`
	Problem string `json:"problem,omitempty"` // why it is not trusted
	Remedy  string `json:"remedy,omitempty"`
}

// update replaces the content of a config. The new content becomes trusted if the old content was trusted, or if the
// config is new: the user has consented to the edit, but not to the rest of an untrusted config.
func (f *configFile) update(content []byte, store trust.Store) (ConfigTrust, error) {
	path, err := resolveDir(f.Path)
	if err != nil {
		return ConfigTrust{}, err
	}
	trusted := !f.Exists
	var problem error
	var includes []trust.File // the edit does not change these files; if one has changed already, the new record does not match it
	if f.Exists {
		var record *trust.Record
		if record, problem = store.Lookup(path); record != nil {
			trusted, includes = record.SHA256 == userfile.Digest(f.Data), record.Includes
		}
	}
	if err := f.replace(content); err != nil {
		return ConfigTrust{}, err
	}
	if filepath.Base(path) != config.FileName || f.by == discovery.ByUser {
		return ConfigTrust{}, nil // trust does not apply to a file that no host discovers, nor to the user's own config
	}
	if trusted {
		problem = store.Add(path, userfile.Digest(content), includes...)
	}
	if trusted && problem == nil {
		return ConfigTrust{Trusted: true}, nil
	}
	untrusted := discovery.UntrustedError{Path: path, Reason: problem}
	return ConfigTrust{Problem: untrusted.Problem(), Remedy: untrusted.Remedy()}, nil
}

// Message explains the consequence of an untrusted config; empty if the config is trusted or trust does not apply.
func (t ConfigTrust) Message() string {
	if t.Trusted || t.Problem == "" {
		return ""
	}
	return fmt.Sprintf("%s, so a host that discovers it does not use it: %s", t.Problem, t.Remedy)
}
