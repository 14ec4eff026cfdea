// Package action words the commands of agentpack's own command line that an answer recommends.
package report

import (
	"cmp"
	"slices"
	"strings"
)

// Prefix begins a command with what the call was given: "" for what it was not.
func CommandPrefix(repo, profile, target, machine string) string {
	parts := []string{"agentpack"}
	for _, option := range []struct{ name, value, otherwise string }{
		{"--repo", repo, ""}, {"--profile", profile, "default"}, {"--target", target, "all"}, {"--machine", machine, ""},
	} {
		if option.value != "" && option.value != option.otherwise {
			parts = append(parts, option.name, ShellQuote(option.value))
		}
	}
	return strings.Join(parts, " ")
}

// plain are the characters that mean nothing to a shell.
const shellSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-"

// Word is a text as one word of a command line, whatever it holds: commands are made to be run as they stand,
// and ids and paths in them come from elsewhere.
func ShellQuote(text string) string {
	if text != "" && strings.Trim(text, shellSafe) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Action is a recommended command with a code for it.
type Action struct {
	Code    string `json:"action"`
	Command string `json:"command"`
}

// order is what is recommended before what; codes of one line are of one rank.
var actionOrder = [][]string{
	{"bootstrap"}, {"doctor"}, {"update"}, {"preview", "preview_diff"}, {"diff"}, {"plan"}, {"deploy", "deploy_apply"},
	{"status"}, {"evolve_propose"}, {"evolve", "evolve_restore"}, {"rollback"},
}

// Sort puts actions in the order in which they are recommended and drops repetitions.
func SortActions(actions []Action) []Action {
	slices.SortFunc(actions, func(a, b Action) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Command, b.Command))
	})
	return slices.Compact(actions)
}

func (a Action) rank() int {
	for i, codes := range actionOrder {
		if slices.Contains(codes, a.Code) {
			return i
		}
	}
	return len(actionOrder)
}

// Commands returns the commands alone.
func Commands(actions []Action) []string {
	var commands []string
	for _, action := range actions {
		commands = append(commands, action.Command)
	}
	return commands
}
