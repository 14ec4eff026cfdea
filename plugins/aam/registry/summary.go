package registry

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
)

// writeIndex brings the index up to date: the row of the package that was published is made anew, and so are those of
// packages that have none. Rows of packages that are gone go, too. All others stay as they are: to read what is
// known of ten thousand packages takes longer than a call may last.
func (r Registry) writeIndex(published *journal) error {
	old, err := r.Index()
	if err != nil {
		old = nil // it is only a summary, so a broken one is made anew
	}
	rows := map[string]Entry{}
	for _, row := range old {
		rows[pkgname.Folder(row.Name)] = row
	}
	folders, err := r.Files.ReadDir(filepath.Join(r.Root, "packages"))
	if err != nil {
		return err
	}
	var entries []Entry
	for _, folder := range folders {
		row, there := rows[folder.Name()]
		if !there || folder.Name() == pkgname.Folder(published.name) {
			if row, there, err = r.summarize(folder.Name(), row, published); err != nil {
				return err
			}
		}
		if there {
			entries = append(entries, row)
		}
	}
	data, err := encodeIndex(entries)
	if err != nil {
		return err
	}
	if len(data) > maxIndex {
		return r.full(r.indexPath(), maxIndex)
	}
	return files.Replace(r.Files, r.indexPath(), data)
}

// summarize returns the row of a package; false if the folder is none's, or nobody could install from it. Old is
// the row that there was: what only that knows, the types of artifacts, is kept for a version that is still the
// latest. Those of the one that was published are known.
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
	return e, true, nil
}
