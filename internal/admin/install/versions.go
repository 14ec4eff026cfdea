package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/catalogue"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
)

// SkippedVersion is a version that is not chosen because it is revoked.
type SkippedVersion struct {
	Version string `json:"version"`
	Why     string `json:"why"`
}

// maxInspected bounds the archives that are fetched to find a version of a plugin that is not revoked. The digests are unknown before.
const maxInspected = 16

// fetcherOf returns the Fetcher for a reference.
type fetcherOf = func(reference string) *source.Fetcher

// addStored adds the versions of the same source that the store has.
func (u *Update) addStored(items []store.Item) {
	for _, item := range items {
		if !u.isVersion(item) {
			continue
		}
		u.stored, u.inspected[item.Version] = append(u.stored, source.Version{Version: item.Version}), true
		if why := u.admission.Revoked(item.Digest, item.Module); why != "" {
			u.revoked[item.Version] = why
		}
	}
}

// isVersion reports whether an item of the store is a version of the plugin, and of the same source.
func (u *Update) isVersion(item store.Item) bool {
	if item.Problem != nil || item.Name != u.Plugin {
		return false
	}
	from, err := source.Parse(item.Origin.From, "/")
	return err == nil && from.Series(item.Version) == u.reference.Series(u.Version)
}

func compareVersions(a, b string) int { return semver.Compare("v"+a, "v"+b) }

// choose sets what u says about versions, from those that are known and not revoked.
func (u *Update) choose() {
	isRelease := func(version string) bool { return semver.Prerelease("v"+version) == "" }
	newestFirst := func(a, b source.Version) int { return compareVersions(b.Version, a.Version) }
	u.Newest, u.Beyond, u.Former, u.Skipped, u.Refused = "", "", "", nil, ""
	for _, v := range slices.SortedStableFunc(slices.Values(u.versions), newestFirst) {
		wanted := config.Wants(u.Wanted, v.Version)
		switch isNewer := compareVersions(v.Version, u.Version) > 0 && isRelease(v.Version); {
		case !wanted && !isNewer:
		case u.revoked[v.Version] != "":
			u.Skipped = append(u.Skipped, SkippedVersion{v.Version, u.revoked[v.Version]})
		case wanted:
			u.Newest = cmp.Or(u.Newest, v.Version)
		default:
			u.Beyond = cmp.Or(u.Beyond, v.Version)
		}
	}
	if u.Problem == "" {
		if u.State = Current; u.Newest != "" {
			u.State = Outdated
		}
	}
	if u.refusal == nil {
		return
	}
	if u.Refused = u.refusal.String(); u.refusal.Revoked {
		for _, v := range slices.SortedStableFunc(slices.Values(slices.Concat(u.versions, u.stored)), newestFirst) {
			if compareVersions(v.Version, u.Version) < 0 && isRelease(v.Version) && u.revoked[v.Version] == "" {
				u.Former = cmp.Or(u.Former, v.Version)
			}
		}
		u.Refused = u.refusal.What + ": " + u.remedy()
	}
}

// remedy returns which command pins a version that is not revoked.
func (u *Update) remedy() string {
	var others []string
	for _, version := range []string{u.Beyond, u.Former} {
		if version != "" {
			others = append(others, fmt.Sprintf("`bulkhead update %s --to %s`", u.Plugin, version))
		}
	}
	isRevoked := u.refusal != nil && u.refusal.Revoked
	switch {
	case u.Newest != "":
		return fmt.Sprintf("update it to %s with `bulkhead update %s`", u.Newest, u.Plugin)
	case len(others) > 0:
		return "pin a version that is not revoked with " + strings.Join(others, " or ")
	case isRevoked && u.Problem != "":
		return fmt.Sprintf("its other versions are not known now: try again, or remove it with `bulkhead remove %s`", u.Plugin)
	case isRevoked:
		return fmt.Sprintf("it has no other version that is not revoked: remove it with `bulkhead remove %s`", u.Plugin)
	}
	return fmt.Sprintf("keep %s until there is a newer version that is not revoked: `bulkhead update --check %s` says so", u.Version, u.Plugin)
}

// Settle fetches the versions that u names until none of them is revoked, if the digests of versions are not known and something is revoked. What
// cannot be fetched is not known to be revoked.
func (u *Update) Settle(ctx context.Context, o discovery.Options, fetcher fetcherOf) {
	for range maxInspected {
		next := slices.IndexFunc([]string{u.Newest, u.Beyond, u.Former}, func(version string) bool { return version != "" && !u.inspected[version] })
		if next < 0 || !u.admission.RevokesAny() || ctx.Err() != nil {
			return
		}
		version := []string{u.Newest, u.Beyond, u.Former}[next]
		u.inspected[version] = true
		s, err := u.stage(ctx, o, version, fetcher)
		if s != nil {
			_ = s.Close() // only its digests were needed
		}
		if err == nil {
			continue
		}
		if revoked := (*revokedError)(nil); errors.As(err, &revoked) {
			u.revoked[version] = revoked.why
			u.choose()
		}
	}
}

// StageNewest fetches the newest version that is wanted and not revoked. It returns nil if there is none.
func StageNewest(ctx context.Context, o discovery.Options, u *Update, fetcher fetcherOf) (*Staged, error) {
	for range maxInspected {
		if u.Newest == "" {
			break
		}
		s, err := u.stage(ctx, o, u.Newest, fetcher)
		revoked := (*revokedError)(nil)
		if !errors.As(err, &revoked) {
			return s, err
		}
		u.revoked[u.Newest] = revoked.why
		u.choose()
	}
	if u.Newest != "" {
		return nil, usage.Errorf("the %d newest versions of %s are revoked: pin an older one with `bulkhead update %s --to VERSION`", maxInspected, u.Plugin, u.Plugin)
	}
	u.Settle(ctx, o, fetcher)
	return nil, nil
}

// StageVersion fetches a version of the plugin: from the store if it is there, with an origin of the same source, else from the source.
func StageVersion(ctx context.Context, o discovery.Options, u *Update, version string, fetcher fetcherOf) (*Staged, error) {
	s, err := u.stage(ctx, o, version, fetcher)
	if revoked := (*revokedError)(nil); errors.As(err, &revoked) {
		u.revoked[version] = revoked.why
		u.choose()
		u.Settle(ctx, o, fetcher)
		return nil, usage.Errorf("%w; still pinned: %s; %s", revoked, u.Version, u.remedy())
	}
	return s, err
}

// revokedError says that a version is revoked.
type revokedError struct{ version, why string }

func (e *revokedError) Error() string { return e.version + " " + e.why }

// stage returns a version that is not revoked. A version that is known to be revoked is not fetched.
func (u *Update) stage(ctx context.Context, o discovery.Options, version string, fetcher fetcherOf) (*Staged, error) {
	if why := u.revoked[version]; why != "" {
		return nil, &revokedError{u.Plugin + " " + version, why}
	}
	s, err := u.stageAny(ctx, o, version, fetcher)
	if err != nil {
		return nil, err
	}
	m := s.plugin.Manifest
	if why := u.admission.Revoked(m.Digest, m.Module.SHA256); why != "" {
		return nil, errors.Join(&revokedError{m.Name + " " + m.Version, why}, s.Close())
	}
	return s, nil
}

// stageAny returns a version that may be revoked.
func (u *Update) stageAny(ctx context.Context, o discovery.Options, version string, fetcher fetcherOf) (*Staged, error) {
	s, err := u.stageStored(ctx, o, version)
	if s != nil || err != nil {
		return s, err
	}
	at := slices.IndexFunc(u.versions, func(v source.Version) bool { return v.Version == version })
	if at < 0 {
		return nil, usage.Errorf("there is no version %s of %s: %s", version, u.Plugin, u.existing())
	}
	from := u.versions[at].Reference
	if len(u.entries) > 0 {
		return StageFound(ctx, fetcher(from.String()), &catalogue.Found{Entry: u.entries[at], Catalogue: u.Catalogue}, u.signer)
	}
	if s, err = Stage(ctx, fetcher(from.String()), from, u.signer); err != nil {
		return nil, err
	}
	if m := s.plugin.Manifest; m.Version != version || m.Name != u.Plugin {
		return nil, errors.Join(usage.Errorf("%s contains %s %s, and not %s %s", from.Label(), m.Name, m.Version, u.Plugin, version), s.Close())
	}
	return s, nil
}

// stageStored returns a version that is in the store, nil if none is.
func (u *Update) stageStored(ctx context.Context, o discovery.Options, version string) (*Staged, error) {
	plugins, err := discovery.Store(o.System)
	if err != nil {
		return nil, err
	}
	items, err := plugins.List()
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		if item.Version != version || !u.isVersion(item) {
			continue
		}
		data, origin, err := plugins.Export(item.Digest)
		if err != nil {
			return nil, err
		}
		p, err := store.Open(data)
		if err != nil {
			return nil, err
		}
		key, err := verifyStored(data, origin)
		if err != nil {
			return nil, usage.Errorf("%s %s in the store: %w", item.Name, item.Version, err)
		}
		return newStaged(ctx, p, origin, key, false)
	}
	return nil, nil
}
