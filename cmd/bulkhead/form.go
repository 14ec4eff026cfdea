package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/schema"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// field is a field of a form.
type field struct {
	name     string
	required bool
	schema   json.RawMessage

	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	choices
	Items choices `json:"items"` // of an array
}

// choices are the values that a field may have; none: any of its type.
type choices struct {
	Enum  []string `json:"enum"`
	Names []string `json:"enumNames"`
	OneOf []choice `json:"oneOf"`
	AnyOf []choice `json:"anyOf"`
}

type choice struct{ Const, Title string }

// list returns the choices with their titles.
func (c choices) list() []choice {
	out := slices.Concat(c.OneOf, c.AnyOf)
	for i, value := range c.Enum {
		title := value
		if i < len(c.Names) {
			title = c.Names[i]
		}
		out = append(out, choice{value, title})
	}
	return out
}

// form asks for the fields of a form, one after the other.
func (q *questions) form(ctx context.Context, form json.RawMessage) (string, map[string]json.RawMessage) {
	fields, err := fieldsOf(form)
	if err != nil {
		fmt.Fprintf(q.to, "The form is invalid, so the question is cancelled: %s\n", questionText(err.Error()))
		return abi.ActionCancel, nil
	}
	fmt.Fprintln(q.to, "Enter ! to decline, and end the input (Ctrl-D) to cancel.")
	content := map[string]json.RawMessage{}
	for _, f := range fields {
		value, err := q.field(ctx, f)
		if err != nil {
			return actionFor(err), nil
		}
		if value != nil {
			content[f.name] = value
		}
	}
	if len(fields) == 0 {
		text, err := q.line(ctx, "Do you agree? [y/N] ")
		if yes := strings.ToLower(text); err == nil && yes != "y" && yes != "yes" {
			err = errDecline
		}
		if err != nil {
			return actionFor(err), nil
		}
	}
	return abi.ActionAccept, content
}

// fieldsOf returns the fields of a form in their order.
func fieldsOf(form json.RawMessage) ([]field, error) {
	var required []string
	if list := rawjson.Member(form, "required"); list != nil {
		if err := json.Unmarshal(list, &required); err != nil {
			return nil, err
		}
	}
	var out []field
	for name, value := range rawjson.Members(rawjson.Member(form, "properties")) {
		f := field{name: name, schema: value, required: slices.Contains(required, name)}
		if err := json.Unmarshal(value, &f); err != nil {
			return nil, fmt.Errorf("the field %q: %w", name, err)
		}
		out = append(out, f)
	}
	return out, nil
}

// maxChoices is the maximum number of choices that are shown. The user can enter the others, too.
const maxChoices = 50

// field asks for a field until its value is valid. The value is nil if the user leaves out a field that is not required.
func (q *questions) field(ctx context.Context, f field) (json.RawMessage, error) {
	valid, err := schema.Compile(f.schema)
	if err != nil {
		return nil, err
	}
	if f.Default != nil && valid.Validate(f.Default) != nil {
		f.Default = nil // the user could not enter it
	}
	if f.Description != "" {
		fmt.Fprintf(q.to, "  %s\n", questionText(f.Description))
	}
	list := slices.Concat(f.list(), f.Items.list())
	for i, c := range list[:min(len(list), maxChoices)] {
		fmt.Fprintf(q.to, "  %d  %s\n", i+1, questionText(cmp.Or(c.Title, c.Const)))
	}
	if more := len(list) - maxChoices; more > 0 {
		fmt.Fprintf(q.to, "  (and %d more)\n", more)
	}
	for {
		text, err := q.line(ctx, f.prompt())
		switch {
		case err != nil:
			return nil, err
		case text == "" && f.Default != nil:
			return f.Default, nil
		case text == "" && !f.required:
			return nil, nil
		}
		value, err := f.encode(text, list)
		if err == nil {
			err = valid.Validate(value)
		}
		if err == nil {
			return value, nil
		}
		fmt.Fprintf(q.to, "  %s\n", questionText(err.Error()))
	}
}

// prompt returns the prompt of a field, with what an empty line means.
func (f field) prompt() string {
	hint := ""
	switch {
	case f.Default != nil:
		hint = " [" + questionText(string(f.Default)) + "]"
	case !f.required:
		hint = " (optional)"
	}
	switch f.Type {
	case "boolean":
		hint = " (y or n)" + hint
	case "array":
		hint = " (several, with commas)" + hint
	}
	return questionText(cmp.Or(f.Title, f.name)) + hint + ": "
}

// encode encodes what the user has entered. A choice is its number, its value or its title.
func (f field) encode(text string, list []choice) (json.RawMessage, error) {
	pick := func(text string) string {
		text = strings.TrimSpace(text)
		for i, c := range list {
			if text == strconv.Itoa(i+1) || text == c.Const || text == c.Title {
				return c.Const
			}
		}
		return text
	}
	switch f.Type {
	case "boolean":
		switch strings.ToLower(text) {
		case "y", "yes", "true":
			return json.RawMessage("true"), nil
		case "n", "no", "false":
			return json.RawMessage("false"), nil
		}
		return nil, errors.New("write y or n")
	case "number", "integer":
		if rawjson.Kind([]byte(text)) != '0' || !rawjson.Valid([]byte(text)) {
			return nil, errors.New("write a number")
		}
		return json.RawMessage(text), nil
	case "array":
		items := []string{}
		for item := range strings.SplitSeq(text, ",") {
			items = append(items, pick(item))
		}
		return json.Marshal(items)
	}
	return json.Marshal(pick(text))
}
