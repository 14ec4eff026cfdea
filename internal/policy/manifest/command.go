package manifest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/command"
)

// commandKeys are the keys of [[tools]] that apply to commands only.
var commandKeys = []string{"args", "stdin", "stdout", "success"}

// readCommand reads how calls of the tool run the program.
func (m *Manifest) readCommand(t *tomlfile.Table, tool *Tool) {
	if m.Module.Kind != KindCommand {
		for _, key := range commandKeys {
			if t.Has(key) {
				t.Fault(key, fmt.Sprintf("has no effect without kind = %q in [module]", KindCommand), "remove the key, or write the kind")
			}
		}
		return
	}
	r := commandReader{table: t, input: readInput(tool.Input), used: map[string]bool{}}
	c := &tool.Command
	for i, item := range t.Items("args") {
		if !item.Wrong {
			c.Args = append(c.Args, r.item(i, item))
		}
	}
	if t.Has("stdin") {
		c.Stdin = r.stdin(t.Table("stdin"))
	}
	c.Stdout = command.Format(t.OneOf("stdout", string(command.Text), string(command.JSON), string(command.Lines)))
	if tool.Output != nil && c.Stdout == command.Text {
		t.Fault("stdout", "is text, but the tool has an output schema", fmt.Sprintf("write stdout = %q or %q, or remove the schema", command.JSON, command.Lines))
	}
	for i, code := range t.Ints("success") {
		if code < 0 || code > math.MaxUint32 {
			t.FaultItem("success", i, "is not an exit code", "write a number from 0 on")
			continue
		}
		c.Success = append(c.Success, uint32(code))
	}
	if t.Has("success") && len(c.Success) == 0 {
		t.Fault("success", "names no exit code", "write those that are no error, such as [0, 1]")
	}
	for _, name := range r.input.names {
		if !r.used[name] {
			key := "input"
			if !t.Has(key) {
				key = "input_json"
			}
			t.Warn(key, fmt.Sprintf("has the property %s, which the program does not get", tomlfile.Quote(name)),
				fmt.Sprintf("write { arg = %s } in args, or remove the property", tomlfile.Quote(name)))
		}
	}
}

// inputProperty describes a property of the input schema for the mapping.
type inputProperty struct {
	types    []string // its types without null; those of its items if it is an array
	array    bool
	enum     []string // the strings of enum; nil: it has none, or one with other values
	fallback json.RawMessage
}

// inputSchema has the properties of an input schema.
type inputSchema struct {
	properties map[string]inputProperty
	names      []string // sorted
}

// readInput reads an input schema. It ignores what is invalid: package schema reports that.
func readInput(raw json.RawMessage) inputSchema {
	in := inputSchema{properties: map[string]inputProperty{}}
	for name, raw := range members(members(raw)["properties"]) {
		p := members(raw)
		out := inputProperty{types: readTypes(p["type"]), fallback: p["default"], enum: readEnum(p["enum"])}
		if slices.Equal(out.types, []string{"array"}) {
			items := members(p["items"])
			out.array, out.types, out.enum = true, readTypes(items["type"]), readEnum(items["enum"])
		}
		in.properties[name] = out
		in.names = append(in.names, name)
	}
	slices.Sort(in.names)
	return in
}

// members decodes an object into a map, because decoding into a struct would ignore the case of keys.
func members(raw json.RawMessage) (all map[string]json.RawMessage) {
	_ = json.Unmarshal(raw, &all)
	return all
}

func readTypes(raw json.RawMessage) []string {
	var one string
	var all []string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}
	}
	_ = json.Unmarshal(raw, &all)
	return slices.DeleteFunc(all, func(t string) bool { return t == "null" })
}

func readEnum(raw json.RawMessage) (all []string) {
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}

// commandReader reads the items of a tool.
type commandReader struct {
	table *tomlfile.Table
	input inputSchema
	used  map[string]bool // names of the arguments that items use
	ended bool            // a literal "--" precedes the item
}

// item reads one item of args.
func (r *commandReader) item(i int, item tomlfile.Item) command.Item {
	if item.Table == nil {
		if strings.ContainsRune(item.Text, 0) {
			r.table.FaultItem("args", i, "has a NUL character, which no argument of a program can have", "remove it")
		}
		r.ended = r.ended || item.Text == "--"
		return command.Item{Literal: item.Text}
	}
	t := item.Table
	out := command.Item{Flag: t.String("flag"), Dash: t.Bool("leading_dash", false)}
	p, ok := r.property(t, &out)
	if t.Has("choose") {
		out.Choose = r.choose(t, p, ok)
	}
	switch joined := strings.HasSuffix(out.Flag, "="); {
	case t.Has("flag") && (out.Flag == "" || strings.ContainsRune(out.Flag, 0)):
		t.Fault("flag", "is not an option of a program", `write flag = "--name", or "--name=" to join option and value`)
	case out.Flag != "" && out.Choose != nil:
		t.Fault("flag", "has no effect beside choose", "write the words in choose, and remove flag")
	case strings.HasPrefix(out.Flag, "-") && r.ended:
		t.Fault("flag", `follows "--", after which programs take nothing for an option`, `move the item before "--"`)
	case out.Type == command.Boolean && out.Choose == nil && (out.Flag == "" || joined):
		t.Fault("flag", fmt.Sprintf("needs the word that stands for true, as %s is a boolean", tomlfile.Quote(out.Arg)),
			`write flag = "--name", or choose = { true = "--name", false = "--no-name" }`)
	default:
		out.Dash = out.Dash || joined || out.Flag == "" && r.ended
	}
	if ok && out.Default != nil {
		if err := out.Check(out.Default); err != nil {
			t.Fault("arg", "has a default that cannot be passed: "+err.Error(), "correct the default in the input schema")
		}
	}
	return out
}

// property reads the argument of an item, and returns its property. ok is false if it has reported a problem.
func (r *commandReader) property(t *tomlfile.Table, out *command.Item) (p inputProperty, ok bool) {
	if p, ok = r.argument(t, out); !ok {
		return p, false
	}
	if len(p.types) == 1 {
		switch out.Type = command.Type(p.types[0]); out.Type {
		case command.String, command.Integer, command.Number, command.Boolean:
			return p, true
		}
	}
	what := fmt.Sprintf("names %s, which has the type %s", tomlfile.Quote(out.Arg), strings.Join(p.types, " or "))
	if len(p.types) == 0 {
		what = fmt.Sprintf("names %s, which has no type", tomlfile.Quote(out.Arg))
	}
	if p.array {
		what += " in its items"
	}
	t.Fault("arg", what, "give it one of the types string, integer, number, boolean, or an array of these; other values can be the standard input: stdin = { arg = … }")
	return p, false
}

// argument reads the key arg, which must name a property.
func (r *commandReader) argument(t *tomlfile.Table, out *command.Item) (p inputProperty, ok bool) {
	out.Arg = t.Required("arg", `write arg = "…": the name of a property of the input schema`)
	if out.Arg == "" {
		return p, false
	}
	if p, ok = r.input.properties[out.Arg]; !ok {
		remedy := "the input schema has no properties: write them in [tools.input.properties]"
		if len(r.input.names) > 0 {
			remedy = usage.DidYouMean(out.Arg, r.input.names, "the properties are "+strings.Join(r.input.names, ", "))
		}
		t.Fault("arg", fmt.Sprintf("names %s, which is not a property of the input schema", tomlfile.Quote(out.Arg)), remedy)
		return p, false
	}
	r.used[out.Arg], out.Default = true, p.fallback
	return p, true
}

// stdin reads the item whose value is the standard input.
func (r *commandReader) stdin(t *tomlfile.Table) *command.Item {
	var out command.Item
	if t.Present() {
		r.argument(t, &out)
	}
	return &out
}

// choose reads the words for the values of an item. ok says whether p is valid.
func (r *commandReader) choose(t *tomlfile.Table, p inputProperty, ok bool) map[string][]string {
	out := map[string][]string{}
	words := t.Table("choose")
	want := p.enum
	if ok && slices.Equal(p.types, []string{string(command.Boolean)}) {
		want = []string{"true", "false"}
	}
	for _, value := range words.Keys() {
		if words.IsArray(value) {
			out[value] = words.Strings(value)
		} else {
			out[value] = []string{words.String(value)}
		}
		if slices.ContainsFunc(out[value], func(word string) bool { return strings.ContainsRune(word, 0) }) {
			words.Fault(value, "has a NUL character, which no argument of a program can have", "remove it")
		}
		if ok && want != nil && !slices.Contains(want, value) {
			words.Fault(value, "is not a value of the property", "the values are "+strings.Join(want, ", "))
		}
	}
	switch {
	case !ok:
	case want == nil:
		t.Fault("choose", "needs a boolean or a property with an enum of strings", `write enum = ["…", "…"] in the property`)
	default:
		for _, value := range want {
			if _, has := out[value]; !has {
				t.Fault("choose", fmt.Sprintf("lacks the value %s", tomlfile.Quote(value)), "write its words, or [] for none")
			}
		}
	}
	return out
}

// checkCommand reports keys that a command cannot have, because it has no handlers and cannot call host operations.
func (m *Manifest) checkCommand(plugin, offers, capabilities *tomlfile.Table) {
	if m.Module.Kind != KindCommand {
		return
	}
	o, c := m.Offers, m.Capabilities
	for _, refused := range []struct {
		table *tomlfile.Table
		key   string
		has   bool
	}{
		{plugin, "validate", m.Validate == ValidatePlugin},
		{offers, "prompts", o.Prompts.Offers()}, {offers, "resources", o.Resources.Offers()}, {offers, "completions", o.Completions},
		{offers, "list_changed", o.ListChanged}, {offers, "subscribe", o.Subscribe}, {offers, "logging", o.Logging},
		{capabilities, "git", len(c.Git) > 0}, {capabilities, "http", len(c.HTTP) > 0}, {capabilities, "ask", len(c.Ask) > 0},
	} {
		if refused.has {
			refused.table.Fault(refused.key, fmt.Sprintf("is not possible with kind = %q", KindCommand),
				"remove it: a program has tools, files and variables (docs/commands.md)")
		}
	}
}
