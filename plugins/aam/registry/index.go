package registry

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
)

// maxIndex is the maximum size of an index in bytes. It is enough for about 25,000 packages. A parsed index takes up to
// ten times as much memory.
const maxIndex = 8 << 20

// Entry is the row of a package in the index.
type Entry struct {
	Name        string // not validated
	Description string
	Latest      string
	Keywords    []string
	// ArtifactTypes is empty in registries that the aam program writes.
	ArtifactTypes []string
	UpdatedAt     string // "" if unknown
}

func (r Registry) indexPath() string { return filepath.Join(r.Root, "index.yaml") }

// Index returns the rows of the registry's index. If the registry has no index, it returns no rows. Errors have the
// code RegistryUnreachable.
func (r Registry) Index() ([]Entry, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if kept, ok := files.Derived(r.Files, indexes, r.Root, r.indexPath()); ok && kept.valid {
		return kept.entries, nil
	}
	data, err := files.ReadInside(r.Files, r.Root, r.indexPath(), maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, r.unreachable("%w", err)
	}
	entries, err := parseIndex(data)
	if err != nil {
		return nil, r.unreachable("index.yaml: %w", err)
	}
	return entries, nil
}

// indexes parses an index. The host calls it, and caches the result until the index changes.
var indexes = derive.New(func(data []byte) index {
	entries, err := parseIndex(data)
	return index{err == nil, entries}
})

// index is the parsed content of an index file.
type index struct {
	valid   bool
	entries []Entry
}

// Fields implements derive.Fielder.
func (i *index) Fields(c *derive.Codec) {
	c.Bool(&i.valid)
	derive.List(c, &i.entries)
}

// Fields implements derive.Fielder.
func (e *Entry) Fields(c *derive.Codec) {
	c.String(&e.Name)
	c.String(&e.Description)
	c.String(&e.Latest)
	c.Strings(&e.Keywords)
	c.Strings(&e.ArtifactTypes)
	c.String(&e.UpdatedAt)
	for _, list := range []*[]string{&e.Keywords, &e.ArtifactTypes} {
		if *list == nil {
			*list = []string{} // an empty list instead of nil, as parseEntry returns it
		}
	}
}

// packages is the only top-level key of an index file.
const packages = "packages"

func parseIndex(data []byte) ([]Entry, error) {
	if entries, ok := parseItems(data); ok {
		return entries, nil
	}
	document, err := yaml11.Parse(data, maxIndex)
	if err != nil {
		return nil, err
	}
	var reader yaml11.Reader
	rows := reader.List(document.Root().Field(packages))
	entries := slices.Grow([]Entry(nil), len(rows))
	for _, row := range rows {
		if reader.Mapping(row) {
			entries = append(entries, parseEntry(&reader, row))
		}
	}
	if err := reader.Err(); err != nil {
		return nil, err
	}
	return entries, nil
}

// parseItems parses a valid index item by item, which takes much less time and memory than parsing the whole document.
// It returns false for an index that is invalid or has another form.
func parseItems(data []byte) ([]Entry, bool) {
	const typicalSize = 200
	entries := make([]Entry, 0, 1+len(data)/typicalSize)
	var reader yaml11.Reader
	ok := yaml11.EachItem(data, packages, func(row yaml11.Value) bool {
		if reader.Mapping(row) {
			entries = append(entries, parseEntry(&reader, row))
		}
		return reader.Err() == nil
	})
	return entries, ok
}

func parseEntry(reader *yaml11.Reader, row yaml11.Value) Entry {
	return Entry{
		Name:          reader.Text(row.Field("name")),
		Description:   reader.Text(row.Field("description")),
		Latest:        reader.Text(row.Field("latest")),
		Keywords:      reader.Texts(row.Field("keywords")),
		ArtifactTypes: reader.Texts(row.Field("artifact_types")),
		UpdatedAt:     moment(reader, row.Field("updated_at")),
	}
}

// moment returns a time, which is a string or an unquoted date in the file; "" if the time is absent or null.
func moment(reader *yaml11.Reader, value yaml11.Value) string {
	if kind := value.Kind(); kind == yaml11.Text || kind == yaml11.Time {
		return value.Text()
	}
	reader.NullText(value) // NullText adds a problem for a value of another kind
	return ""
}

func (e Entry) encode() yaml11.Map {
	return yaml11.Map{
		{Key: "name", Value: e.Name},
		{Key: "description", Value: e.Description},
		{Key: "latest", Value: e.Latest},
		{Key: "keywords", Value: e.Keywords},
		{Key: "artifact_types", Value: e.ArtifactTypes},
		{Key: "updated_at", Value: e.UpdatedAt},
	}
}
