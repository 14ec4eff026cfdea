package registry

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
)

// writeIndex makes the index anew of what is known of each package. What only the index knows, the types of
// artifacts, is kept for versions that are still the latest; published is the one whose types are known.
func (r Registry) writeIndex(published *journal) error {
	old, err := r.Index()
	if err != nil {
		old = nil // it is only a summary, so a broken one is made anew
	}
	folders, err := r.Files.ReadDir(filepath.Join(r.Root, "packages"))
	if err != nil {
		return err
	}
	var entries []Entry
	for _, folder := range folders {
		data, err := files.ReadInside(r.Files, r.Root, filepath.Join(r.Root, "packages", folder.Name(), "metadata.yaml"), maxMetadata)
		if errors.Is(err, fs.ErrNotExist) {
			continue // no package's folder
		}
		var m *Metadata
		if err == nil {
			m, err = parseMetadata(data)
		}
		if err != nil {
			entries = append(entries, rowsOf(old, folder.Name())...)
			continue
		}
		entries = append(entries, summary(m, old, published))
	}
	data, err := encodeIndex(entries)
	if err != nil {
		return err
	}
	return files.Replace(r.Files, r.indexPath(), data)
}

// rowsOf returns the row of a package whose metadata cannot be read: it stays as it is.
func rowsOf(old []Entry, folder string) []Entry {
	for _, e := range old {
		if pkgname.Folder(e.Name) == folder {
			return []Entry{e}
		}
	}
	return nil
}

func summary(m *Metadata, old []Entry, published *journal) Entry {
	e := Entry{Name: m.Name, Description: m.Description, Latest: m.Latest(), Keywords: m.Keywords, ArtifactTypes: []string{}}
	if len(m.Versions) > 0 {
		e.UpdatedAt = m.Versions[len(m.Versions)-1].Published
	}
	if published.name == m.Name && published.version == e.Latest {
		for _, t := range published.types {
			e.ArtifactTypes = append(e.ArtifactTypes, string(t))
		}
		return e
	}
	for _, row := range old {
		if row.Name == e.Name && row.Latest == e.Latest {
			e.ArtifactTypes = row.ArtifactTypes
		}
	}
	return e
}
