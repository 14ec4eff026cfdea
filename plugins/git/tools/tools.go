// Package tools connects the packages of the plugin to MCP. Register adds the handlers of the tools to a plugin.
package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/git/branch"
	"github.com/bulkhead-mcp/bulkhead/plugins/git/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/git/date"
	"github.com/bulkhead-mcp/bulkhead/plugins/git/patch"
	"github.com/bulkhead-mcp/bulkhead/plugins/git/repository"
	"github.com/bulkhead-mcp/bulkhead/plugins/git/status"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

const (
	defaultContext = 3
	maxContext     = 1_000_000
	defaultCount   = 10
	maxCommits     = 10_000
)

// arguments are the arguments of all tools. The host has validated their types.
type arguments struct {
	RepoPath       string   `json:"repo_path"`
	Target         string   `json:"target"`
	Revision       string   `json:"revision"`
	ContextLines   *integer `json:"context_lines"`
	MaxCount       *integer `json:"max_count"`
	StartTimestamp string   `json:"start_timestamp"`
	EndTimestamp   string   `json:"end_timestamp"`
	BranchType     string   `json:"branch_type"`
	Contains       *string  `json:"contains"`
	NotContains    *string  `json:"not_contains"`

	Files      []string `json:"files"`
	Message    string   `json:"message"`
	BranchName string   `json:"branch_name"`
	BaseBranch string   `json:"base_branch"`
}

// integer is an integer of JSON, which can be written as 1e3. Numbers that are too large for any use here are reduced to a bound.
type integer int

const maxInteger = 1 << 31

func (i *integer) UnmarshalJSON(text []byte) error {
	number, err := strconv.ParseFloat(string(text), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return err
	}
	*i = integer(min(max(number, -maxInteger), maxInteger-1))
	return nil
}

// Register adds the handlers of the tools to the plugin p.
func Register(p *sdk.Plugin) {
	for name, call := range map[string]func(*repository.Repository, arguments) (string, error){
		"git_status":        describe,
		"git_diff_unstaged": diffUnstaged,
		"git_diff_staged":   diffStaged,
		"git_diff":          diff,
		"git_log":           log,
		"git_show":          show,
		"git_branch":        listBranches,
		"git_add":           func(r *repository.Repository, a arguments) (string, error) { return change.Add(r, a.Files) },
		"git_reset":         func(r *repository.Repository, _ arguments) (string, error) { return change.Reset(r) },
		"git_commit":        func(r *repository.Repository, a arguments) (string, error) { return change.Commit(r, a.Message) },
		"git_create_branch": func(r *repository.Repository, a arguments) (string, error) {
			return change.CreateBranch(r, a.BranchName, a.BaseBranch)
		},
	} {
		sdk.HandleTool(p, name, func(_ context.Context, a arguments) (*sdk.ToolResult, error) {
			text, err := run(a, call)
			if err != nil {
				return sdk.ErrorText("Error executing tool " + name + ": " + err.Error()), nil
			}
			return sdk.Text(text), nil
		})
	}
}

func run(a arguments, call func(*repository.Repository, arguments) (string, error)) (string, error) {
	r, err := repository.Open(host{}, a.RepoPath)
	if err != nil {
		return "", err
	}
	text, err := call(r, a)
	return repository.ToUTF8([]byte(text)), err
}

// refuseOption refuses a value that a command line would take for an option.
func refuseOption(name, value string) error {
	if strings.HasPrefix(value, "-") {
		return repository.Refuse("Invalid %s: '%s' - cannot start with '-'", name, value)
	}
	return nil
}

func describe(r *repository.Repository, _ arguments) (string, error) {
	text, err := status.Describe(r)
	return "Repository status:\n" + text, err
}

// write returns the differences between two states as a patch, without the last line feed.
func write(r *repository.Repository, from, to string, a arguments) (string, error) {
	context := defaultContext
	if a.ContextLines != nil {
		context = min(int(*a.ContextLines), maxContext)
	}
	if context < 0 {
		return "", errors.New("context_lines: give 0 or more")
	}
	p, err := patch.New(r, from, to)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = p.Write(&out, context)
	return strings.TrimSuffix(out.String(), "\n"), err
}

func diffUnstaged(r *repository.Repository, a arguments) (string, error) {
	text, err := write(r, repository.Index, repository.Worktree, a)
	return "Unstaged changes:\n" + text, err
}

func diffStaged(r *repository.Repository, a arguments) (string, error) {
	from := r.Commit
	if from == "" {
		from = repository.Empty
	}
	text, err := write(r, from, repository.Index, a)
	return "Staged changes:\n" + text, err
}

func diff(r *repository.Repository, a arguments) (string, error) {
	if err := refuseOption("target", a.Target); err != nil {
		return "", err
	}
	target, err := r.Resolve(a.Target)
	if err != nil {
		return "", err
	}
	from := target.Hash
	switch target.Type {
	case "tree":
	case "commit", "tag":
		c, err := r.PeelCommit(target)
		if err != nil {
			return "", err
		}
		from = c.Tree
	default:
		return "", fmt.Errorf("%s: a %s: give a commit or a tree", a.Target, target.Type)
	}
	text, err := write(r, from, repository.Worktree, a)
	return "Diff with " + a.Target + ":\n" + text, err
}

func log(r *repository.Repository, a arguments) (string, error) {
	query := repository.Range{From: []string{r.Commit}, Limit: defaultCount}
	if a.MaxCount != nil {
		query.Limit = int(*a.MaxCount)
	}
	now := time.Now()
	for _, bound := range []struct {
		name, text string
		to         *int64
	}{{"start_timestamp", a.StartTimestamp, &query.Since}, {"end_timestamp", a.EndTimestamp, &query.Until}} {
		if bound.text == "" {
			continue
		}
		if err := refuseOption(bound.name, bound.text); err != nil {
			return "", err
		}
		when, err := date.Parse(bound.text, now)
		if err != nil {
			return "", fmt.Errorf("%s: %w", bound.name, err)
		}
		*bound.to = max(when.Unix(), 1)
	}
	if r.Commit == "" {
		return "", repository.Refuse("Reference at 'refs/heads/%s' does not exist", r.Branch)
	}
	all := query.Limit < 0
	if all || query.Limit > maxCommits {
		query.Limit = maxCommits
	}
	text := "Commit history:\n"
	if query.Limit == 0 {
		return text, nil
	}
	history, err := r.History(query)
	if err != nil {
		return "", err
	}
	if wanted := query.Limit; history.Truncated && (all || len(history.Commits) < wanted) {
		return "", errors.New("the history is too long for one answer: give max_count, or dates")
	}
	var entries []string
	for _, object := range history.Commits {
		c, err := repository.ParseCommit(object.Hash, object.Content)
		if err != nil {
			return "", err
		}
		entries = append(entries, fmt.Sprintf("Commit: %s\nAuthor: %s\nDate: %s\nMessage: %s\n",
			c.Hash, c.Name, c.Authored.Format("2006-01-02 15:04:05-07:00"), c.Message))
	}
	return text + strings.Join(entries, "\n"), nil
}

func show(r *repository.Repository, a arguments) (string, error) {
	if err := refuseOption("revision", a.Revision); err != nil {
		return "", err
	}
	object, err := r.Resolve(a.Revision)
	if err != nil {
		return "", err
	}
	switch object.Type {
	case "blob":
		return repository.ToUTF8(object.Content), nil
	case "tree":
		entries, err := repository.ParseTree(object.Content)
		var names []string
		for _, e := range entries {
			if e.IsTree() {
				e.Name += "/"
			}
			names = append(names, e.Name)
		}
		return strings.Join(names, "\n"), err
	}
	c, err := r.PeelCommit(object)
	if err != nil {
		return "", err
	}
	return showCommit(r, c)
}

func showCommit(r *repository.Repository, c repository.Commit) (string, error) {
	var out strings.Builder
	fmt.Fprintf(&out, "commit %s\nAuthor: %s <%s>\nDate:   %s\n\n", c.Hash, c.Name, c.Email, c.Authored.Format("2006-01-02 15:04:05 -0700"))
	for line := range strings.SplitSeq(strings.TrimRight(c.Message, "\n"), "\n") {
		out.WriteString("    " + line + "\n")
	}
	parent := repository.Empty
	if len(c.Parents) > 0 {
		parent = c.Parents[0]
	}
	p, err := patch.New(r, parent, c.Hash)
	if err != nil {
		return "", err
	}
	err = p.Each(defaultContext, func(from, to string, body []byte) {
		fmt.Fprintf(&out, "\n--- %s\n+++ %s\n%s", from, to, repository.ToUTF8(body))
	})
	return out.String(), err
}

func listBranches(r *repository.Repository, a arguments) (string, error) {
	for _, bound := range []struct {
		name string
		text *string
	}{{"contains value", a.Contains}, {"not_contains value", a.NotContains}} {
		if bound.text == nil {
			continue
		}
		if err := refuseOption(bound.name, *bound.text); err != nil {
			return "", err
		}
	}
	return branch.List(r, branch.Query{Type: a.BranchType, Contains: a.Contains, NotContains: a.NotContains})
}
