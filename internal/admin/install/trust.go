package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/trust"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// The kinds of a TrustProposal.
const (
	TrustConfig  = "config"
	TrustPlugins = "plugins" // the directory dist/plugins of a working directory
)

// The states of a trusted path, besides Changed and Missing, which are also states of a Pin.
const (
	Trusted    = "trusted"
	NotTrusted = "not trusted"
)

// TrustProposal is a config, or a directory of plugins, that awaits the user's consent.
type TrustProposal struct {
	Path        string                 `json:"path"`
	Kind        string                 `json:"kind"`
	SHA256      string                 `json:"sha256"`
	Includes    []trust.File           `json:"includes,omitempty"` // the files that the config includes
	State       string                 `json:"state"`              // Trusted, NotTrusted or Changed
	Since       *time.Time             `json:"trusted_at,omitempty"`
	Plugins     []explain.PluginPolicy `json:"plugins"`
	Audit       string                 `json:"audit,omitempty"` // the file of the audit log
	AuditAlso   []string               `json:"audit_also,omitempty"`
	Telemetry   []string               `json:"telemetry,omitempty"` // where others can see what servers do
	HTTP        []string               `json:"http,omitempty"`      // what [http] says to serve --http
	Clients     []string               `json:"clients,omitempty"`   // whom each table of [[clients]] matches, and what others get
	Credentials []string               `json:"credentials,omitempty"`
	Catalogues  []TrustedSource        `json:"catalogues,omitempty"`  // where plugins are found by their names
	Revocations []TrustedSource        `json:"revocations,omitempty"` // lists of plugins that are not served, besides those of the ceiling
	Keys        map[string][]string    `json:"keys,omitempty"`        // which keys may sign plugins, by name space
	NotKept     []string               `json:"not_kept,omitempty"`    // why reviewed manifests are not kept; set by Write

	store    trust.Store
	reviewed reviewedManifests
	// Unrecorded is set by Write: why the audit log has no record of the consent.
	Unrecorded string `json:"unrecorded,omitempty"`

	audit  *config.Audit
	pinned []*manifest.Manifest
}

// ProposeTrust reviews a config, or a directory of plugins, with the decisions of a host that discovers it. path may
// be the directory of the config; if it is empty, ProposeTrust reviews what a host with these options discovers. The
// content is read once, so Write records exactly what was reviewed.
func ProposeTrust(o discovery.Options, path string) (*TrustProposal, error) {
	path, kind, err := resolveTrustPath(o, path)
	if err != nil {
		return nil, err
	}
	p := &TrustProposal{Path: path, Kind: kind, Plugins: []explain.PluginPolicy{}, store: trustStore(o), reviewed: reviewedIn(o)}
	view, err := p.load(o)
	if err != nil {
		return nil, err
	}
	for _, s := range view.Plugins {
		p.Plugins = append(p.Plugins, explain.PolicyOf(o, view, s))
		if s.Manifest != nil && s.Entry.SHA256 == s.Manifest.Digest {
			p.pinned = append(p.pinned, s.Manifest)
		}
	}
	p.describe(view)
	record, err := p.store.Lookup(path)
	if err != nil {
		return nil, usage.Errorf("%w", err)
	}
	p.State = NotTrusted
	if record != nil {
		p.State, p.Since = Changed, &record.At
		if record.SHA256 == p.SHA256 && slices.Equal(record.Includes, p.Includes) {
			p.State = Trusted
		}
	}
	return p, nil
}

// load reads the config or the plugins once, and decides on grants as a host does that is started in their directory. It sets
// p.SHA256.
func (p *TrustProposal) load(o discovery.Options) (*catalog.Catalog, error) {
	o.ConfigFile, o.PluginsDir, o.NoConfig, o.Plugins = "", "", false, nil
	o = discovery.WithoutPlugins(o)
	if p.Kind == TrustPlugins {
		o.System.Dir, o.PluginsDir, o.NoConfig = filepath.Dir(filepath.Dir(p.Path)), p.Path, true
		view, err := catalog.Look(o)
		if err == nil {
			p.SHA256, err = discovery.PluginsDigest(view.Candidates)
		}
		if err != nil {
			return nil, usage.Errorf("%s cannot be trusted: %w", p.Path, err)
		}
		return view, nil
	}
	data, err := tomlfile.ReadFile(p.Path)
	if err != nil {
		return nil, usage.Errorf("%s: %w", p.Path, err)
	}
	p.SHA256 = userfile.Digest(data)
	o.System.Dir, o.ConfigFile = filepath.Dir(p.Path), p.Path
	view, err := catalog.LookAs(o, data)
	if view != nil {
		for _, f := range view.Files[1:] {
			p.Includes = append(p.Includes, trust.File{Path: f.Path, SHA256: f.SHA256})
		}
	}
	return view, err
}

// Write records the user's consent, and keeps the manifests that the config pins, which were reviewed with it.
func (p *TrustProposal) Write() (err error) {
	p.Unrecorded, err = recorded(p.audit, true, func() ([]audit.Record, error) {
		record := policyChange("trust", p.Path)
		record.Digest = p.SHA256
		return []audit.Record{record}, p.store.Add(p.Path, p.SHA256, p.Includes...)
	})
	if err != nil {
		return usage.Errorf("%s cannot be trusted: %w", p.Path, err)
	}
	p.State = Trusted
	for _, m := range p.pinned {
		content, err := readReviewed(m)
		if err == nil {
			err = p.reviewed.add(content)
		}
		if err != nil {
			p.NotKept = append(p.NotKept, err.Error())
		}
	}
	return nil
}

// TrustedPath is a trust record, and whether the file still matches it.
type TrustedPath struct {
	Path   string    `json:"path"`
	SHA256 string    `json:"sha256"`
	At     time.Time `json:"trusted_at"`
	State  string    `json:"state"` // Trusted, Changed or Missing
}

// ListTrust returns all trust records, sorted by path. If some records are ignored, it returns an error that names them, and all
// other records.
func ListTrust(o discovery.Options) ([]TrustedPath, error) {
	records, err := trustStore(o).List()
	list := make([]TrustedPath, len(records))
	for i, r := range records {
		list[i] = TrustedPath{Path: r.Path, SHA256: r.SHA256, At: r.At, State: currentState(o, r)}
	}
	if err != nil {
		return list, usage.Errorf("%w", err)
	}
	return list, nil
}

// TrustedProjects returns the directories whose config is trusted, also if it has changed. The error names records that are ignored.
func TrustedProjects(o discovery.Options) ([]string, error) {
	records, err := trustStore(o).List()
	var dirs []string
	for _, r := range records {
		if filepath.Base(r.Path) == config.FileName {
			dirs = append(dirs, filepath.Dir(r.Path))
		}
	}
	if err != nil {
		err = usage.Errorf("%w", err)
	}
	return dirs, err
}

// currentState compares a record with the current content of its path.
func currentState(o discovery.Options, r trust.Record) string {
	current := TrustProposal{Path: r.Path, Kind: TrustConfig}
	info, err := os.Stat(r.Path)
	if err != nil {
		return Missing
	}
	if info.IsDir() {
		current.Kind = TrustPlugins
	}
	_, _ = current.load(o) // load sets the digest of an invalid config, too
	if current.SHA256 != r.SHA256 || slices.ContainsFunc(r.Includes, hasChanged) {
		return Changed
	}
	return Trusted
}

// hasChanged reports whether an included file differs from its record.
func hasChanged(f trust.File) bool {
	data, err := tomlfile.ReadFile(f.Path)
	return err != nil || userfile.Digest(data) != f.SHA256
}

// Revoke removes the record of a path and returns its canonical path, and why the audit log has no record of that: see recorded. The path
// itself need not exist any more.
func Revoke(o discovery.Options, path string) (revoked, unrecorded string, err error) {
	named, _, err := resolveTrustPath(o, path)
	if err != nil {
		if named, err = discovery.Absolute(o, path); err != nil || path == "" {
			return "", "", usage.Errorf("name the path to revoke: `bulkhead trust --list` lists the trusted paths")
		}
	}
	o.ConfigFile, o.System.Dir = "", filepath.Dir(named)
	unrecorded, err = recorded(discovery.FindAudit(o), false, func() ([]audit.Record, error) {
		had, err := trustStore(o).Remove(named)
		if err == nil && !had {
			err = fmt.Errorf("%s is not trusted: `bulkhead trust --list` lists the trusted paths", named)
		}
		return []audit.Record{policyChange("revoke", named)}, err
	})
	if err != nil {
		return "", "", usage.Errorf("%w", err)
	}
	return named, unrecorded, nil
}

// resolveTrustPath returns the path at which a host discovers the config or the plugins that path names.
func resolveTrustPath(o discovery.Options, path string) (found, kind string, err error) {
	if path == "" {
		if path, err = discovery.DiscoveredConfig(o); err != nil {
			return "", "", err
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			dir, err := discovery.Absolute(o, filepath.Join("dist", "plugins"))
			if info, serr := os.Stat(dir); err != nil || serr != nil || !info.IsDir() {
				return "", "", usage.Errorf("there is no %s, and no dist/plugins beside it: name the path to trust", path)
			}
			path = dir
		}
	}
	if path, err = discovery.Absolute(o, path); err != nil {
		return "", "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", "", usage.Errorf("%s: %w", path, usage.Cause(err))
	}
	if info.IsDir() {
		if _, err := os.Stat(filepath.Join(path, config.FileName)); err == nil {
			path = filepath.Join(path, config.FileName)
		} else {
			return resolvePluginsDir(path)
		}
	}
	if filepath.Base(path) != config.FileName {
		return "", "", usage.Errorf("the host discovers only files named %[2]s, not %[1]s: start it with --config to use this one", path, config.FileName)
	}
	found, err = resolveDir(path)
	return found, TrustConfig, err
}

// resolvePluginsDir returns the path at which a host discovers a directory of plugins.
func resolvePluginsDir(path string) (found, kind string, err error) {
	parent := filepath.Dir(filepath.Dir(path))
	if path != filepath.Join(parent, "dist", "plugins") {
		return "", "", usage.Errorf("%s contains no %s and is not a dist/plugins, so the host does not discover it: start the host with --plugins to use it", path, config.FileName)
	}
	parent, err = filepath.EvalSymlinks(parent)
	if err != nil {
		return "", "", usage.Errorf("%s: %w", path, usage.Cause(err))
	}
	return filepath.Join(parent, "dist", "plugins"), TrustPlugins, nil
}

// resolveDir resolves symbolic links in the directory of path, but not in its last element, as discovery does.
func resolveDir(path string) (string, error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", usage.Errorf("%s: %w", path, usage.Cause(err))
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// trustStore returns the store of the trust records that a host with these options uses.
func trustStore(o discovery.Options) trust.Store {
	dir, _ := discovery.StateDir(o.System) // the store itself checks who owns the directory
	return trust.In(dir)
}
