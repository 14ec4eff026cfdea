package report

import (
	"cmp"
	"slices"
	"strings"
)

// CommandPrefix returns the beginning of a recommended command: the program name, and global flags with the arguments
// of the call. It omits the flag for an empty argument.
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

// shellSafe holds the characters that have no special meaning in a shell.
const shellSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-"

// ShellQuote quotes text as one word of a shell command. Users copy recommended commands into a shell, and the ids and
// paths in these commands are untrusted.
func ShellQuote(text string) string {
	if text != "" && strings.Trim(text, shellSafe) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Action is a recommended command together with the code of the action.
type Action struct {
	Code    string `json:"action"`
	Command string `json:"command"`
}

// actionOrder lists the codes of actions by precedence. Codes in one row have equal precedence.
var actionOrder = [][]string{
	{"bootstrap"}, {"doctor"}, {"update"}, {"preview", "preview_diff"}, {"diff"}, {"plan"}, {"deploy", "deploy_apply"},
	{"status"}, {"evolve_propose"}, {"evolve", "evolve_restore"}, {"rollback"},
}

// SortActions sorts actions by precedence and removes duplicates.
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

// Commands returns the command of each action.
func Commands(actions []Action) []string {
	var commands []string
	for _, action := range actions {
		commands = append(commands, action.Command)
	}
	return commands
}
