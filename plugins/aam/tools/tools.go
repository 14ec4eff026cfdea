// Package tools exposes the methods of package manager as MCP tools and resources. It decodes arguments, finds the
// project, and encodes results with redacted URLs. Register adds the tools and resources to a plugin.
package tools

import (
	"context"
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manager"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/redact"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// action executes a call of a tool. It holds the decoded arguments of the call.
type action func(m *manager.Manager) (any, error)

// tool describes an MCP tool by its name, the arguments that it accepts, and its implementation.
type tool struct {
	name      string
	arguments []string
	read      func(a *arguments) action
}

// Register adds the tools and resources to the plugin p.
func Register(p *sdk.Plugin) {
	for _, tool := range all() {
		sdk.HandleTool(p, tool.name, func(ctx context.Context, raw json.RawMessage) (*sdk.ToolResult, error) {
			return tool.run(ctx, raw), nil
		})
	}
	p.HandleResources(sdk.Resources{List: listResources, Templates: listTemplates, Read: readResource})
}

func all() []tool { return append(reading(), writing()...) }

// reading returns the tools that only read.
func reading() []tool {
	return []tool{
		{"aam_search", []string{"query", "limit", "package_type"}, func(a *arguments) action {
			query, limit, kind := a.text("query"), a.integer("limit", defaultLimit), a.nullText("package_type")
			return func(m *manager.Manager) (any, error) {
				if kind != nil && *kind == "" {
					return nil, fault.New(fault.InvalidArgument, "package_type must be one of skill, agent, prompt, instruction, or null")
				}
				return list(m.Search(query, limit, or(kind, "")))
			}
		}},
		{"aam_list", nil, func(*arguments) action {
			return func(m *manager.Manager) (any, error) { return list(m.List()) }
		}},
		{"aam_info", []string{"package_name", "version"}, func(a *arguments) action {
			name, version := a.text("package_name"), a.nullText("version")
			return func(m *manager.Manager) (any, error) { return m.Info(name, or(version, "")) }
		}},
		{"aam_validate", []string{"path"}, func(a *arguments) action {
			path := a.textOr("path", ".")
			return func(m *manager.Manager) (any, error) { return m.Validate(path) }
		}},
		{"aam_config_get", []string{"key"}, func(a *arguments) action {
			key := a.nullText("key")
			return func(m *manager.Manager) (any, error) { return m.ConfigGet(key) }
		}},
		{"aam_registry_list", nil, func(*arguments) action {
			return func(m *manager.Manager) (any, error) { return list(m.RegistryList()) }
		}},
		{"aam_doctor", nil, func(*arguments) action {
			return func(m *manager.Manager) (any, error) { return m.Doctor(), nil }
		}},
	}
}

// defaultLimit is the number of search results if the call has no argument limit.
const defaultLimit = 10

// writing returns the tools that change files.
func writing() []tool {
	return []tool{
		{"aam_install", []string{"packages", "platform", "force", "no_deploy"}, func(a *arguments) action {
			r := manager.Request{Packages: a.texts("packages"), Platform: a.nullText("platform"), Force: a.flag("force"), NoDeploy: a.flag("no_deploy")}
			return func(m *manager.Manager) (any, error) { return m.Install(r) }
		}},
		{"aam_uninstall", []string{"package_name"}, func(a *arguments) action {
			name := a.text("package_name")
			return func(m *manager.Manager) (any, error) { return m.Uninstall(name) }
		}},
		{"aam_publish", []string{"registry", "tag"}, func(a *arguments) action {
			registry, tag := a.nullText("registry"), a.textOr("tag", "latest")
			return func(m *manager.Manager) (any, error) { return m.Publish(registry, tag) }
		}},
		{"aam_create_package", []string{"path", "name", "version", "description", "artifact_types", "include_all"}, func(a *arguments) action {
			n := manager.NewPackage{
				Path: a.textOr("path", "."), Name: a.nullText("name"), Version: a.nullText("version"),
				Description: a.nullText("description"), Types: a.nullTexts("artifact_types"),
			}
			a.flag("include_all") // the argument has no effect, because all artifacts are always included; it is only validated
			return func(m *manager.Manager) (any, error) { return m.CreatePackage(n) }
		}},
		{"aam_config_set", []string{"key", "value"}, func(a *arguments) action {
			key, value := a.text("key"), a.text("value")
			return func(m *manager.Manager) (any, error) { return m.ConfigSet(key, value) }
		}},
		{"aam_registry_add", []string{"name", "url", "set_default"}, func(a *arguments) action {
			name, url, setDefault := a.text("name"), a.text("url"), a.flag("set_default")
			return func(m *manager.Manager) (any, error) { return m.RegistryAdd(name, url, setDefault) }
		}},
	}
}

func or(text *string, otherwise string) string {
	if text == nil {
		return otherwise
	}
	return *text
}

// run executes a call of the tool and returns the tool result.
func (t tool) run(ctx context.Context, raw json.RawMessage) *sdk.ToolResult {
	result, err := t.call(ctx, raw)
	if err != nil {
		return sdk.ErrorText(redact.Text(fault.From(err).Text()))
	}
	return result
}

func (t tool) call(ctx context.Context, raw json.RawMessage) (*sdk.ToolResult, error) {
	a, err := readArguments(raw, t.arguments)
	if err != nil {
		return nil, err
	}
	do := t.read(a)
	if a.err != nil {
		return nil, a.err
	}
	m, err := open(ctx)
	if err != nil {
		return nil, err
	}
	result, err := do(m)
	if err != nil {
		return nil, err
	}
	return answer(result)
}
