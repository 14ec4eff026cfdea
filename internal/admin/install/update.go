package install

import (
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/catalogue"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
)

// The states of an Update.
const (
	Current  = "current"  // no newer version is wanted
	Outdated = "outdated" // Newest is wanted
	Unknown  = "unknown"  // the source does not list versions
	// Failed: the source cannot be read
)

// Update is a plugin of the config that was fetched, and the versions that its source has.
type Update struct {
	Plugin  string `json:"plugin,omitempty"` // empty if it is not known, because the plugin is not in the store
	Version string `json:"version"`          // the version that is pinned
	Wanted  string `json:"wanted,omitempty"` // version in the config, with the operator of its range
	From    string `json:"from"`
	At      string `json:"at"`               // the table of the config
	Newest  string `json:"newest,omitempty"` // the newest version of the range; empty if there is none
	// Beyond is the newest version out of the range; empty if there is none.
	Beyond  string `json:"beyond,omitempty"`
	State   string `json:"state"`
	Problem string `json:"problem,omitempty"` // why State is Unknown or Failed
	Refused string `json:"refused,omitempty"` // why the pinned version is not served, such as that it is revoked
	// Former is the newest version before the pinned one that is not revoked; only set if the pinned one is revoked.
	Former string `json:"former,omitempty"`
	// Skipped are the newer versions that are revoked, the newest first.
	Skipped []SkippedVersion `json:"skipped,omitempty"`

	// Catalogue is the address of the catalogue that lists the versions of the plugin; empty if its source does.
	Catalogue string `json:"catalogue,omitempty"`

	signer    signature.Key // the key that the config names
	reference source.Reference
	versions  []source.Version
	entries   []catalogue.Entry // those of versions that a catalogue lists
	stored    []source.Version  // those of the same source in the store; read only if something is revoked

	admission *discovery.Admission
	refusal   *discovery.Refusal // of the pinned version
	revoked   map[string]string  // why, by version
	inspected map[string]bool    // the versions whose digests were compared with the lists of revoked plugins
}

// fetchedPlugins are the plugins of a config that were fetched.
type fetchedPlugins struct {
	config  *config.Config
	plugins []config.Plugin
	store   store.Store
}

// ErrNothingPinned says that there is no config.
var ErrNothingPinned = errors.New("nothing is pinned")

// readFetched reads the config, which must be one that a host with these options would use.
func readFetched(o discovery.Options) (*fetchedPlugins, error) {
	source, file, err := findConfigFile(o)
	if err != nil {
		return nil, err
	}
	if !file.Exists {
		return nil, usage.Errorf("there is no %s, so %w: add plugins with `bulkhead add REF`, or pass the config's path with --config", source.File, ErrNothingPinned)
	}
	c, problems, err := discovery.ParseTrusted(o, source, file.Data)
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return nil, &usage.Error{Err: err}
	}
	f := &fetchedPlugins{config: c}
	for _, p := range c.Plugins {
		if p.From != "" {
			f.plugins = append(f.plugins, p)
		}
	}
	f.store, err = discovery.Store(o.System)
	return f, err
}

// Updates returns which versions there are of the named plugins, or of all if there are no names.
func Updates(ctx context.Context, o discovery.Options, names []string, fetcher func(reference string) *source.Fetcher) ([]Update, error) {
	all := []Update{}
	f, err := readFetched(o)
	if err != nil {
		return all, err
	}
	admission, err := discovery.FindAdmission(o, f.config)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, p := range f.plugins {
		u := f.describe(p, admission)
		known = append(known, u.Plugin)
		if len(names) == 0 || slices.Contains(names, u.Plugin) {
			all = append(all, u)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, usage.Errorf("%s names no plugin %q that was fetched: %s", f.config.File, name, usage.DidYouMean(name, known, "those are "+strings.Join(known, ", ")))
		}
	}
	if len(all) == 0 {
		return all, nil
	}
	sources, err := catalogue.Open(o)
	if err == nil {
		err = sources.Load(ctx, 0, fetcher)
	}
	if err != nil {
		return nil, err
	}
	var stored []store.Item
	if admission.RevokesAny() {
		if stored, err = f.store.List(); err != nil {
			return nil, err
		}
	}
	for i := range all {
		all[i].look(ctx, sources, fetcher)
		all[i].addStored(stored)
		all[i].choose()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return all, nil
}

// describe returns what the config and the store say about a plugin.
func (f *fetchedPlugins) describe(p config.Plugin, admission *discovery.Admission) Update {
	u := Update{Wanted: p.Version, From: p.From, At: p.At("from"), signer: p.Signer, admission: admission, revoked: map[string]string{}, inspected: map[string]bool{}}
	_, u.Version = config.SplitVersion(p.Version)
	if m, problems := manifest.Load(f.store.Path(p.SHA256)); problems.Err() == nil && m.Digest == p.SHA256 {
		u.Plugin, u.Version = m.Name, m.Version
		p.Path = m.Dir
		u.refusal = admission.Refusal(p, m)
	}
	return u
}

// look asks the catalogues for versions, or the source if none has the plugin.
func (u *Update) look(ctx context.Context, sources *catalogue.Sources, fetcher func(reference string) *source.Fetcher) {
	var err error
	if u.Plugin == "" {
		err = errors.New("it is not in the store: fetch it with `bulkhead update --pinned`")
	} else if u.reference, err = source.Parse(u.From, "/"); err == nil {
		if u.entries, u.Catalogue, err = sources.Versions(u.Plugin, u.Version, u.signer, u.reference); len(u.entries) > 0 {
			for _, e := range u.entries {
				u.versions = append(u.versions, source.Version{Version: e.Version, Reference: e.Reference()})
				if e.Revoked != "" {
					u.revoked[e.Version] = e.Revoked
				}
			}
		} else if err == nil {
			u.versions, err = fetcher(u.From).Versions(ctx, u.reference, u.Version)
		}
	}
	switch {
	case errors.Is(err, source.ErrNotListed):
		u.State, u.Problem = Unknown, err.Error()
	case err != nil:
		u.State, u.Problem = Failed, err.Error()
	}
}

// existing returns which versions there are, for an error.
func (u Update) existing() string {
	if u.Problem != "" {
		return u.Problem
	}
	var versions []string
	for _, v := range u.versions {
		versions = append(versions, "v"+v.Version)
	}
	if len(versions) == 0 {
		return "its source has none"
	}
	where := "its source has "
	if u.Catalogue != "" {
		where = "the catalogue " + u.Catalogue + " has "
	}
	semver.Sort(versions)
	slices.Reverse(versions)
	const shown = 20
	more := ""
	if len(versions) > shown {
		versions, more = versions[:shown], " and older ones"
	}
	return where + strings.ReplaceAll(strings.Join(versions, ", "), "v", "") + more
}

// Grows reports whether the other version asks for more, or is granted more, than the pinned one, or whether that is not known.
func (r *Revision) Grows() bool {
	return r.Unknown != "" || r.More || r.Grants == nil || slices.ContainsFunc(r.Grants, func(l review.GrantLine) bool { return l.Change == review.Added })
}

// CheckVersion returns a *usage.Error if a version that the user has written is none.
func CheckVersion(version string) error {
	if manifest.IsVersion(version) {
		return nil
	}
	return usage.Errorf("%s is not a version: write one such as 1.4.2", tomlfile.Quote(version))
}
