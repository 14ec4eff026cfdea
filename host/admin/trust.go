package admin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/internal/trust"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// The kinds of what can be trusted.
const (
	TrustConfig  = "config"
	TrustPlugins = "plugins" // dist/plugins of a directory in which hosts are started
)

// The states of what is, or could be, trusted. Changed and Missing are those of pins.
const (
	Trusted    = "trusted"
	NotTrusted = "not trusted"
)

// TrustProposal is what a host would obey once the user agrees to it.
type TrustProposal struct {
	Path        string         `json:"path"`
	Kind        string         `json:"kind"`
	SHA256      string         `json:"sha256"`
	State       string         `json:"state"` // before the user agrees
	Since       *time.Time     `json:"trusted_at,omitempty"`
	Plugins     []PluginPolicy `json:"plugins"`
	Audit       string         `json:"audit,omitempty"` // the file of the audit log
	Credentials []string       `json:"credentials,omitempty"`

	store trust.Store
}

// ProposeTrust reviews a config, or a directory of plugins, as a host that finds it would obey it. path may be
// the directory that holds the config; empty: what a host with these options finds. What was read is what is
// reviewed, and what Write records.
func ProposeTrust(o host.Options, path string) (*TrustProposal, error) {
	path, kind, err := trustable(o, path)
	if err != nil {
		return nil, err
	}
	p := &TrustProposal{Path: path, Kind: kind, Plugins: []PluginPolicy{}, store: storeOf(o)}
	view, err := p.look(o)
	if err != nil {
		return nil, err
	}
	for _, s := range view.Plugins {
		p.Plugins = append(p.Plugins, pluginPolicy(o, view, s))
	}
	if view.Audit != nil {
		p.Audit = view.Audit.File
	}
	for _, c := range view.Credentials {
		p.Credentials = append(p.Credentials, c.Name)
	}
	record, err := p.store.Lookup(path)
	if err != nil {
		return nil, usage("%w", err)
	}
	p.State = NotTrusted
	if record != nil {
		p.State, p.Since = Changed, &record.At
		if record.SHA256 == p.SHA256 {
			p.State = Trusted
		}
	}
	return p, nil
}

// look reads what is proposed, once, and takes the decisions as a host would that is started beside it.
func (p *TrustProposal) look(o host.Options) (*host.View, error) {
	o.ConfigFile, o.PluginsDir, o.NoConfig, o.Plugins = "", "", false, nil
	if p.Kind == TrustPlugins {
		o.System.Dir, o.PluginsDir, o.NoConfig = filepath.Dir(filepath.Dir(p.Path)), p.Path, true
		view, err := host.Look(o)
		if err == nil {
			p.SHA256, err = host.PluginsDigest(view.Plugins)
		}
		if err != nil {
			return nil, usage("%s cannot be trusted: %w", p.Path, err)
		}
		return view, nil
	}
	data, err := tomlfile.ReadFile(p.Path)
	if err != nil {
		return nil, usage("%s: %w", p.Path, err)
	}
	p.SHA256 = trust.Digest(data)
	o.System.Dir, o.ConfigFile = filepath.Dir(p.Path), p.Path
	return host.LookAt(o, data)
}

// Write records that the user agrees.
func (p *TrustProposal) Write() error {
	if err := p.store.Add(p.Path, p.SHA256); err != nil {
		return usage("%s cannot be trusted: %w", p.Path, err)
	}
	p.State = Trusted
	return nil
}

// TrustedPath is a path that the user has trusted, and whether it still is what was trusted.
type TrustedPath struct {
	Path   string    `json:"path"`
	SHA256 string    `json:"sha256"`
	At     time.Time `json:"trusted_at"`
	State  string    `json:"state"` // Trusted, Changed or Missing
}

// ListTrust gives all that the user has trusted, by path. With an error, which names the records that are
// ignored, the list has the others.
func ListTrust(o host.Options) ([]TrustedPath, error) {
	records, err := storeOf(o).List()
	list := make([]TrustedPath, len(records))
	for i, r := range records {
		list[i] = TrustedPath{Path: r.Path, SHA256: r.SHA256, At: r.At, State: stateNow(o, r)}
	}
	if err != nil {
		return list, usage("%w", err)
	}
	return list, nil
}

// stateNow compares a record with what is there.
func stateNow(o host.Options, r trust.Record) string {
	now := TrustProposal{Path: r.Path, Kind: TrustConfig}
	info, err := os.Stat(r.Path)
	if err != nil {
		return Missing
	}
	if info.IsDir() {
		now.Kind = TrustPlugins
	}
	_, _ = now.look(o) // a config that has faults now has a digest all the same
	if now.SHA256 == r.SHA256 {
		return Trusted
	}
	return Changed
}

// Revoke takes the trust back, and gives the path that is no longer trusted. What was trusted may be gone.
func Revoke(o host.Options, path string) (string, error) {
	named, _, err := trustable(o, path)
	if err != nil {
		if named, err = absolute(o, path); err != nil || path == "" {
			return "", usage("name the path that is no longer to be trusted: `bulkhead trust --list` has them")
		}
	}
	had, err := storeOf(o).Remove(named)
	if err != nil {
		return "", usage("%w", err)
	}
	if !had {
		return "", usage("%s is not trusted: `bulkhead trust --list` says what is", named)
	}
	return named, nil
}

// trustable is what path stands for, by the path under which a host finds it.
func trustable(o host.Options, path string) (found, kind string, err error) {
	if path == "" {
		if path, err = host.ConfigFile(o); err != nil {
			return "", "", err
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			dir, err := absolute(o, filepath.Join("dist", "plugins"))
			if info, serr := os.Stat(dir); err != nil || serr != nil || !info.IsDir() {
				return "", "", usage("there is no %s, and no dist/plugins beside it: name what is to be trusted", path)
			}
			path = dir
		}
	}
	if path, err = absolute(o, path); err != nil {
		return "", "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", "", usage("%s: %w", path, cause(err))
	}
	if info.IsDir() {
		if _, err := os.Stat(filepath.Join(path, config.FileName)); err == nil {
			path = filepath.Join(path, config.FileName)
		} else {
			return pluginsPath(path)
		}
	}
	if filepath.Base(path) != config.FileName {
		return "", "", usage("%s is not a %s, and no other file is looked for: name it with --config where you start the host", path, config.FileName)
	}
	found, err = trustPath(path)
	return found, TrustConfig, err
}

// pluginsPath is the path of a directory of plugins under which a host finds it.
func pluginsPath(path string) (found, kind string, err error) {
	top := filepath.Dir(filepath.Dir(path))
	if path != filepath.Join(top, "dist", "plugins") {
		return "", "", usage("%s holds no %s, and is no dist/plugins, where alone plugins are looked for: name it with --plugins where you start the host", path, config.FileName)
	}
	top, err = filepath.EvalSymlinks(top)
	if err != nil {
		return "", "", usage("%s: %w", path, cause(err))
	}
	return filepath.Join(top, "dist", "plugins"), TrustPlugins, nil
}

// trustPath is the path of a config under which a host finds it: its directory resolved, and its name as it is.
func trustPath(path string) (string, error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", usage("%s: %w", path, cause(err))
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// storeOf is where a host with these options looks up what the user trusts.
func storeOf(o host.Options) trust.Store {
	dir, _ := host.StateDir(o.System) // the store checks by itself whose it is
	return trust.In(dir)
}

// ConfigTrust says whether a config that was edited is obeyed where a host finds it by itself.
type ConfigTrust struct {
	Trusted bool   `json:"trusted"`
	Problem string `json:"problem,omitempty"` // why it could not stay trusted
	Remedy  string `json:"remedy,omitempty"`
}

// edit replaces a config's content. It is trusted afterwards if it was before, or if it is made by that: an edit
// adds what the user has agreed to, and nothing to what the user has not.
func (f *configFile) edit(content []byte, store trust.Store) (ConfigTrust, error) {
	path, err := trustPath(f.path)
	if err != nil {
		return ConfigTrust{}, err
	}
	agreed := !f.exists
	var problem error
	if f.exists {
		agreed, problem = store.Trusted(path, trust.Digest(f.data))
	}
	if err := f.replace(content); err != nil {
		return ConfigTrust{}, err
	}
	if filepath.Base(path) != config.FileName {
		return ConfigTrust{}, nil // it is obeyed where it is named, and never looked for
	}
	if agreed {
		problem = store.Add(path, trust.Digest(content))
	}
	if agreed && problem == nil {
		return ConfigTrust{Trusted: true}, nil
	}
	not := host.UntrustedError{Path: path, Reason: problem}
	return ConfigTrust{Problem: not.Problem(), Remedy: not.Remedy()}, nil
}

// Words say, for a person, what a config that is not trusted means; empty where nothing needs to be said.
func (t ConfigTrust) Words() string {
	if t.Trusted || t.Problem == "" {
		return ""
	}
	return fmt.Sprintf("%s, so no host that finds it there obeys it: %s", t.Problem, t.Remedy)
}
