package registry

import (
	"bytes"
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
	entries, _, err := r.readIndex()
	return entries, err
}

// readIndex returns, beside the index, how each row is written, which is nil where rows do not stand alone.
func (r Registry) readIndex() ([]Entry, []string, error) {
	if err := r.Check(); err != nil {
		return nil, nil, err
	}
	data, err := files.ReadInside(r.Files, r.Root, r.indexPath(), maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, r.unreachable("%w", err)
	}
	if entries, texts, ok := readRows(data); ok {
		return entries, texts, nil
	}
	entries, err := parseIndex(data)
	if err != nil {
		return nil, nil, r.unreachable("index.yaml: %w", err)
	}
	return entries, nil, nil
}

func parseIndex(data []byte) ([]Entry, error) {
	document, err := yaml11.Parse(data, maxIndex)
	if err != nil {
		return nil, err
	}
	var reader yaml11.Reader
	rows := reader.List(document.Root().Field(packages))
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

// readRows reads an index with nothing wrong in it whose rows stand alone, as the system's own programs write it, and
// returns how each is written, too; false for any other.
func readRows(data []byte) (entries []Entry, texts []string, ok bool) {
	rows := 1 + len(data)/200 // a row has that many bytes, or some more
	entries, texts = make([]Entry, 0, rows), make([]string, 0, rows)
	ok = yaml11.Rows(data, packages, func(row yaml11.Row) bool {
		e, ok := plainEntry(row.Fields)
		if !ok {
			alone, err := parseIndex([]byte(packages + ":\n" + row.Text))
			if err != nil || len(alone) != 1 {
				return false
			}
			e = alone[0]
		}
		entries, texts = append(entries, e), append(texts, row.Text)
		return true
	})
	return entries, texts, ok
}

// packages is the key of the rows.
const packages = "packages"

// plainEntry returns what a row says; false if anything is wrong with that, or not as it usually is.
func plainEntry(fields []yaml11.Field) (Entry, bool) {
	e := Entry{Keywords: []string{}, ArtifactTypes: []string{}}
	var name, description, latest bool
	for _, f := range fields {
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
			return Entry{}, false
		}
	}
	return e, name && description && latest
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
	return yaml11.EncodeList(packages, rows)
}

// indexWriter puts an index together: of rows as they were written, and of new ones.
type indexWriter struct {
	out  []byte
	rows []Entry // new ones that are not in out yet
	size int     // what all rows take at the least
}

// full tells whether the index could not be read again. It is known early: rows may share a text in an index that others
// have written, which each has for itself in the new one, so that what it takes to write them has no bound.
func (w *indexWriter) full() bool { return w.size > maxIndex || len(w.out) > maxIndex }

func (w *indexWriter) add(e Entry) {
	w.rows, w.size = append(w.rows, e), w.size+leastSize(e)
}

func (w *indexWriter) keep(text string) error {
	err := w.flush()
	w.out, w.size = append(w.out, text...), w.size+len(text)
	return err
}

func (w *indexWriter) flush() error {
	if len(w.rows) == 0 {
		return nil
	}
	data, err := encodeIndex(w.rows)
	w.out, w.rows = append(w.out, bytes.TrimPrefix(data, []byte(packages+":\n"))...), nil
	return err
}

// finish returns the index.
func (w *indexWriter) finish() ([]byte, error) {
	if err := w.flush(); err != nil || len(w.out) > 0 {
		return append([]byte(packages+":\n"), w.out...), err
	}
	return encodeIndex(nil)
}

// leastSize returns how many bytes a row has in an index at the least: its texts, names of fields, and the dash, blanks
// and line break of each text in a list.
func leastSize(e Entry) int {
	const fields, item = 64, 4
	size := fields + len(e.Name) + len(e.Description) + len(e.Latest) + len(e.UpdatedAt)
	for _, list := range [][]string{e.Keywords, e.ArtifactTypes} {
		for _, text := range list {
			size += item + len(text)
		}
	}
	return size
}
