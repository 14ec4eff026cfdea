package registry

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// journalName is the name of the journal file, which exists in a registry while a version is being published.
const journalName = ".publishing.yaml"

// journal describes the publication that is in progress.
type journal struct {
	name     string
	version  string
	checksum string
	types    []manifest.Type // the types of the package's artifacts
	index    *indexPlan      // nil if the journal was read from the file
}

func (r Registry) journalPath() string { return filepath.Join(r.Root, journalName) }

func (r Registry) writeJournal(j *journal) error {
	types := []string{}
	for _, t := range j.types {
		types = append(types, string(t))
	}
	data, err := yaml11.Encode(yaml11.Map{
		{Key: "name", Value: j.name},
		{Key: "version", Value: j.version},
		{Key: "checksum", Value: j.checksum},
		{Key: "artifact_types", Value: types},
	})
	if err != nil {
		return err
	}
	return files.Replace(r.Files, r.journalPath(), data)
}

// readJournal reads the journal file; it returns nil if the file does not exist.
func (r Registry) readJournal() (*journal, error) {
	data, err := files.Read(r.Files, r.journalPath(), manifest.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	document, err := yaml11.Parse(data, manifest.MaxSize)
	if err != nil {
		return nil, r.badJournal(err)
	}
	var reader yaml11.Reader
	root := document.Root()
	j := &journal{name: reader.Text(root.Field("name")), version: reader.Text(root.Field("version")), checksum: reader.Text(root.Field("checksum"))}
	for _, text := range reader.Texts(root.Field("artifact_types")) {
		if t, ok := manifest.ParseType(text); ok {
			j.types = append(j.types, t)
		}
	}
	err = reader.Err()
	if err == nil {
		_, err = r.Archive(j.name, j.version) // Archive validates the name and the version, which become parts of paths
	}
	if err != nil {
		return nil, r.badJournal(err)
	}
	return j, nil
}

func (r Registry) badJournal(err error) error {
	return fault.New(fault.Internal, "%s: %w", r.journalPath(), err).WithHint("Only aam_publish writes this file, and it is damaged: remove the file")
}

// recover completes or rolls back an interrupted publication. If the metadata of the package already contains the
// version, recover completes the publication and returns its journal. Otherwise it rolls the publication back, and
// returns nil.
func (r Registry) recover() (*journal, error) {
	if err := r.sweep(r.Root); err != nil {
		return nil, err
	}
	j, err := r.readJournal()
	if j == nil || err != nil {
		return nil, err
	}
	if err := r.sweep(r.folder(j.name)); err != nil {
		return nil, err
	}
	m, _, err := r.readMetadata(j.name)
	if err != nil {
		return nil, err
	}
	if m != nil && m.Name == j.name {
		if release, ok := m.Release(j.version); ok && release.Checksum == j.checksum {
			return j, r.finish(j)
		}
	}
	return nil, r.undo(j)
}

// finish updates the index, and then removes the journal file, which ends the publication.
func (r Registry) finish(j *journal) error {
	if err := r.writeIndex(j); err != nil {
		return err
	}
	return r.Files.Remove(r.journalPath())
}

// undo rolls a publication back. It removes the archive if the checksum of the archive equals that in the journal, then
// the directories that have become empty, and then the journal file.
func (r Registry) undo(j *journal) error {
	path, err := r.Archive(j.name, j.version)
	if err != nil {
		return err
	}
	exists, err := filesystem.Exists(r.Files, path)
	if err != nil {
		return err
	}
	if exists {
		sum, err := archive.Checksum(r.Files, path)
		if err != nil {
			return err
		}
		info, err := r.Files.Stat(path)
		if err != nil {
			return err
		}
		if sum == j.checksum || info.Size() == 0 { // on a file system without hard links, an empty file reserves the name of the archive
			if err := r.Files.Remove(path); err != nil {
				return err
			}
		}
	}
	for _, folder := range []string{filepath.Dir(path), r.folder(j.name), filepath.Join(r.Root, "packages")} {
		if err := filesystem.RemoveEmpty(r.Files, folder); err != nil {
			return err
		}
	}
	return r.Files.Remove(r.journalPath())
}

// sweep removes temporary files of interrupted writes from the directory folder.
func (r Registry) sweep(folder string) error {
	entries, err := r.Files.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if files.IsTemp(entry.Name()) && entry.Type().IsRegular() {
			if err := r.Files.Remove(filepath.Join(folder, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
