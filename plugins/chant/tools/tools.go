// Package tools registers the methods of package workflow as MCP tools. It parses the arguments of a call, finds the
// project, and encodes the result. Register adds all fourteen tools to a plugin.
package tools

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/workflow"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// The default values of the arguments "limit" and "lines".
const (
	defaultLimit = 50
	defaultLines = 100
)

// access says whether a tool reads or changes the project.
type access int

const (
	reads  access = iota
	writes        // the tool changes the project, and holds the project's lock
)

// tool describes one MCP tool.
type tool struct {
	name     string
	access   access
	required string // the name of the required argument, which is a string; "" if no argument is required
	call     func(p *workflow.Project, a arguments) (any, error)
}

// Register adds all tools to the plugin p.
func Register(p *sdk.Plugin) {
	for _, tool := range all() {
		sdk.HandleTool(p, tool.name, func(_ context.Context, raw json.RawMessage) (*sdk.ToolResult, error) {
			return tool.run(raw)
		})
	}
}

func all() []tool {
	return []tool{
		{"chant_spec_list", reads, "", func(p *workflow.Project, a arguments) (any, error) {
			return p.List(a.string("status"), a.uint("limit", defaultLimit))
		}},
		{"chant_spec_get", reads, "id", withID((*workflow.Project).Get)},
		{"chant_ready", reads, "", func(p *workflow.Project, a arguments) (any, error) {
			return p.Ready(a.uint("limit", defaultLimit))
		}},
		{"chant_status", reads, "", status},
		{"chant_log", reads, "id", func(p *workflow.Project, a arguments) (any, error) {
			return p.Log(*a.string("id"), a.uint("lines", defaultLines))
		}},
		{"chant_search", reads, "query", func(p *workflow.Project, a arguments) (any, error) {
			return p.Search(*a.string("query"), a.string("status"))
		}},
		{"chant_diagnose", reads, "id", withID((*workflow.Project).Diagnose)},
		{"chant_spec_update", writes, "id", func(p *workflow.Project, a arguments) (any, error) {
			return p.Update(*a.string("id"), a.string("status"), a.string("output"))
		}},
		{"chant_add", writes, "description", func(p *workflow.Project, a arguments) (any, error) {
			return p.Add(*a.string("description"), a.string("prompt"))
		}},
		{"chant_finalize", writes, "id", withID((*workflow.Project).Finalize)},
		{"chant_resume", writes, "id", withID((*workflow.Project).Resume)},
		{"chant_cancel", writes, "id", withID((*workflow.Project).Cancel)},
		{"chant_archive", writes, "id", withID((*workflow.Project).Archive)},
		{"chant_verify", reads, "id", withID((*workflow.Project).Verify)},
	}
}

// withID returns the function of a tool whose only argument is an id.
func withID[Out any](call func(p *workflow.Project, id string) (Out, error)) func(*workflow.Project, arguments) (any, error) {
	return func(p *workflow.Project, a arguments) (any, error) { return call(p, *a.string("id")) }
}

func status(p *workflow.Project, a arguments) (any, error) {
	brief := a.bool("brief")
	summary, err := p.Status(a.bool("include_activity") && !brief)
	if err != nil || !brief {
		return summary, err
	}
	return summary.Brief(), nil
}

// run handles a call of the tool. If the method of package workflow returns a string, the string is the text of the
// result; any other value is encoded as JSON. As in the chant CLI, run checks whether the project exists before it
// checks the arguments.
func (t tool) run(raw json.RawMessage) (*sdk.ToolResult, error) {
	project, err := open()
	if err != nil {
		return nil, err
	}
	if project.Joined, err = joined(os.Getenv(statusWords)); err != nil {
		return nil, err
	}
	given, err := t.parse(raw)
	if err != nil {
		return nil, err
	}
	if t.access == writes {
		if err := lock(project.Dir); err != nil {
			return nil, err
		}
	}
	var notes []sdk.Content // content after the result itself, because the format of the result is fixed
	project.Note = func(text string) { notes = append(notes, sdk.TextContent{Text: text}) }
	value, err := t.call(project, given)
	if err != nil {
		return nil, err
	}
	text, ok := value.(string)
	if !ok {
		encoded, err := rawjson.MarshalIndent(value, "  ")
		if err != nil {
			return nil, err
		}
		text = string(encoded)
	}
	result := sdk.Text(text)
	result.Content = append(result.Content, notes...)
	return result, nil
}

// statusWords is the variable that chooses between the names of statuses in results.
const statusWords = "CHANT_STATUS_WORDS"

// joined returns whether results show joined names of statuses, according to the value of the variable statusWords.
func joined(value string) (bool, error) {
	switch value {
	case "", "contract":
		return false, nil
	case "joined":
		return true, nil
	}
	return false, fmt.Errorf("%s is %q: set it to contract (in_progress) or joined (inprogress), or unset it", statusWords, value)
}

// open returns the project that contains the working directory.
func open() (*workflow.Project, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("cannot get the working directory: %w", err)
	}
	top := cwd
	if project := os.Getenv("BULKHEAD_PROJECT"); project != "" {
		top = filepath.Clean(project)
	}
	dir, err := store.Find(cwd, top)
	if err != nil {
		return nil, err
	}
	return &workflow.Project{
		Dir:    dir,
		Git:    &repository{root: dir.Root},
		Now:    time.Now(),
		Random: rand.Reader,
		Warn:   func(text string) { sdk.Log(sdk.LevelWarn, "%s", text) },
		Debug:  func(text string) { sdk.Log(sdk.LevelDebug, "%s", text) },
	}, nil
}
