package registry

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// maxIndex bounds an index, in bytes: that of some 25,000 packages. In memory it takes about ten times as much.
const maxIndex = 8 << 20

// Entry is a package in the index.
type Entry struct {
	Name        string // not checked
	Description string
	Latest      string
	Keywords    []string
	// ArtifactTypes is empty in registries that the system's own programs write.
	ArtifactTypes []string
	UpdatedAt     string // "" if it is not known
}

func (r Registry) indexPath() string { return filepath.Join(r.Root, "index.yaml") }

// Index reads the index. A registry's folder without one is an empty registry. Errors have the code
// RegistryUnreachable.
func (r Registry) Index() ([]Entry, error) {
	if err := r.Check(); err != nil {
		return nil, err
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

func parseIndex(data []byte) ([]Entry, error) {
	if entries, ok := plainIndex(data); ok {
		return entries, nil
	}
	document, err := yaml11.Parse(data, maxIndex)
	if err != nil {
		return nil, err
	}
	var reader yaml11.Reader
	rows := reader.List(document.Root().Field("packages"))
	entries := slices.Grow([]Entry(nil), len(rows))
	for _, row := range rows {
		if !reader.Mapping(row) {
			continue
		}
		entries = append(entries, Entry{
			Name:          reader.Text(row.Field("name")),
			Description:   reader.Text(row.Field("description")),
			Latest:        reader.Text(row.Field("latest")),
			Keywords:      reader.Texts(row.Field("keywords")),
			ArtifactTypes: reader.Texts(row.Field("artifact_types")),
			UpdatedAt:     moment(&reader, row.Field("updated_at")),
		})
	}
	if err := reader.Err(); err != nil {
		return nil, err
	}
	return entries, nil
}

// plainIndex reads an index as the system's own programs write it, with nothing wrong in it, which is what most
// searches meet; false for any other.
func plainIndex(data []byte) ([]Entry, bool) {
	entries := make([]Entry, 0, 1+len(data)/200) // a row has that many bytes, or some more
	ok := yaml11.Rows(data, "packages", func(row yaml11.Row) bool {
		e := Entry{Keywords: []string{}, ArtifactTypes: []string{}}
		var name, description, latest bool
		for _, f := range row.Fields {
			fits := f.Kind == yaml11.Text
			switch f.Key {
			case "name":
				e.Name, name = f.Text, true
			case "description":
				e.Description, description = f.Text, true
			case "latest":
				e.Latest, latest = f.Text, true
			case "keywords":
				e.Keywords, fits = f.Items, f.Kind == yaml11.List
			case "artifact_types":
				e.ArtifactTypes, fits = f.Items, f.Kind == yaml11.List
			case "updated_at":
				e.UpdatedAt, fits = f.Text, fits || f.Kind == yaml11.Time
			default:
				fits = true
			}
			if !fits {
				return false
			}
		}
		entries = append(entries, e)
		return name && description && latest
	})
	return entries, ok
}

// moment reads a time: a text, or a date that nobody has quoted; "" if it is absent or null.
func moment(reader *yaml11.Reader, value yaml11.Value) string {
	if value.Kind() == yaml11.Time {
		return value.Text()
	}
	if text := reader.NullText(value); text != nil {
		return *text
	}
	return ""
}

func encodeIndex(entries []Entry) ([]byte, error) {
	var rows []yaml11.Map
	for _, e := range entries {
		rows = append(rows, yaml11.Map{
			{Key: "name", Value: e.Name},
			{Key: "description", Value: e.Description},
			{Key: "latest", Value: e.Latest},
			{Key: "keywords", Value: e.Keywords},
			{Key: "artifact_types", Value: e.ArtifactTypes},
			{Key: "updated_at", Value: e.UpdatedAt},
		})
	}
	return yaml11.EncodeList("packages", rows)
}
