package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Version is a version of a plugin that a source has.
type Version struct {
	Version   string
	Reference Reference
}

// ErrNotListed is the error for references whose source cannot say which versions it has.
var ErrNotListed = errors.New("its source does not list versions: add a newer one with `bulkhead add REF --repin`")

// maxListed bounds the files of a directory that are looked at.
const maxListed = 10000

// Series returns what the references to all versions of a plugin have in common: the repository of a registry, otherwise the reference to one of
// them, with * for its version.
func (r Reference) Series(version string) string {
	if r.Kind == OCI {
		return registry.Reference{Registry: r.OCI.Registry, Repository: r.OCI.Repository}.String()
	}
	return strings.ReplaceAll(r.Label(), version, "*")
}

// Versions returns the versions that the source of r has, in no order. version is the one that r names. What is listed is not verified: a caller must
// compare the version in the manifest.
func (f *Fetcher) Versions(ctx context.Context, r Reference, version string) ([]Version, error) {
	defer f.Task.Done("")
	switch r.Kind {
	case File:
	case OCI:
		return f.tagged(ctx, r)
	default:
		return nil, ErrNotListed
	}
	dir, name := filepath.Split(r.Path)
	before, after, found := strings.Cut(name, version)
	if !found {
		return nil, fmt.Errorf("%s does not contain the version %s: %w", name, version, ErrNotListed)
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, usage.Errorf("%s: %w", dir, usage.Cause(err))
	}
	defer d.Close()
	names, err := d.Readdirnames(maxListed + 1)
	switch {
	case len(names) > maxListed:
		return nil, usage.Errorf("%s has more than %d files", dir, maxListed)
	case len(names) == 0 && err != nil:
		return nil, usage.Errorf("%s: %w", dir, err)
	}
	var out []Version
	for _, name := range names {
		middle, ok := strings.CutPrefix(name, before)
		if ok {
			middle, ok = strings.CutSuffix(middle, after)
		}
		if ok && manifest.IsVersion(middle) {
			out = append(out, Version{middle, Reference{Kind: File, Path: filepath.Join(dir, name)}})
		}
	}
	return out, nil
}

// tagged returns the versions that a repository has tags for, with or without a leading v.
func (f *Fetcher) tagged(ctx context.Context, r Reference) ([]Version, error) {
	tags, err := f.registry().Tags(ctx, r.OCI)
	if err != nil {
		return nil, usage.Errorf("%w", err)
	}
	var out []Version
	for _, tag := range tags {
		version := registry.VersionOf(tag)
		if !manifest.IsVersion(version) || slices.ContainsFunc(out, func(v Version) bool { return v.Version == version }) {
			continue
		}
		ref := r.OCI
		ref.Tag, ref.Digest = tag, ""
		out = append(out, Version{version, Reference{Kind: OCI, OCI: ref}})
	}
	return out, nil
}
