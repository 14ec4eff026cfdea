package registry

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/version"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// maxMetadata is the maximum size of the metadata of a package, in bytes. It is enough for about 10,000 versions.
const maxMetadata = 4 << 20

// Metadata is the content of the metadata.yaml of a package.
type Metadata struct {
	Name        string
	Description string
	Author      *string
	License     *string
	Repository  *string
	Keywords    []string
	Tags        []Tag
	Versions    []Release // the versions in the order in which they were published
}

// Tag is a name for a version, such as latest.
type Tag struct{ Name, Version string }

// Release is a published version of a package.
type Release struct {
	Version   string // the version as in the file, not validated
	Published string // the time at which the version was published; "" if unknown
	Checksum  string // the checksum of the archive; "" if the metadata has none
	Size      int64
	// Dependencies is nil if the metadata lacks the field, and empty if the version has no dependencies.
	Dependencies []manifest.Dependency
}

func (r Registry) metadataPath(name string) string {
	return filepath.Join(r.folder(name), "metadata.yaml")
}

// Metadata reads the metadata of the package called name. Errors have the code PackageNotFound if the registry does not
// have the package, InvalidArgument for an invalid name, and RegistryUnreachable if the file cannot be parsed.
func (r Registry) Metadata(name string) (*Metadata, error) {
	m, _, err := r.readMetadata(name)
	if err != nil {
		return nil, err
	}
	if m == nil || m.Name != name { // the directory can belong to a package with another name
		return nil, fault.New(fault.PackageNotFound, "package '%s' is not in registry '%s'", name, r.Name)
	}
	return m, nil
}

// Author returns the author in the metadata of the package called name; nil if the metadata has no author. The errors
// are those of Metadata. If the file has the layout that programs write, Author parses only the beginning of the file.
func (r Registry) Author(name string) (*string, error) {
	data, err := r.metadataFile(name)
	if err != nil {
		return nil, err
	}
	if head, ok := metadataHead(data); ok {
		if document, err := yaml11.Parse(head, maxMetadata); err == nil {
			var reader yaml11.Reader
			root := document.Root()
			itsName, author := reader.Text(root.Field("name")), reader.NullText(root.Field("author"))
			if reader.Err() == nil && itsName == name {
				return author, nil
			}
		}
	}
	m, err := r.Metadata(name)
	if err != nil {
		return nil, err
	}
	return m.Author, nil
}

// metadataHead returns the part of a metadata file before the tags and versions. It returns false if other top-level
// keys follow after them.
func metadataHead(data []byte) ([]byte, bool) {
	at := bytes.Index(data, []byte("\ndist_tags:"))
	if at < 0 {
		return nil, false
	}
	rest := data[at+1:]
	for line := range bytes.Lines(rest[len("dist_tags:"):]) {
		if c := line[0]; c != ' ' && c != '-' && c != '\n' && !bytes.HasPrefix(line, []byte("versions:")) {
			return nil, false
		}
	}
	return data[:at+1], true
}

// readMetadata returns the metadata of a package and the content of the metadata file; both are nil if the file does
// not exist.
func (r Registry) readMetadata(name string) (*Metadata, []byte, error) {
	data, err := r.metadataFile(name)
	if err != nil || data == nil {
		return nil, nil, err
	}
	m, err := parseMetadata(data)
	if err != nil {
		return nil, nil, r.unreachable("%s: %w", r.metadataPath(name), err)
	}
	return m, data, nil
}

// metadataFile returns the content of the metadata file of a package; nil if the file does not exist.
func (r Registry) metadataFile(name string) ([]byte, error) {
	if err := pkgname.Check(name); err != nil {
		return nil, err
	}
	if r.reading == nil { // with Reading, the registry is known to exist, because its index was read before
		if err := r.Check(); err != nil {
			return nil, err
		}
	}
	data, err := r.paths().Read(r.metadataPath(name), maxMetadata)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, r.unreachable("%w", err)
	case data == nil:
		return []byte{}, nil
	}
	return data, nil
}

// Latest returns the version with the tag latest. If there is no such tag, it returns the highest version, or "" if
// there are no versions.
func (m *Metadata) Latest() string {
	for _, tag := range m.Tags {
		if _, exists := m.Release(tag.Version); exists && tag.Name == latestTag {
			return tag.Version
		}
	}
	texts := make([]string, len(m.Versions))
	for i, release := range m.Versions {
		texts[i] = release.Version
	}
	highest, _ := version.Best(version.Constraint{}, texts)
	return highest
}

// Release returns the version that equals text by the rules of PEP 440; false if no version equals text.
func (m *Metadata) Release(text string) (Release, bool) {
	wanted, err := version.Parse(text)
	for _, release := range m.Versions {
		if release.Version == text {
			return release, true
		}
		if v, badErr := version.Parse(release.Version); err == nil && badErr == nil && version.Compare(v, wanted) == 0 {
			return release, true
		}
	}
	return Release{}, false
}

func parseMetadata(data []byte) (*Metadata, error) {
	document, err := yaml11.Parse(data, maxMetadata)
	if err != nil {
		return nil, err
	}
	var reader yaml11.Reader
	root := document.Root()
	m := &Metadata{
		Name:        reader.Text(root.Field("name")),
		Description: reader.Text(root.Field("description")),
		Author:      reader.NullText(root.Field("author")),
		License:     reader.NullText(root.Field("license")),
		Repository:  reader.NullText(root.Field("repository")),
		Keywords:    reader.Texts(root.Field("keywords")),
	}
	for _, tag := range reader.Entries(root.Field("dist_tags")) {
		m.Tags = append(m.Tags, Tag{tag.Key.Text(), reader.Text(tag.Value)})
	}
	for _, row := range reader.List(root.Field("versions")) {
		if reader.Mapping(row) {
			m.Versions = append(m.Versions, parseRelease(&reader, row))
		}
	}
	if err := reader.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

func parseRelease(reader *yaml11.Reader, row yaml11.Value) Release {
	release := Release{
		Version:   reader.Text(row.Field("version")),
		Published: moment(reader, row.Field("published")),
		Checksum:  reader.TextOr(row.Field("checksum"), ""),
		Size:      reader.Int(row.Field("size"), 0),
	}
	dependencies := row.Field("dependencies")
	if dependencies.Kind() == yaml11.Absent {
		return release
	}
	release.Dependencies = []manifest.Dependency{}
	for _, entry := range reader.Entries(dependencies) {
		release.Dependencies = append(release.Dependencies, manifest.Dependency{Name: entry.Key.Text(), Constraint: reader.Text(entry.Value)})
	}
	return release
}

func (m *Metadata) encode() ([]byte, error) {
	tags, versions := yaml11.Map{}, []any{}
	for _, tag := range m.Tags {
		tags = append(tags, yaml11.Pair{Key: tag.Name, Value: tag.Version})
	}
	for _, release := range m.Versions {
		versions = append(versions, release.encode())
	}
	return yaml11.Encode(yaml11.Map{
		{Key: "name", Value: m.Name},
		{Key: "description", Value: m.Description},
		{Key: "author", Value: yaml11.NullText(m.Author)},
		{Key: "license", Value: yaml11.NullText(m.License)},
		{Key: "repository", Value: yaml11.NullText(m.Repository)},
		{Key: "keywords", Value: m.Keywords},
		{Key: "dist_tags", Value: tags},
		{Key: "versions", Value: versions},
	})
}

func (r Release) encode() yaml11.Map {
	row := yaml11.Map{
		{Key: "version", Value: r.Version},
		{Key: "published", Value: r.Published},
		{Key: "checksum", Value: r.Checksum},
		{Key: "size", Value: r.Size},
	}
	if r.Dependencies == nil {
		return row
	}
	dependencies := yaml11.Map{}
	for _, d := range r.Dependencies {
		dependencies = append(dependencies, yaml11.Pair{Key: d.Name, Value: d.Constraint})
	}
	return append(row, yaml11.Pair{Key: "dependencies", Value: dependencies})
}
