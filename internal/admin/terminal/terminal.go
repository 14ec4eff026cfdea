// Package terminal writes the commands that pages show, to be run in a terminal: with the flags that choose the same config and project.
package terminal

import (
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// Flags that choose what a command is about, by the command. Those of other commands are none.
var (
	all    = []string{"--config", "--no-config", "--project", "--plugins"}
	accept = map[string][]string{
		"policy": all, "doctor": all, "audit": {"--config", "--project"}, "update": {"--config"}, "remove": {"--config"}, "add": {"--config"}, "verify": {"--config"},
	}
)

// Command returns a command line of bulkhead with these words, and with the flags among o that its first word accepts. A command that edits a
// config, and has no --project, gets the config that was found by the project or the working directory, which may differ in the terminal. All
// words are quoted for a shell.
func Command(o discovery.Options, words ...string) string {
	if accepted := accept[words[0]]; o.ConfigFile == "" && slices.Contains(accepted, "--config") && !slices.Contains(accepted, "--project") {
		if source, err := discovery.FindConfig(o); err == nil && source.By.NeedsTrust() {
			o.ConfigFile = source.File
		}
	}
	line := []string{"bulkhead"}
	for _, word := range words {
		line = append(line, visible.ShellWord(word))
	}
	for _, flag := range []struct{ name, value string }{{"--config", o.ConfigFile}, {"--project", o.Project}, {"--plugins", o.PluginsDir}} {
		if flag.value == "" || !slices.Contains(accept[words[0]], flag.name) {
			continue
		}
		path, err := discovery.Absolute(o, flag.value)
		if err != nil { // of the working directory; the command shows the same error
			path = flag.value
		}
		line = append(line, flag.name, visible.ShellWord(path))
	}
	if o.NoConfig && slices.Contains(accept[words[0]], "--no-config") {
		line = append(line, "--no-config")
	}
	return strings.Join(line, " ")
}
