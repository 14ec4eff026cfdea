package registry

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// writeIndex updates the index. It computes the row of the published package, and the rows of packages that have none,
// from the metadata of these packages. It drops the rows of packages that no longer exist, and keeps all other rows. It
// does not read all metadata, because reading the metadata of 10,000 packages takes longer than the time limit of a
// call.
func (r Registry) writeIndex(published *journal) error {
	if p := published.index; p != nil {
		old, err := r.indexData()
		if err != nil {
			return err
		}
		if bytes.Equal(old, p.old) { // no other program has changed the index since the plan was made
			return files.Replace(r.Files, r.indexPath(), p.data)
		}
	}
	p, err := r.newIndex(published, nil)
	if err != nil {
		return err
	}
	return files.Replace(r.Files, r.indexPath(), p.data)
}

// indexPlan is the new content of the index. It is encoded before Publish writes any file, so that an error leaves the
// registry unchanged. Only encoding shows the size, because the current index may be in another YAML style.
type indexPlan struct {
	data []byte
	old  []byte // the content of the current index; nil if the index does not exist or is too large
}

// indexData returns the content of the current index; nil if the index does not exist or is too large.
func (r Registry) indexData() ([]byte, error) {
	data, err := files.ReadInside(r.Files, r.Root, r.indexPath(), maxIndex)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, files.ErrTooLarge):
		return nil, nil
	case errors.Is(err, contain.ErrOutside):
		return nil, r.unreachable("%w", err)
	}
	return data, err
}

// newIndex encodes the new index. The argument m is the metadata of the published package; if m is nil, newIndex reads
// the metadata from the registry. It returns an error if the index would exceed the size limit.
func (r Registry) newIndex(published *journal, m *Metadata) (*indexPlan, error) {
	oldData, err := r.indexData()
	if err != nil {
		return nil, err
	}
	old, err := parseIndex(oldData)
	if err != nil {
		old = nil // an invalid index is replaced, because all rows can be computed from the metadata
	}
	places := make(map[string]int, len(old))
	for i, row := range old {
		places[pkgname.Folder(row.Name)] = i
	}
	folders, err := r.folders()
	if err != nil {
		return nil, err
	}
	its := pkgname.Folder(published.name)
	if at, exists := slices.BinarySearch(folders, its); m != nil && !exists {
		folders = slices.Insert(folders, at, its)
	}
	list := yaml11.NewListEncoder(packages, len(oldData)+1024, maxIndex)
	for _, folder := range folders {
		var row Entry
		at, exists := places[folder]
		if exists {
			row = old[at]
		}
		switch {
		case folder == its && m != nil:
			row, exists = summary(m, row, published), true
		case folder == its || !exists:
			if row, exists, err = r.summarize(folder, row, published); err != nil {
				return nil, err
			}
		}
		if !exists {
			continue
		}
		if err := list.Add(row.encode()); errors.Is(err, yaml11.ErrTooLarge) {
			return nil, r.full(r.indexPath(), maxIndex)
		} else if err != nil {
			return nil, err
		}
	}
	return &indexPlan{list.Bytes(), oldData}, nil
}

// folders returns the sorted names of the directories of all packages.
func (r Registry) folders() ([]string, error) {
	entries, err := r.Files.ReadDir(filepath.Join(r.Root, "packages"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names, nil
}

// summarize computes the row of the package in a directory from the metadata of the package. It returns false if the
// directory has no valid metadata. The argument "old" is the row in the current index.
func (r Registry) summarize(folder string, old Entry, published *journal) (Entry, bool, error) {
	data, err := files.ReadInside(r.Files, r.Root, filepath.Join(r.Root, "packages", folder, "metadata.yaml"), maxMetadata)
	if pathErr := new(fs.PathError); errors.As(err, &pathErr) && !errors.Is(err, fs.ErrNotExist) {
		return Entry{}, false, err
	}
	if err != nil {
		return Entry{}, false, nil
	}
	m, err := parseMetadata(data)
	if err != nil || pkgname.Folder(m.Name) != folder {
		return Entry{}, false, nil
	}
	return summary(m, old, published), true, nil
}

// summary returns the row for a package with the metadata m. The metadata contains no artifact types. For the published
// version, summary takes them from the journal. For another version, it takes them from the old row if the latest
// version in that row is the same.
func summary(m *Metadata, old Entry, published *journal) Entry {
	e := Entry{Name: m.Name, Description: m.Description, Latest: m.Latest(), Keywords: m.Keywords, ArtifactTypes: []string{}}
	if len(m.Versions) > 0 {
		e.UpdatedAt = m.Versions[len(m.Versions)-1].Published
	}
	switch {
	case published.name == m.Name && published.version == e.Latest:
		for _, t := range published.types {
			e.ArtifactTypes = append(e.ArtifactTypes, string(t))
		}
	case old.Name == e.Name && old.Latest == e.Latest:
		e.ArtifactTypes = old.ArtifactTypes
	}
	return e
}
