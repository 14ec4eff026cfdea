package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// reviewedManifests is a directory with the manifests that the user has agreed to, each named by the digest by which configs pin it. A pin
// says only that a manifest has changed; with the reviewed content the next review can say what has. Nothing is granted by it: content whose
// digest differs from its name is not used.
type reviewedManifests struct{ dir string }

const (
	reviewedDir    = ".reviewed"
	reviewedSuffix = ".toml"
	// maxReviewed is the number of manifests that are kept: the newest ones. A manifest has at most tomlfile.MaxSize bytes.
	maxReviewed = 200
)

// reviewedIn returns the directory that belongs to a host with these options. Without a state directory nothing is kept.
func reviewedIn(o discovery.Options) reviewedManifests {
	state, _ := discovery.StateDir(o.System) // check reports why it cannot be used
	if state == "" {
		return reviewedManifests{}
	}
	return reviewedManifests{filepath.Join(state, reviewedDir)}
}

var errNoReviewed = errors.New("there is no state directory: set HOME or XDG_STATE_HOME to a directory of the user")

// check returns an error if other users can change the directory: they could fill it.
func (r reviewedManifests) check() error {
	if r.dir == "" {
		return errNoReviewed
	}
	if err := ownedpath.CheckState(filepath.Dir(r.dir)); err != nil {
		return errors.New(ownedpath.Explain(err))
	}
	return nil
}

// add keeps the content of a manifest, and removes the oldest ones beyond maxReviewed.
func (r reviewedManifests) add(content []byte) error {
	if err := r.check(); err != nil {
		return err
	}
	if err := ownedpath.Make(r.dir); err != nil {
		return errors.New(ownedpath.Explain(err))
	}
	err := atomicfile.Replace(filepath.Join(r.dir, userfile.Digest(content)+reviewedSuffix), content, atomicfile.Options{Mode: 0o600, Pattern: ".new-*", SweepAge: atomicfile.LongestWrite})
	return errors.Join(err, r.prune())
}

// prune removes the manifests that were kept first.
func (r reviewedManifests) prune() error {
	entries, err := os.ReadDir(r.dir)
	if err != nil || len(entries) <= maxReviewed {
		return err
	}
	type kept struct {
		name string
		at   time.Time
	}
	var all []kept
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has removed it
		}
		if err != nil {
			return err
		}
		if userfile.IsDigest(strings.TrimSuffix(e.Name(), reviewedSuffix)) {
			all = append(all, kept{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return b.at.Compare(a.at) })
	for _, old := range all[min(maxReviewed, len(all)):] {
		if err := os.Remove(filepath.Join(r.dir, old.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// find returns the manifest with a digest, as that of the plugin whose manifest is the file; nil if it is not kept. An error says why it cannot
// be used.
func (r reviewedManifests) find(digest, file string) (*manifest.Manifest, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	path := filepath.Join(r.dir, digest+reviewedSuffix)
	data, err := tomlfile.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case userfile.Digest(data) != digest:
		return nil, fmt.Errorf("%s does not have the digest that is its name: remove it", path)
	}
	m, problems := manifest.Parse(file, data)
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("this version of bulkhead refuses the manifest: %w", err)
	}
	return m, nil
}

// readReviewed returns the content of the file of m, which must be the one that was parsed.
func readReviewed(m *manifest.Manifest) ([]byte, error) {
	data, err := tomlfile.ReadFile(m.File)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.File, err)
	}
	if userfile.Digest(data) != m.Digest {
		return nil, fmt.Errorf("%s has changed since it was read: review it again", m.File)
	}
	return data, nil
}
