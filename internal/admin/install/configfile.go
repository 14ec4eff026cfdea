package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/trust"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
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
	return f.updateWith(func() error { return f.replace(content) }, content, store, store.Add)
}

// edits returns the changes that update makes, for a transaction with other files. New files get the permission bits that the caller sets.
func (f *configFile) edits(content []byte, store trust.Store) (edits []transaction.Change, after ConfigTrust, err error) {
	add := func(path string, content []byte) error {
		change := transaction.Change{Root: filepath.Dir(path), Path: path, After: content}
		old, err := os.ReadFile(path)
		if err == nil {
			change.Before = transaction.Digest(old)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		edits = append(edits, change)
		return nil
	}
	if err := f.CheckUnchanged(); err != nil {
		return nil, after, err
	}
	after, err = f.updateWith(func() error { return add(f.Target, content) }, content, store, func(path, digest string, includes ...trust.File) error {
		file, record, err := store.Record(path, digest, includes...)
		if err != nil {
			return err
		}
		return add(file, record)
	})
	return edits, after, err
}

// updateWith is update with functions that write the content and add a trust record.
func (f *configFile) updateWith(write func() error, content []byte, store trust.Store, add func(path, digest string, includes ...trust.File) error) (ConfigTrust, error) {
	if filepath.Base(f.Path) != config.FileName || f.by == discovery.ByUser {
		return ConfigTrust{}, write() // trust does not apply to a file that no host discovers, nor to the user's own config
	}
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
	if err := write(); err != nil {
		return ConfigTrust{}, err
	}
	if trusted {
		problem = add(path, userfile.Digest(content), includes...)
	}
	if trusted && problem == nil {
		return ConfigTrust{Trusted: true}, nil
	}
	untrusted := discovery.UntrustedError{Path: path, Reason: problem}
	return ConfigTrust{Problem: untrusted.Problem(), Remedy: untrusted.Remedy()}, nil
}

// auditInForce returns a, the audit log of the config with an edit, if the config is in force: otherwise its author chooses the path of the log.
func (f *configFile) auditInForce(a *config.Audit, store trust.Store) *config.Audit {
	if f.by != discovery.ByWorkDir && f.by != discovery.ByProject || !f.Exists || a == nil {
		return a
	}
	path, err := resolveDir(f.Path)
	if err != nil {
		return nil
	}
	record, err := store.Lookup(path)
	if err != nil || record == nil || record.SHA256 != userfile.Digest(f.Data) || slices.ContainsFunc(record.Includes, hasChanged) {
		return nil
	}
	return a
}

// Message explains the consequence of an untrusted config; empty if the config is trusted or trust does not apply.
func (t ConfigTrust) Message() string {
	if t.Trusted || t.Problem == "" {
		return ""
	}
	return fmt.Sprintf("%s, so a host that discovers it does not use it: %s", t.Problem, t.Remedy)
}
