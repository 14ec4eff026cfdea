package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// protocolVersion is the latest version of MCP that begins with initialize.
const protocolVersion = "2025-11-25"

// runner runs the conversation and compares the answers.
type runner struct {
	out    io.Writer
	client *client
	dir    string                  // the workspace: home directory and project
	await  func(plugin int) bool   // waits until the plugin of a chapter is built; false: it cannot be built
	serve  func(plugins int) error // has the server serve the plugins of the first chapters
	values map[string]string       // saved values, by "${name}"
	step   int
	failed []error
}

func (r *runner) run() error {
	if err := r.openSession(); err != nil {
		return err
	}
	for i, c := range chapters {
		if !r.await(i) {
			return nil // the caller has the error of the build
		}
		fmt.Fprintf(r.out, "\n%s: %s\n", c.plugin, c.about)
		if err := r.openChapter(i); err != nil {
			return err
		}
		for _, s := range c.steps {
			if err := r.runStep(s); err != nil {
				return err
			}
		}
	}
	if len(r.failed) > 0 {
		return errors.Join(append(r.failed, fmt.Errorf("%d unexpected answers in %d steps", len(r.failed), r.step))...)
	}
	fmt.Fprintf(r.out, "\nAll %d steps answered as expected.\n", r.step)
	return nil
}

// openSession initializes the session.
func (r *runner) openSession() error {
	var hello struct {
		ProtocolVersion string
		ServerInfo      struct{ Name, Version string }
	}
	if err := r.client.request("initialize", args{
		"protocolVersion": protocolVersion,
		"capabilities":    args{},
		"clientInfo":      args{"name": "bulkhead-demo", "version": "1"},
	}, &hello); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if err := r.client.notify("notifications/initialized"); err != nil {
		return err
	}
	r.printTitle("initialize", "")
	r.printExcerpt(fmt.Sprintf("%s %s, protocol %s", hello.ServerInfo.Name, hello.ServerInfo.Version, hello.ProtocolVersion))
	return nil
}

// openChapter has the server serve the plugin of a chapter too, and lists the tools.
func (r *runner) openChapter(chapter int) error {
	comment := "from the manifests, without loading a module"
	if chapter > 0 {
		comment = "the server has noticed that its config has one more plugin"
		if err := r.serve(chapter + 1); err != nil {
			return err
		}
		if err := r.client.awaitNotification("notifications/tools/list_changed"); err != nil {
			return err
		}
	}
	var list struct{ Tools []struct{ Name string } }
	if err := r.client.request("tools/list", args{}, &list); err != nil {
		return fmt.Errorf("tools/list: %w", err)
	}
	listed := map[string]bool{}
	names := make([]string, len(list.Tools))
	for i, t := range list.Tools {
		names[i], listed[t.Name] = t.Name, true
	}
	r.printTitle("tools/list", comment)
	if chapter == 0 {
		r.printExcerpt(fmt.Sprintf("%d tools of 1 plugin: %s … %s", len(names), names[0], names[len(names)-1]))
	} else {
		r.printExcerpt(fmt.Sprintf("%d tools of %d plugins: %s … %s", len(names), chapter+1, names[0], names[len(names)-1]))
	}
	for _, s := range chapters[chapter].steps {
		if s.tool != "" && !listed[s.tool] {
			r.fail("the tool %s is not listed", s.tool)
		}
	}
	return nil
}

// runStep sends the request of a step and compares the answer.
func (r *runner) runStep(s step) error {
	what, got, err := r.ask(s)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	r.printTitle(what, s.comment)
	r.printExcerpt(selection(s, got))
	text := got.compact()
	if got.isError != s.isError {
		r.fail("isError is %t: %.300s", got.isError, text)
	}
	for _, want := range s.contains {
		if !strings.Contains(text, want) {
			r.fail("the answer does not contain %s: %.300s", want, text)
		}
	}
	for path, name := range s.saves {
		value, ok := member(got.structured, path).(string)
		if !ok {
			r.fail("the answer does not contain the member %s", path)
		}
		r.values["${"+name+"}"] = value
	}
	if s.check != nil {
		if err := s.check(r.dir); err != nil {
			r.fail("%v", err)
		}
	}
	return nil
}

// answer is the result of a request.
type answer struct {
	text       string
	structured any // the structured content of a tool result, or a JSON resource; else nil
	isError    bool
}

// compact returns structured content as JSON without white space, else the text.
func (a answer) compact() string {
	if a.structured != nil {
		if raw, err := json.Marshal(a.structured); err == nil {
			return string(raw)
		}
	}
	return a.text
}

// ask sends the request of a step. what describes the request.
func (r *runner) ask(s step) (what string, got answer, err error) {
	switch {
	case s.prompt != "":
		got, err = r.prompt(s.prompt)
		return "prompts/get " + s.prompt, got, err
	case s.resource != "":
		got, err = r.resource(s.resource)
		return "resources/read " + s.resource, got, err
	}
	raw, err := json.Marshal(s.arguments)
	if err != nil {
		return s.tool, answer{}, err
	}
	got, err = r.call(s.tool, s.arguments)
	return s.tool + " " + string(raw), got, err
}

func (r *runner) call(tool string, arguments map[string]any) (answer, error) {
	expanded := map[string]any{}
	for name, value := range arguments {
		if text, ok := value.(string); ok && r.values[text] != "" {
			value = r.values[text]
		}
		expanded[name] = value
	}
	var result struct {
		Content           []struct{ Text string }
		StructuredContent any
		IsError           bool
	}
	err := r.client.request("tools/call", args{"name": tool, "arguments": expanded}, &result)
	got := answer{structured: result.StructuredContent, isError: result.IsError}
	for _, item := range result.Content {
		got.text += item.Text
	}
	return got, err
}

func (r *runner) prompt(name string) (answer, error) {
	var result struct {
		Messages []struct {
			Role    string
			Content struct{ Text string }
		}
	}
	err := r.client.request("prompts/get", args{"name": name}, &result)
	got := answer{}
	for _, m := range result.Messages {
		got.text += fmt.Sprintf("%s: %s\n", m.Role, m.Content.Text)
	}
	return got, err
}

func (r *runner) resource(uri string) (answer, error) {
	var result struct{ Contents []struct{ Text string } }
	err := r.client.request("resources/read", args{"uri": uri}, &result)
	got := answer{}
	for _, c := range result.Contents {
		got.text += c.Text
	}
	if json.Unmarshal([]byte(got.text), &got.structured) != nil {
		got.structured = nil // not JSON
	}
	return got, err
}

// selection returns the part of an answer that the step prints.
func selection(s step, got answer) string {
	if len(s.shows) == 0 {
		return got.text
	}
	lines := make([]string, len(s.shows))
	for i, path := range s.shows {
		raw, err := json.Marshal(member(got.structured, path))
		if err != nil {
			raw = []byte(err.Error())
		}
		lines[i] = path + ": " + string(raw)
	}
	return strings.Join(lines, "\n")
}

// member returns the value at a path such as data.changes.0 of a JSON value, or nil.
func member(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

func (r *runner) printTitle(what, comment string) {
	r.step++
	fmt.Fprintf(r.out, "\n%2d. %s\n", r.step, what)
	if comment != "" {
		fmt.Fprintf(r.out, "    (%s)\n", comment)
	}
}

// Maximum size of a printed excerpt.
const (
	excerptLines = 12
	excerptWidth = 110 // code points
)

// printExcerpt prints the beginning of an answer, without empty lines.
func (r *runner) printExcerpt(text string) {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	for i, line := range lines {
		if i == excerptLines {
			fmt.Fprintf(r.out, "    │ … %d more lines\n", len(lines)-i)
			break
		}
		if runes := []rune(line); len(runes) > excerptWidth {
			line = string(runes[:excerptWidth]) + "…"
		}
		fmt.Fprintf(r.out, "    │ %s\n", line)
	}
}

// fail prints and records an unexpected answer.
func (r *runner) fail(format string, args ...any) {
	err := fmt.Errorf("step %d: "+format, append([]any{r.step}, args...)...)
	r.failed = append(r.failed, err)
	fmt.Fprintf(r.out, "    ✗ %v\n", err)
}
