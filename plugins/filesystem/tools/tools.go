// Package tools registers the operations of package disk as MCP tools. Register adds all fourteen tools to a plugin.
package tools

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/filesystem/disk"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// handler reads the arguments of a tool, and returns the function that performs the call if they are valid.
type handler func(a arguments) func(d disk.Disk) (string, error)

var handlers = map[string]handler{
	"read_file":      readText,
	"read_text_file": readText,
	"read_multiple_files": func(a arguments) func(disk.Disk) (string, error) {
		paths := a.paths("paths")
		return func(d disk.Disk) (string, error) { return d.ReadAll(paths), nil }
	},
	"write_file": func(a arguments) func(disk.Disk) (string, error) {
		path, content := a.text("path"), a.text("content")
		return func(d disk.Disk) (string, error) { return "Successfully wrote to " + path, d.Write(path, content) }
	},
	"edit_file": func(a arguments) func(disk.Disk) (string, error) {
		path, edits, dryRun := a.text("path"), a.edits("edits"), a.flag("dryRun")
		return func(d disk.Disk) (string, error) { return d.Edit(path, edits, dryRun) }
	},
	"create_directory": func(a arguments) func(disk.Disk) (string, error) {
		path := a.text("path")
		return func(d disk.Disk) (string, error) {
			return "Successfully created directory " + path, d.MakeDirectory(path)
		}
	},
	"list_directory": func(a arguments) func(disk.Disk) (string, error) {
		path := a.text("path")
		return func(d disk.Disk) (string, error) { return d.List(path) }
	},
	"list_directory_with_sizes": func(a arguments) func(disk.Disk) (string, error) {
		path, bySize := a.text("path"), a.bySize("sortBy")
		return func(d disk.Disk) (string, error) { return d.ListSizes(path, bySize) }
	},
	"directory_tree": func(a arguments) func(disk.Disk) (string, error) {
		path, exclude := a.text("path"), a.optionalTexts("excludePatterns")
		return func(d disk.Disk) (string, error) { return d.Tree(path, exclude) }
	},
	"move_file": func(a arguments) func(disk.Disk) (string, error) {
		source, destination := a.text("source"), a.text("destination")
		return func(d disk.Disk) (string, error) {
			return "Successfully moved " + source + " to " + destination, d.Move(source, destination)
		}
	},
	"search_files": func(a arguments) func(disk.Disk) (string, error) {
		path, pattern, exclude := a.text("path"), a.text("pattern"), a.optionalTexts("excludePatterns")
		return func(d disk.Disk) (string, error) { return d.Search(path, pattern, exclude) }
	},
	"get_file_info": func(a arguments) func(disk.Disk) (string, error) {
		path := a.text("path")
		return func(d disk.Disk) (string, error) { return d.Info(path) }
	},
	"list_allowed_directories": func(arguments) func(disk.Disk) (string, error) {
		return func(d disk.Disk) (string, error) {
			return "Allowed directories:\n" + strings.Join(d.Names(), "\n"), nil
		}
	},
}

func readText(a arguments) func(disk.Disk) (string, error) {
	path, tail, head := a.text("path"), a.number("tail"), a.number("head")
	return func(d disk.Disk) (string, error) { return d.Read(path, head, tail) }
}

// Register adds all tools to the plugin p.
func Register(p *sdk.Plugin) {
	for name, handle := range handlers {
		sdk.HandleTool(p, name, func(_ context.Context, raw json.RawMessage) (*sdk.ToolResult, error) {
			a := parse(raw)
			perform := handle(a)
			if err := a.err(name); err != nil {
				return nil, err
			}
			d, err := open()
			if err != nil {
				return nil, err
			}
			text, err := perform(d)
			if err != nil {
				return nil, err
			}
			result := sdk.Text(text)
			result.StructuredContent = json.RawMessage(append(rawjson.AppendQuote([]byte(`{"content":`), text), '}'))
			return result, nil
		})
	}
	sdk.HandleTool(p, "read_media_file", media)
}

// media returns a file as content of its type.
func media(_ context.Context, raw json.RawMessage) (*sdk.ToolResult, error) {
	a := parse(raw)
	path := a.text("path")
	if err := a.err("read_media_file"); err != nil {
		return nil, err
	}
	d, err := open()
	if err != nil {
		return nil, err
	}
	m, err := d.Media(path)
	if err != nil {
		return nil, err
	}
	var item sdk.Content
	switch kind, _, _ := strings.Cut(m.Type, "/"); kind {
	case "image":
		item = sdk.ImageContent{Data: m.Raw, MIMEType: m.Type}
	case "audio":
		item = sdk.AudioContent{Data: m.Raw, MIMEType: m.Type}
	default:
		item = sdk.EmbeddedResource{Resource: sdk.ResourceContents{URI: m.URI, MIMEType: m.Type, Blob: m.Raw}}
	}
	encoded, err := item.MarshalJSON()
	if err != nil {
		return nil, err
	}
	structured := append(append([]byte(`{"content":[`), encoded...), `]}`...)
	return &sdk.ToolResult{Content: []sdk.Content{item}, StructuredContent: json.RawMessage(structured)}, nil
}
