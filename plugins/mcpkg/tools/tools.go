// Package tools connects package catalog to MCP: it defines the tools, and serves the prompts and resources of the
// project. Register adds the handlers to a plugin.
package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/catalog"
	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// tool is an MCP tool: its name, its arguments in the order in which they are validated, and the function that executes
// a call and returns the text of the result.
type tool struct {
	name  string
	takes []argument
	call  func(c *catalog.Catalog, a arguments) (string, error)
}

// Register adds the handlers of the tools, prompts and resources to the plugin p.
func Register(p *sdk.Plugin) {
	for _, tool := range all() {
		sdk.HandleTool(p, tool.name, func(_ context.Context, raw json.RawMessage) (*sdk.ToolResult, error) {
			text, err := tool.run(raw)
			if err != nil {
				return sdk.ErrorText("Error: " + err.Error()), nil
			}
			return sdk.Text(text), nil
		})
	}
	p.HandlePrompts(sdk.Prompts{List: listPrompts, Get: getPrompt})
	p.HandleResources(sdk.Resources{List: listResources, Read: readResource})
}

func (t tool) run(raw json.RawMessage) (string, error) {
	given, err := parse(raw, t.takes)
	if err != nil {
		return "", err
	}
	c, err := open()
	if err != nil {
		return "", err
	}
	return t.call(c, given)
}

// open returns the catalog of the project that the environment variables select.
func open() (*catalog.Catalog, error) {
	selected, err := catalog.Select(os.Getenv)
	if err != nil {
		return nil, err
	}
	warn := func(text string) { sdk.Log(sdk.LevelWarn, "%s", text) }
	return catalog.Open(selected, catalog.Dependencies{Lock: sdk.Lock, Claimed: claimed, Warn: warn}), nil
}

func all() []tool {
	name := argument{name: "name", required: true}
	content := argument{name: "content", required: true}
	newContent := argument{name: "content"}
	mimeType := argument{name: "mime_type"}
	description := argument{name: "description"}
	return []tool{
		{"create_prompt", []argument{name, content, description}, createPrompt},
		{"update_prompt", []argument{name, newContent, description}, update(item.Prompt)},
		{"delete_prompt", []argument{name}, remove(item.Prompt)},
		{"create_resource", []argument{name, {name: "uri", required: true}, content, mimeType, description}, createResource},
		{"update_resource", []argument{name, newContent, mimeType, description}, update(item.Resource)},
		{"delete_resource", []argument{name}, remove(item.Resource)},
		{"export_project", nil, func(c *catalog.Catalog, _ arguments) (string, error) { return c.Export() }},
		{"import_project", []argument{content, {name: "overwrite", flag: true}}, importProject},
	}
}

func createPrompt(c *catalog.Catalog, a arguments) (string, error) {
	if err := c.CreatePrompt(a.text("name"), a.text("content"), a.text("description")); err != nil {
		return "", err
	}
	changed(item.Prompt)
	return done("Created", item.Prompt, a, "in", c), nil
}

func createResource(c *catalog.Catalog, a arguments) (string, error) {
	err := c.CreateResource(a.text("name"), a.text("uri"), a.text("content"), a.text("mime_type"), a.text("description"))
	if err != nil {
		return "", err
	}
	changed(item.Resource)
	return done("Created", item.Resource, a, "in", c), nil
}

func update(kind item.Kind) func(*catalog.Catalog, arguments) (string, error) {
	return func(c *catalog.Catalog, a arguments) (string, error) {
		now, err := c.Update(kind, a.text("name"), catalog.Change{
			Content: a.optional("content"), MIMEType: a.optional("mime_type"), Description: a.optional("description"),
		})
		if err != nil {
			return "", err
		}
		changed(kind)
		updated(now)
		return done("Updated", kind, a, "in", c), nil
	}
}

func remove(kind item.Kind) func(*catalog.Catalog, arguments) (string, error) {
	return func(c *catalog.Catalog, a arguments) (string, error) {
		was, err := c.Delete(kind, a.text("name"))
		if err != nil {
			return "", err
		}
		changed(kind)
		updated(was)
		return done("Deleted", kind, a, "from", c), nil
	}
}

func done(verb string, kind item.Kind, a arguments, preposition string, c *catalog.Catalog) string {
	return fmt.Sprintf("%s %s '%s' %s project '%s'", verb, kind.Word(), a.text("name"), preposition, c.Project())
}

func importProject(c *catalog.Catalog, a arguments) (string, error) {
	imported, err := c.Import(a.text("content"), a.flag("overwrite"))
	if err != nil {
		return "", err
	}
	if imported.Prompts > 0 {
		changed(item.Prompt)
	}
	if imported.Resources > 0 {
		changed(item.Resource)
	}
	updated(imported.Replaced...)
	return fmt.Sprintf("Imported %d prompts and %d resources into project '%s' (%d replaced)",
		imported.Prompts, imported.Resources, c.Project(), len(imported.Replaced)), nil
}
