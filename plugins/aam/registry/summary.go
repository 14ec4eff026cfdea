package registry

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
)

// writeIndex brings the index up to date: the row of the package that was published is made anew, and so are those of
// packages that have none. Rows of packages that are gone go, too. All others stay as they are: to read what is
// known of ten thousand packages takes longer than a call may last.
func (r Registry) writeIndex(published *journal) error {
	data, err := r.planned(published.index)
	if err == nil && data == nil {
		data, err = r.newIndex(published, nil)
	}
	if err != nil {
		return err
	}
	return files.Replace(r.Files, r.indexPath(), data)
}

// plan is an index that was made before anything is written.
type plan struct {
	data []byte
	from string // the checksum of the index that it was made of; "" for none
}

// planIndex makes the index as it has to be when the package is published of which m is what will be known. That it
// could not be read again is an error: how large it will be, nobody can tell by the one that is there, which others may
// have written in another style.
func (r Registry) planIndex(published *journal, m *Metadata) (*plan, error) {
	from, err := r.indexSum() // before it is read: what comes between is noticed
	if err != nil {
		return nil, err
	}
	data, err := r.newIndex(published, m)
	if err != nil {
		return nil, err
	}
	return &plan{data, from}, nil
}

// planned returns what was planned; nil if nothing was, or another program has written the index since.
func (r Registry) planned(p *plan) ([]byte, error) {
	if p == nil {
		return nil, nil
	}
	from, err := r.indexSum()
	if err != nil || from != p.from {
		return nil, err
	}
	return p.data, nil
}

func (r Registry) indexSum() (string, error) {
	path, err := files.Inside(r.Files, r.Root, r.indexPath())
	if err != nil {
		return "", r.unreachable("%w", err)
	}
	sum, err := archive.Checksum(r.Files, path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return sum, err
}

// newIndex makes the index of what is there, and of the package that is being published. What is known of that is in m,
// or, where m is nil, in the registry.
func (r Registry) newIndex(published *journal, m *Metadata) ([]byte, error) {
	old, texts, err := r.readIndex()
	if err != nil {
		old, texts = nil, nil // it is only a summary, so a broken one is made anew
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
	if at, there := slices.BinarySearch(folders, its); m != nil && !there {
		folders = slices.Insert(folders, at, its)
	}
	var w indexWriter
	for _, folder := range folders {
		var row Entry
		at, there := places[folder]
		if there {
			row = old[at]
		}
		switch {
		case folder == its && m != nil:
			w.add(summary(m, row, published))
		case folder == its || !there:
			if row, there, err = r.summarize(folder, row, published); there {
				w.add(row)
			}
		case texts != nil:
			err = w.keep(texts[at])
		default:
			w.add(row)
		}
		if err != nil {
			return nil, err
		}
		if w.full() {
			return nil, r.full(r.indexPath(), maxIndex)
		}
	}
	data, err := w.finish()
	if err != nil {
		return nil, err
	}
	if len(data) > maxIndex {
		return nil, r.full(r.indexPath(), maxIndex)
	}
	return data, nil
}

// folders returns the names of the packages' folders, in their order.
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

// summarize returns the row of a package; false if the folder is none's, or nobody could install from it. Old is
// the row that there was.
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

// summary returns the row of a package of which m is known. What only the old row knows, the types of artifacts, is kept
// for a version that is still the latest. Those of the one that was published are known.
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
