package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scenario"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// recording contains the flags of `bulkhead plugin test` that record a scenario.
type recording struct {
	file     string // relative to the plugin's directory; empty: nothing is recorded
	requests []recordedRequest
	answers  []string
	files    string
	force    bool
}

// recordedRequest is a request to record, as the flags describe it.
type recordedRequest struct {
	kind, name string
	arguments  []string // empty, or one JSON object
	pairs      []string // values of --arg
}

// requestFlag is a flag that adds a request. If kind is empty, it adds an argument to the last request.
type requestFlag struct {
	recording *recording
	kind      string
}

func (f requestFlag) String() string { return "" }

// Type names the value in the help.
func (f requestFlag) Type() string { return "string" }

func (f requestFlag) Set(text string) error {
	all := &f.recording.requests
	if f.kind == "" {
		if len(*all) == 0 {
			return errors.New("there is no request before it: write it after the --call or --prompt to which it belongs")
		}
		last := &(*all)[len(*all)-1]
		last.pairs = append(last.pairs, text)
		return nil
	}
	request := recordedRequest{kind: f.kind, name: strings.TrimSpace(text)}
	if name, arguments, found := strings.Cut(request.name, " "); found && f.kind != "resource" {
		request.name, request.arguments = name, []string{strings.TrimSpace(arguments)}
	}
	if request.name == "" {
		return errors.New("it is empty")
	}
	*all = append(*all, request)
	return nil
}

func (r *recording) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.file, "record", "", "write the scenario `file` with the requests of --call, --prompt and --resource;\na path in the plugin's directory, such as tests/greet.toml")
	f.Var(requestFlag{r, "tool"}, "call", "call to record: `'TOOL {JSON}'`, where the arguments may be left out; repeatable")
	f.Var(requestFlag{r, "prompt"}, "prompt", "prompt to record: `'NAME {JSON}'`; repeatable")
	f.Var(requestFlag{r, "resource"}, "resource", "`URI` of a resource whose content is recorded; repeatable")
	f.Var(requestFlag{r, ""}, "arg", "one argument of the --call or --prompt before it: `name=value`, repeatable")
	f.StringArrayVar(&r.answers, "answer", nil, "answer of the client to a question of the recorded calls: `ID=JSON`, repeatable")
	f.StringVar(&r.files, "files", "", "`directory` with the files of the project before the recorded requests\n(default: the project is empty)")
	f.BoolVar(&r.force, "force", false, "let --record replace an existing file")
}

// unused returns an error if flags are set that only --record uses.
func (r *recording) unused() error {
	if len(r.requests) > 0 || r.answers != nil || r.files != "" || r.force {
		return usage.Errorf("--call, --prompt, --resource, --arg, --answer, --files and --force need --record FILE")
	}
	return nil
}

// record writes a scenario file.
func (o *pluginTest) record(c *cobra.Command, dirs []string) error {
	if len(dirs) != 1 || o.run != "" {
		return usage.Errorf("--record is for one plugin, and without --run")
	}
	if len(o.requests) == 0 {
		return usage.Errorf(`--record: there is no request: pass at least one --call, --prompt or --resource, such as --call 'TOOL {"name": "Ada"}'`)
	}
	file := filepath.Clean(o.file)
	if filepath.Dir(file) != scenario.Dir || filepath.Ext(file) != ".toml" {
		return usage.Errorf("--record %s: write a file in tests/ of the plugin's directory, such as tests/greet.toml: only those are run", o.file)
	}
	rec := scenario.Recording{File: filepath.Join(dirs[0], file), Name: strings.TrimSuffix(filepath.Base(file), ".toml"), Files: o.files}
	if _, err := os.Lstat(rec.File); !o.force && !errors.Is(err, fs.ErrNotExist) {
		return usage.Errorf("--record: %s exists: choose another name, or pass --force to replace it", rec.File)
	}
	if rec.Files != "" {
		if info, err := os.Stat(rec.Files); err != nil || !info.IsDir() {
			return usage.Errorf("--files: %s is not a directory", rec.Files)
		}
	}
	given, err := newQuestions(c.InOrStdin(), o.answers, nil)
	if err != nil {
		return err
	}
	if len(given.given) > 0 {
		rec.Answers = given.given
	}
	plugin, err := o.plugin(c.Context(), dirs[0])
	if err != nil {
		return err
	}
	if rec.Requests, err = o.recorded(c, plugin.Manifest); err != nil {
		return err
	}
	recorded, err := scenario.Record(c.Context(), plugin, rec)
	if err != nil {
		return err
	}
	if err := rec.Write(recorded.Content, o.force); errors.Is(err, fs.ErrExist) {
		return &usage.Error{Err: err}
	} else if err != nil {
		return err
	}
	if o.asJSON {
		return printJSON(c.OutOrStdout(), map[string]any{"recorded": rec.File, "requests": len(rec.Requests), "files": listed(recorded.Files), "left_out": listed(recorded.LeftOut)})
	}
	w := c.OutOrStdout()
	for _, file := range recorded.Files {
		if _, err := fmt.Fprintf(w, "file      %s\n", oneLine(file)); err != nil {
			return err
		}
	}
	for _, file := range recorded.LeftOut {
		if _, err := fmt.Fprintf(w, "left out  %s\n", oneLine(file)); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "recorded %s: read it, and replace what differs in each run by contains or matches\n", oneLine(rec.File))
	return err
}

// listed returns a list that is an empty array in JSON if it has no items.
func listed(items []string) []string { return append([]string{}, items...) }

// recorded returns the requests with their arguments encoded by the schemas of the manifest m.
func (o *pluginTest) recorded(c *cobra.Command, m *manifest.Manifest) ([]scenario.Request, error) {
	var all []scenario.Request
	for _, r := range o.requests {
		request := scenario.Request{Kind: r.kind, Name: r.name}
		var schema json.RawMessage
		if r.kind == "tool" {
			var names []string
			known := false
			for _, t := range m.Tools {
				names = append(names, t.Name)
				if t.Name == r.name {
					schema, known = t.Input, true
				}
			}
			if !known {
				return nil, usage.Errorf("--call: %s has no tool %q: its tools are %s", m.Name, r.name, strings.Join(names, ", "))
			}
		}
		if r.kind != "resource" && len(r.arguments)+len(r.pairs) > 0 {
			var err error
			if request.Arguments, err = readArguments(c.InOrStdin(), r.arguments, r.pairs, schema); err != nil {
				return nil, &usage.Error{Err: err}
			}
		}
		all = append(all, request)
	}
	return all, nil
}
