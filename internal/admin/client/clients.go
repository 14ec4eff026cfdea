package client

import (
	"bytes"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/base/jsonfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// clients is the table of all supported clients. docs/clients.md says which of its facts were verified with the real clients.
var clients = []*Client{
	{
		ID: "claude-code", Title: "Claude Code", programs: []string{"claude"},
		dirs: func(s System) []string { return []string{s.claudeDir(), s.claudeFile()} },
		user: func(s System) []string { return []string{s.claudeFile()} }, project: []string{".mcp.json"},
		format: jsonFormat{}, at: under("mcpServers"), shape: commandAndArgs("stdio"), expands: []string{"${"},
		local: func(doc object) object { projects, _ := doc["projects"].(object); return projects },
		// In a project, Claude Code's command drops other keys of .mcp.json, and replaces a symbolic link.
		own: &ownCommand{
			program: "claude",
			add: func(name string, e Entry) []string {
				if e.URL == "" {
					return append([]string{"mcp", "add", "--scope", "user", name, "--", e.Command}, e.Args...)
				}
				args := []string{"mcp", "add", "--transport", "http", "--scope", "user", name, e.URL}
				if e.TokenEnv != "" {
					args = append(args, "--header", authorization+": "+bearer+"${"+e.TokenEnv+"}")
				}
				return args
			},
			remove: func(name string) []string { return []string{"mcp", "remove", "--scope", "user", name} },
			keeps:  func([]byte) bool { return true }, // the client itself rewrites the file all the time
		},
		places: map[string]string{"${HOME}": varHome},
		remote: &remote{kind: "http", url: "url", variable: [2]string{"${", "}"}},
		next: map[Scope]string{
			UserScope:    "start a new session; `claude mcp list` shows whether it connects",
			ProjectScope: "start `claude` in the project and approve the server; until then `claude mcp list` says: Pending approval",
		},
	},
	{
		ID: "claude-desktop", Title: "Claude Desktop",
		dirs: func(s System) []string { return []string{s.appDir("Claude")} },
		user: func(s System) []string {
			return []string{filepath.Join(s.appDir("Claude"), "claude_desktop_config.json")}
		},
		format: jsonFormat{}, at: under("mcpServers"), shape: commandAndArgs(""), elsewhere: true,
		remote: &remote{noURL: "Claude Desktop does not read URLs from its file: add the URL in its settings, under Connectors"},
		next:   map[Scope]string{UserScope: "quit Claude Desktop (closing its window is not enough) and start it again"},
	},
	{
		ID: "cursor", Title: "Cursor", programs: []string{"cursor", "cursor-agent"},
		dirs: func(s System) []string { return []string{filepath.Join(s.Home, ".cursor")} },
		user: func(s System) []string { return []string{filepath.Join(s.Home, ".cursor", "mcp.json")} }, project: []string{".cursor/mcp.json"},
		format: jsonFormat{}, at: under("mcpServers"), shape: commandAndArgs("stdio"), expands: []string{"${"},
		variable: map[Scope]string{ProjectScope: "${workspaceFolder}"}, // the directory that contains .cursor
		places:   map[string]string{"${userHome}": varHome, "${env:HOME}": varHome, "${workspaceFolder}": varProject},
		remote:   &remote{url: "url", variable: [2]string{"${env:", "}"}},
		next: map[Scope]string{
			UserScope:    "check in the MCP settings of Cursor that the server is enabled",
			ProjectScope: "open the project in Cursor and enable the server in the MCP settings",
		},
	},
	{
		ID: "vscode", Title: "VS Code", programs: []string{"code"},
		dirs: func(s System) []string { return []string{filepath.Join(s.appDir("Code"), "User")} },
		user: func(s System) []string {
			return []string{filepath.Join(s.appDir("Code"), "User", "mcp.json")}
		},
		project: []string{".vscode/mcp.json"},
		format:  jsonFormat{}, at: under("servers"), shape: commandAndArgs("stdio"), expands: []string{"${"},
		// VS Code starts servers in the folder of the window. In the user's file the variable would prevent the start of the
		// server in windows without a folder.
		variable: map[Scope]string{ProjectScope: "${workspaceFolder}"},
		places:   map[string]string{"${userHome}": varHome, "${env:HOME}": varHome, "${workspaceFolder}": varProject},
		remote:   &remote{kind: "http", url: "url", variable: [2]string{"${env:", "}"}},
		next: map[Scope]string{
			UserScope:    "run `MCP: List Servers` in VS Code, start the server, and confirm that you trust it",
			ProjectScope: "open the project in VS Code, run `MCP: List Servers`, start the server, and confirm that you trust it",
		},
	},
	{
		ID: "codex", Title: "Codex", programs: []string{"codex"},
		dirs: func(s System) []string { return []string{s.codexDir()} },
		user: func(s System) []string { return []string{filepath.Join(s.codexDir(), "config.toml")} }, project: []string{".codex/config.toml"},
		format: tomlFormat{}, at: under("mcp_servers"), shape: commandAndArgs(""),
		own: &ownCommand{
			program: "codex",
			add: func(name string, e Entry) []string {
				if e.URL != "" {
					return nil // Codex's command would connect to the server, and begin a login
				}
				return append([]string{"mcp", "add", name, "--", e.Command}, e.Args...)
			},
			remove: func(name string) []string { return []string{"mcp", "remove", name} },
			// Codex's command drops the comments after the keys of all servers.
			keeps: func(data []byte) bool { return !bytes.Contains(data, []byte("#")) },
		},
		remote: &remote{url: "url", token: "bearer_token_env_var"},
		next: map[Scope]string{
			UserScope:    "start a new session",
			ProjectScope: "start a new session in the project; Codex reads the file only if you have told it to trust the project",
		},
	},
	{
		ID: "zed", Title: "Zed", programs: []string{"zed", "zeditor"},
		dirs: func(s System) []string { return []string{s.zedDir()} },
		user: func(s System) []string { return []string{filepath.Join(s.zedDir(), "settings.json")} }, project: []string{".zed/settings.json"},
		format: jsonFormat{}, at: under("context_servers"), shape: commandAndArgs(""),
		remote: &remote{
			url:     "url",
			noToken: "Zed replaces no variables in its file: omit --token-env, and log in by OAuth if the server supports it, or add the header with the token itself by hand",
		},
		next: map[Scope]string{
			UserScope:    "look for the green dot beside the server in the settings of Zed's agent panel",
			ProjectScope: "open the project in Zed and trust it; look for the green dot beside the server in the settings of the agent panel",
		},
	},
	{
		ID: "windsurf", Title: "Windsurf", programs: []string{"windsurf", "devin-desktop"},
		dirs: func(s System) []string {
			return []string{s.xdgDir("devin"), filepath.Join(s.Home, ".codeium", "windsurf")}
		},
		// Versions since the renaming of the program to Devin Desktop read the first of these files.
		user: func(s System) []string {
			return []string{filepath.Join(s.xdgDir("devin"), "mcp_config.json"), filepath.Join(s.Home, ".codeium", "windsurf", "mcp_config.json")}
		},
		project: []string{".devin/mcp_config.json"},
		format:  jsonFormat{}, at: under("mcpServers"), shape: commandAndArgs(""), expands: []string{"${"}, elsewhere: true,
		places: map[string]string{"${env:HOME}": varHome},
		remote: &remote{url: "serverUrl", variable: [2]string{"${env:", "}"}},
		next: map[Scope]string{
			UserScope:    "refresh the list of MCP servers in the agent panel, or start the program again",
			ProjectScope: "open the project and refresh the list of MCP servers in the agent panel; versions before Devin Desktop do not read this file",
		},
	},
	{
		ID: "gemini", Title: "Gemini CLI", programs: []string{"gemini"},
		dirs: func(s System) []string { return []string{filepath.Join(s.Home, ".gemini")} },
		user: func(s System) []string { return []string{filepath.Join(s.Home, ".gemini", "settings.json")} }, project: []string{".gemini/settings.json"},
		format: jsonFormat{}, at: under("mcpServers"), shape: commandAndArgs(""), expands: []string{"$"},
		places: map[string]string{"${HOME}": varHome, "$HOME": varHome},
		remote: &remote{kind: "http", url: "url", variable: [2]string{"${", "}"}},
		next: map[Scope]string{
			UserScope:    "start a new session; in a folder that Gemini CLI does not trust, all servers are disabled",
			ProjectScope: "start a new session in the project and trust the folder: otherwise all servers are disabled",
		},
	},
	{
		ID: "opencode", Title: "opencode", programs: []string{"opencode"},
		dirs: func(s System) []string { return []string{s.xdgDir("opencode")} },
		user: func(s System) []string {
			return []string{filepath.Join(s.xdgDir("opencode"), "opencode.json"), filepath.Join(s.xdgDir("opencode"), "opencode.jsonc")}
		},
		project: []string{"opencode.json", "opencode.jsonc"},
		format:  jsonFormat{}, at: opencodeServers, shape: commandList, expands: []string{"{env:", "{file:"},
		places: map[string]string{"{env:HOME}": varHome},
		remote: &remote{kind: "remote", url: "url", variable: [2]string{"{env:", "}"}},
		next: map[Scope]string{
			UserScope:    "start a new session; `opencode mcp list` shows whether it connects",
			ProjectScope: "start a new session in the project; `opencode mcp list` shows whether it connects",
		},
	},
}

// The variables of a config, for the table of clients.
const (
	varHome    = "${" + manifest.VarHome + "}"
	varProject = "${" + manifest.VarProject + "}"
)

func under(key string) func(object) []string { return func(object) []string { return []string{key} } }

// opencodeServers returns the path of the object with the entries: mcp before version 2 of opencode, and mcp.servers
// from then on. Version 1.18 reads both.
func opencodeServers(doc object) []string {
	mcp, _ := doc["mcp"].(object)
	if servers, ok := mcp["servers"].(object); ok {
		if _, entry := servers["type"].(string); !entry {
			return []string{"mcp", "servers"}
		}
	}
	return []string{"mcp"}
}

// commandAndArgs is the most common shape. kind is the value of the field type; an empty kind omits the field.
func commandAndArgs(kind string) shape {
	return shape{
		env: "env",
		fields: func(e Entry) jsonfile.Object {
			fields := jsonfile.Object{{Name: "command", Value: e.Command}, {Name: "args", Value: e.Args}}
			if kind != "" {
				return append(jsonfile.Object{{Name: "type", Value: kind}}, fields...)
			}
			return fields
		},
		read: func(fields object) (Entry, bool) {
			command, ok := fields["command"].(string)
			args, isList := stringList(fields["args"])
			return Entry{Command: command, Args: args}, ok && isList
		},
	}
}

// commandList is the shape of opencode, in which the command and its arguments are one list.
var commandList = shape{
	env: "environment",
	fields: func(e Entry) jsonfile.Object {
		return jsonfile.Object{{Name: "type", Value: "local"}, {Name: "command", Value: append([]string{e.Command}, e.Args...)}}
	},
	read: func(fields object) (Entry, bool) {
		list, ok := stringList(fields["command"])
		if !ok || len(list) == 0 {
			return Entry{}, false
		}
		return Entry{Command: list[0], Args: list[1:]}, true
	},
}

// stringList returns a decoded list of strings. An absent list is empty.
func stringList(value any) ([]string, bool) {
	if value == nil {
		return nil, true
	}
	items, ok := value.([]any)
	list := make([]string, len(items))
	for i, item := range items {
		s, isString := item.(string)
		list[i], ok = s, ok && isString
	}
	return list, ok
}
