// Package exchange encodes a project as one JSON file, with text as strings and binary content as base64. Write encodes,
// Parse decodes.
package exchange

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
)

// Identification of the format. A file of a higher version is refused.
const (
	format  = "mcpkg-project"
	version = 1
)

type file struct {
	Format    string     `json:"format"`
	Version   int        `json:"version"`
	Name      string     `json:"name"` // of the exported project; informative
	Prompts   []prompt   `json:"prompts"`
	Resources []resource `json:"resources"`
}

type prompt struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Content     string `json:"content"`
}

// resource has either Text or Blob.
type resource struct {
	Name        string  `json:"name"`
	URI         string  `json:"uri"`
	MIMEType    string  `json:"mime_type,omitempty"`
	Description string  `json:"description,omitempty"`
	Text        *string `json:"content,omitempty"`
	Base64      *string `json:"content_base64,omitempty"`
}

// Write returns the file of a project with a name and items.
func Write(name string, items []item.Draft) (string, error) {
	f := file{Format: format, Version: version, Name: name, Prompts: []prompt{}, Resources: []resource{}}
	for _, it := range items {
		if it.Kind == item.Prompt {
			f.Prompts = append(f.Prompts, prompt{it.Name, it.Description, string(it.Content.Bytes)})
			continue
		}
		r := resource{Name: it.Name, URI: it.URI, MIMEType: it.MIMEType, Description: it.Description}
		content := string(it.Content.Bytes)
		if it.Content.Binary {
			content = base64.StdEncoding.EncodeToString(it.Content.Bytes)
			r.Base64 = &content
		} else {
			r.Text = &content
		}
		f.Resources = append(f.Resources, r)
	}
	out, err := rawjson.MarshalIndent(f, "  ")
	return string(out), err
}

// Parse decodes a file and validates each item like a new one. Names are unique within a kind, and URIs of resources are
// unique. The order is kept, prompts first.
func Parse(text string) ([]item.Draft, error) {
	var is struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal([]byte(text), &is); err != nil {
		return nil, fmt.Errorf("this is no exported project: %w", err)
	}
	switch {
	case is.Format != format:
		return nil, fmt.Errorf("this is no exported project: its format is '%s', not '%s'", item.Show(is.Format), format)
	case is.Version > version:
		return nil, fmt.Errorf("the file was written by a newer version (%d; this one reads %d)", is.Version, version)
	case is.Version != version:
		return nil, fmt.Errorf("version: %d is not %d", is.Version, version)
	}
	var f file
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the project")
	}
	return f.drafts()
}

func (f file) drafts() ([]item.Draft, error) {
	drafts := make([]item.Draft, 0, len(f.Prompts)+len(f.Resources))
	for i, p := range f.Prompts {
		d, err := item.NewPrompt(p.Name, p.Content, p.Description)
		if err != nil {
			return nil, at("prompts", i, p.Name, err)
		}
		drafts = append(drafts, d)
	}
	for i, r := range f.Resources {
		d, err := item.NewResource(r.Name, r.URI, r.MIMEType, r.Description, r.content)
		if err != nil {
			return nil, at("resources", i, r.Name, err)
		}
		drafts = append(drafts, d)
	}
	return drafts, unique(drafts)
}

func (r resource) content(mimeType string) (item.Content, error) {
	switch {
	case r.Text != nil && r.Base64 != nil:
		return item.Content{}, errors.New("content stands beside content_base64: keep one of the two")
	case r.Text != nil:
		return item.TextResource(*r.Text)
	case r.Base64 != nil:
		return item.BinaryResource(mimeType, *r.Base64)
	}
	return item.Content{}, item.EmptyContent(item.Resource)
}

func at(list string, i int, name string, err error) error {
	return fmt.Errorf("%s[%d] '%s': %w", list, i, item.Show(name), err)
}

func unique(drafts []item.Draft) error {
	seen := map[[2]string]bool{}
	for _, d := range drafts {
		name := [2]string{string(d.Kind), d.Name}
		uri := [2]string{"URI", d.URI}
		switch {
		case seen[name]:
			return fmt.Errorf("%s '%s' is in the file twice", d.Kind, d.Name)
		case d.Kind == item.Resource && seen[uri]:
			return fmt.Errorf("the URI '%s' is in the file twice", item.Show(d.URI))
		}
		seen[name], seen[uri] = true, true
	}
	return nil
}
