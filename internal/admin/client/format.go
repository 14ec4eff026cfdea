package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/jsonfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// format is a file format. Its edits preserve all other bytes of a file.
type format interface {
	read(path string) ([]byte, error)
	// decode decodes data; file is its name in errors.
	decode(file string, data []byte) (object, error)
	// set sets fields of the entry at path, and preserves the other fields of the entry, and the other members of a field that is an Object.
	set(data []byte, path []string, fields jsonfile.Object) ([]byte, error)
	remove(data []byte, path []string) ([]byte, error)
	// copy adds the entry at path as it is in from. The file must have no entry at path.
	copy(data, from []byte, path []string) ([]byte, error)
	// lines formats an entry for a person: a heading, one line for each field, and a last line that closes the entry.
	lines(path []string, fields []field) []string
}

// field is a field of an entry to show. The value of a hidden field is not shown.
type field struct {
	name   string
	value  any
	hidden bool
	more   bool // whether the value has members that are not shown
}

type jsonFormat struct{}

func (jsonFormat) read(path string) ([]byte, error) {
	data, err := filesystem.ReadFile(filesystem.OS{}, path, jsonfile.MaxSize)
	switch {
	case errors.Is(err, filesystem.ErrNotRegular):
		return nil, filesystem.ErrNotRegular // the error of the caller names the path
	case errors.Is(err, filesystem.ErrTooLarge):
		return nil, filesystem.ErrTooLarge
	}
	return data, err
}

func (jsonFormat) decode(file string, data []byte) (object, error) {
	doc, err := jsonfile.Decode(data)
	return doc, invalidFile(file, err)
}

func (jsonFormat) set(data []byte, path []string, fields jsonfile.Object) ([]byte, error) {
	doc, err := jsonfile.Decode(data)
	if err != nil {
		return nil, err
	}
	for _, key := range path {
		doc, _ = doc[key].(object)
	}
	if doc == nil {
		return jsonfile.Set(data, path, fields)
	}
	for _, f := range fields {
		in, members := path, jsonfile.Object{f}
		if value, ok := f.Value.(jsonfile.Object); ok {
			in, members = append(slices.Clone(path), f.Name), value
		}
		for _, m := range members {
			if data, err = jsonfile.Set(data, append(slices.Clone(in), m.Name), m.Value); err != nil {
				return nil, err
			}
		}
	}
	return data, nil
}

func (jsonFormat) remove(data []byte, path []string) ([]byte, error) {
	return jsonfile.Remove(data, path)
}

func (jsonFormat) copy(data, from []byte, path []string) ([]byte, error) {
	return jsonfile.Copy(data, from, path)
}

func (jsonFormat) lines(path []string, fields []field) []string {
	out := []string{encoded(path[len(path)-1]) + ": {"}
	for i, f := range fields {
		line := "  " + encoded(f.name) + ": " + shown(f)
		if i < len(fields)-1 {
			line += ","
		}
		out = append(out, line)
	}
	return append(out, "}")
}

type tomlFormat struct{}

func (tomlFormat) read(path string) ([]byte, error) { return tomlfile.ReadFile(path) }

// decode decodes the tables of data. Other values at its top level are left out.
func (tomlFormat) decode(file string, data []byte) (object, error) {
	doc, problems := tomlfile.Parse(file, data)
	if err := problems.Err(); err != nil {
		return nil, usage.Errorf("%w\n  remedy: correct it, and try again; it was not changed", err)
	}
	values := object{}
	const key = "mcp_servers"
	if raw := doc.Root().JSON(key); raw != nil {
		var table object
		if err := json.Unmarshal(raw, &table); err != nil {
			return nil, err
		}
		values[key] = table
	}
	return values, nil
}

func (tomlFormat) set(data []byte, path []string, fields jsonfile.Object) ([]byte, error) {
	edited, err := tomlfile.Edit(data, func(d *tomlfile.Doc) (_ *tomlfile.Doc, err error) {
		for _, f := range fields {
			if list, ok := f.Value.([]string); ok {
				d, err = d.SetStrings(strings.Join(path, "."), f.Name, list)
			} else {
				d, err = d.SetString(strings.Join(path, "."), f.Name, f.Value.(string))
			}
			if err != nil {
				return nil, err
			}
		}
		return d, nil
	})
	if err != nil {
		return nil, fmt.Errorf("[%s] cannot be added to the file: write %s as [%[2]s.…] tables, or add it by hand", strings.Join(path, "."), path[0])
	}
	return edited, nil
}

func (tomlFormat) remove(data []byte, path []string) ([]byte, error) {
	return tomlfile.Edit(data, func(d *tomlfile.Doc) (*tomlfile.Doc, error) { return d.RemoveSubtable([2]string(path)) })
}

func (tomlFormat) copy(data, from []byte, path []string) ([]byte, error) {
	old, problems := tomlfile.Parse("", from)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return tomlfile.Edit(data, func(d *tomlfile.Doc) (*tomlfile.Doc, error) { return d.CopySubtable(old, [2]string(path)) })
}

func (tomlFormat) lines(path []string, fields []field) []string {
	out := []string{"[" + strings.Join(path, ".") + "]"}
	for _, f := range fields {
		out = append(out, f.name+" = "+shown(f))
	}
	return out
}

// invalidFile adds the file, its line and a remedy to an error of jsonfile.
func invalidFile(file string, err error) error {
	var at *jsonfile.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &at):
		return usage.Errorf("%s:%d: %s\n  remedy: correct it, and try again; it was not changed", file, at.Line, at.What)
	}
	return usage.Errorf("%s: %w", file, err)
}

func shown(f field) string {
	if f.hidden {
		return "…"
	}
	text := encoded(f.value)
	if f.more {
		text = strings.TrimSuffix(text, "}") + ", …}"
	}
	return text
}

// encoded encodes a string or a list of strings, in which JSON and TOML agree, or an Object of strings, as JSON.
func encoded(value any) string {
	if members, ok := value.(jsonfile.Object); ok {
		items := make([]string, len(members))
		for i, m := range members {
			items[i] = encoded(m.Name) + ": " + encoded(m.Value)
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	if list, ok := value.([]string); ok {
		items := make([]string, len(list))
		for i, s := range list {
			items[i] = encoded(s)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return tomlfile.Text(value.(string))
}
