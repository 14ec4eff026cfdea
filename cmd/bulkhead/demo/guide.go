package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// protocolVersion is the latest that begins with initialize.
const protocolVersion = "2025-11-25"

// guide leads through the conversation.
type guide struct {
	out    io.Writer
	client *client
	dir    string            // in which everything lies that the plugins work on
	values map[string]string // that are known, by name
	step   int
	wrong  []error
}

func (g *guide) conversation() error {
	if err := g.greet(); err != nil {
		return err
	}
	for _, c := range story {
		fmt.Fprintf(g.out, "\n%s: %s\n", c.plugin, c.about)
		for _, s := range c.steps {
			if err := g.take(s); err != nil {
				return err
			}
		}
	}
	if len(g.wrong) > 0 {
		return errors.Join(append(g.wrong, fmt.Errorf("%d times in %d steps something differed from what was expected", len(g.wrong), g.step))...)
	}
	fmt.Fprintf(g.out, "\nAll %d steps answered as expected.\n", g.step)
	return nil
}

// greet opens the session and lists the tools.
func (g *guide) greet() error {
	var hello struct {
		ProtocolVersion string
		ServerInfo      struct{ Name, Version string }
	}
	if err := g.client.request("initialize", args{
		"protocolVersion": protocolVersion,
		"capabilities":    args{},
		"clientInfo":      args{"name": "bulkhead-demo", "version": "1"},
	}, &hello); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if err := g.client.notify("notifications/initialized"); err != nil {
		return err
	}
	g.title("initialize", "")
	g.say(fmt.Sprintf("%s %s, protocol %s", hello.ServerInfo.Name, hello.ServerInfo.Version, hello.ProtocolVersion))

	var list struct{ Tools []struct{ Name string } }
	if err := g.client.request("tools/list", args{}, &list); err != nil {
		return fmt.Errorf("tools/list: %w", err)
	}
	listed := map[string]bool{}
	names := make([]string, len(list.Tools))
	for i, t := range list.Tools {
		names[i], listed[t.Name] = t.Name, true
	}
	g.title("tools/list", "from the manifests: no module is loaded for it")
	g.say(fmt.Sprintf("%d tools of %d plugins: %s … %s", len(names), len(story), names[0], names[len(names)-1]))
	for _, c := range story {
		for _, s := range c.steps {
			if s.tool != "" && !listed[s.tool] {
				g.differs("the tool %s is not listed", s.tool)
			}
		}
	}
	return nil
}

// take takes one step and compares its answer.
func (g *guide) take(s step) error {
	what, got, err := g.ask(s)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	g.title(what, s.why)
	g.say(shown(s, got))
	said := got.said()
	if got.refused != s.refused {
		g.differs("isError is %t: %.300s", got.refused, said)
	}
	for _, want := range s.says {
		if !strings.Contains(said, want) {
			g.differs("the answer does not say %s: %.300s", want, said)
		}
	}
	for path, name := range s.keeps {
		value, ok := member(got.structured, path).(string)
		if !ok {
			g.differs("the answer has no %s", path)
		}
		g.values["${"+name+"}"] = value
	}
	if s.check != nil {
		if err := s.check(g.dir); err != nil {
			g.differs("%v", err)
		}
	}
	return nil
}

// answer is what a request has brought.
type answer struct {
	text       string
	structured any // the JSON that a tool's answer or a resource is; nil if it is none
	refused    bool
}

// said is the answer as one text; where it is JSON, without blanks between its parts.
func (a answer) said() string {
	if a.structured != nil {
		if raw, err := json.Marshal(a.structured); err == nil {
			return string(raw)
		}
	}
	return a.text
}

// ask makes the request of a step; what is the request as it is printed.
func (g *guide) ask(s step) (what string, got answer, err error) {
	switch {
	case s.prompt != "":
		got, err = g.prompt(s.prompt)
		return "prompts/get " + s.prompt, got, err
	case s.resource != "":
		got, err = g.resource(s.resource)
		return "resources/read " + s.resource, got, err
	}
	raw, err := json.Marshal(s.arguments)
	if err != nil {
		return s.tool, answer{}, err
	}
	got, err = g.call(s.tool, s.arguments)
	return s.tool + " " + string(raw), got, err
}

func (g *guide) call(tool string, arguments map[string]any) (answer, error) {
	known := map[string]any{}
	for name, value := range arguments {
		if text, ok := value.(string); ok && g.values[text] != "" {
			value = g.values[text]
		}
		known[name] = value
	}
	var result struct {
		Content           []struct{ Text string }
		StructuredContent any
		IsError           bool
	}
	err := g.client.request("tools/call", args{"name": tool, "arguments": known}, &result)
	got := answer{structured: result.StructuredContent, refused: result.IsError}
	for _, item := range result.Content {
		got.text += item.Text
	}
	return got, err
}

func (g *guide) prompt(name string) (answer, error) {
	var result struct {
		Messages []struct {
			Role    string
			Content struct{ Text string }
		}
	}
	err := g.client.request("prompts/get", args{"name": name}, &result)
	got := answer{}
	for _, m := range result.Messages {
		got.text += fmt.Sprintf("%s: %s\n", m.Role, m.Content.Text)
	}
	return got, err
}

func (g *guide) resource(uri string) (answer, error) {
	var result struct{ Contents []struct{ Text string } }
	err := g.client.request("resources/read", args{"uri": uri}, &result)
	got := answer{}
	for _, c := range result.Contents {
		got.text += c.Text
	}
	if json.Unmarshal([]byte(got.text), &got.structured) != nil {
		got.structured = nil // a text, then
	}
	return got, err
}

// shown is what is printed of an answer.
func shown(s step, got answer) string {
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

// member is what is at a path such as data.changes.0 of a JSON value; nil if nothing is.
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

func (g *guide) title(what, why string) {
	g.step++
	fmt.Fprintf(g.out, "\n%2d. %s\n", g.step, what)
	if why != "" {
		fmt.Fprintf(g.out, "    (%s)\n", why)
	}
}

// How much of an answer is printed.
const (
	shownLines = 12
	shownWidth = 110 // characters
)

// say prints the beginning of an answer, without blank lines.
func (g *guide) say(text string) {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	for i, line := range lines {
		if i == shownLines {
			fmt.Fprintf(g.out, "    │ … %d more lines\n", len(lines)-i)
			break
		}
		if runes := []rune(line); len(runes) > shownWidth {
			line = string(runes[:shownWidth]) + "…"
		}
		fmt.Fprintf(g.out, "    │ %s\n", line)
	}
}

func (g *guide) differs(format string, args ...any) {
	err := fmt.Errorf("step %d: "+format, append([]any{g.step}, args...)...)
	g.wrong = append(g.wrong, err)
	fmt.Fprintf(g.out, "    ✗ %v\n", err)
}
