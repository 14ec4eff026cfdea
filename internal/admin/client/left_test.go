package client

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLeftByNamesEntriesThatAreNotRemoved(t *testing.T) {
	u := newUser(t)
	entry := fmt.Sprintf(`{"type": "stdio", "command": %q, "args": ["serve"]}`, u.Program)
	other := `{"command": "npx"}`
	u.put("home/.cursor/mcp.json", `{"mcpServers": {"bulkhead": `+entry+`, "chant": `+entry+`, "other": `+other+`}}`)
	u.put("app/.cursor/mcp.json", `{"mcpServers": {"bulkhead": `+entry+`}}`)
	u.put("there/.vscode/mcp.json", `{"servers": {"bulkhead": `+entry+`}}`)
	u.put("there/.mcp.json", "no JSON")
	u.put("home/.claude.json", `{"projects": {"/b": {"mcpServers": {"bulkhead": `+entry+`}}, "/a": {"mcpServers": {"bulkhead": `+other+`}}, "/c": 3}}`)
	cursor, err := Find("cursor")
	if err != nil {
		t.Fatal(err)
	}
	change, err := Remove(cursor, u.System, Options{Scope: UserScope, Name: DefaultName})
	if err != nil || change.Action != ActionRemove {
		t.Fatal(change, err)
	}
	left := LeftBy([]*Change{change}, u.System, []string{u.root + "/app", u.root + "/there", u.root + "/gone"})
	want := []Left{
		{"claude-code", "Claude Code", LocalScope, "/b", u.root + "/home/.claude.json", "bulkhead"},
		{"cursor", "Cursor", UserScope, "", u.root + "/home/.cursor/mcp.json", "chant"},
		{"cursor", "Cursor", ProjectScope, u.root + "/app", u.root + "/app/.cursor/mcp.json", "bulkhead"},
		{"vscode", "VS Code", ProjectScope, u.root + "/there", u.root + "/there/.vscode/mcp.json", "bulkhead"},
	}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Error(diff)
	}
	var lines []string
	for _, l := range left {
		lines = append(lines, l.RemoveLine())
	}
	if diff := cmp.Diff([]string{
		"claude mcp remove --scope local bulkhead",
		"bulkhead client remove cursor --name chant",
		"bulkhead client remove cursor --scope project --project " + u.root + "/app",
		"bulkhead client remove vscode --scope project --project " + u.root + "/there",
	}, lines); diff != "" {
		t.Error(diff)
	}
}

func TestRemoveLineQuotesNames(t *testing.T) {
	const name, quoted = "x'; rm -rf ~; '", `'x'\''; rm -rf ~; '\'''`
	for scope, want := range map[Scope]string{
		LocalScope: "claude mcp remove --scope local " + quoted,
		UserScope:  "bulkhead client remove claude --name " + quoted,
	} {
		if got := (Left{Client: "claude", Scope: scope, Name: name}).RemoveLine(); got != want {
			t.Errorf("%s: got %s, want %s", scope, got, want)
		}
	}
}
