// Package exchange encodes a project as one JSON file, in which text is a string and binary content is base64. Write
// encodes a project, and Parse decodes a file.
package exchange

import (
	"encoding/base64"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
)

// format and version identify the file format. Parse refuses a file with a higher version.
const (
	format  = "mcpkg-project"
	version = 1
)

type file struct {
	Format    string     `json:"format"`
	Version   int        `json:"version"`
	Name      string     `json:"name"` // the name of the exported project, for human readers; Parse ignores the name
	Prompts   []prompt   `json:"prompts"`
	Resources []resource `json:"resources"`
}

type prompt struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Content     string `json:"content"`
}

// resource is the JSON form of a resource. Exactly one of its fields Text and Base64 is set.
type resource struct {
	Name        string  `json:"name"`
	URI         string  `json:"uri"`
	MIMEType    string  `json:"mime_type,omitempty"`
	Description string  `json:"description,omitempty"`
	Text        *string `json:"content,omitempty"`
	Base64      *string `json:"content_base64,omitempty"`
}

// Write returns a JSON file with the name of a project and the given items.
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
