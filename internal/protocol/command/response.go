package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Output is what a program left when it ended.
type Output struct {
	Stdout []byte
	Stderr []byte // an excerpt
	Exit   uint32
}

// Response returns the response of ABI 1 to a call of the tool. It is nil if it would have more than limit bytes: the encoding of a
// string can be six times as long as the string.
func (t Tool) Response(o Output, limit int64) []byte {
	response := t.response(o, limit)
	if int64(len(response)) > limit {
		return nil
	}
	return response
}

func (t Tool) response(o Output, limit int64) []byte {
	if o.Exit != 0 && len(t.Success) == 0 || len(t.Success) > 0 && !slices.Contains(t.Success, o.Exit) {
		return bounded(limit, nil, true, []byte(o.failure()), o.Stdout)
	}
	switch t.Stdout {
	case JSON:
		value, err := compact(o.Stdout)
		if err != nil {
			return bounded(limit, nil, true, []byte(o.notJSON(fmt.Sprintf("something that is not JSON: %v", err))))
		}
		if rawjson.Kind(value) != '{' {
			value = slices.Concat([]byte(`{"result":`), value, []byte("}"))
		}
		return bounded(limit, value, false, value)
	case Lines:
		value, err := lines(o.Stdout)
		if err != nil {
			return bounded(limit, nil, true, []byte(o.notJSON(err.Error())))
		}
		return bounded(limit, value, false, value)
	}
	text := o.Stdout
	if len(text) == 0 {
		text = []byte(o.silent())
	}
	return bounded(limit, nil, false, text)
}

// failure returns the text of a run that failed.
func (o Output) failure() string {
	text := fmt.Sprintf("the program exited with code %d", o.Exit)
	if errors := strings.TrimSpace(string(o.Stderr)); errors != "" {
		text += ":\n" + errors
	}
	return text
}

// notJSON returns the text of a run whose output does not have the format that the manifest states.
func (o Output) notJSON(what string) string {
	text := "the program printed " + what
	if errors := strings.TrimSpace(string(o.Stderr)); errors != "" {
		text += "\n" + errors
	}
	return text
}

// silent returns the text of a successful run without output: some clients refuse empty texts, and a model cannot tell an empty text
// from a failure.
func (o Output) silent() string {
	if o.Exit == 0 {
		return "the program printed nothing"
	}
	return fmt.Sprintf("the program printed nothing, and exited with code %d", o.Exit)
}

// compact returns JSON without white space between its values. Empty output becomes an empty object.
func compact(text []byte) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return []byte("{}"), nil
	}
	var out bytes.Buffer
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	if err := json.Compact(&out, text); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// lines returns an object with the JSON values of all lines. Empty lines are skipped.
func lines(text []byte) ([]byte, error) {
	out, number := []byte(`{"result":[`), 0
	for line := range bytes.Lines(text) {
		if number++; len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		value, err := compact(line)
		if err != nil {
			return nil, fmt.Errorf("something that is not JSON in line %d: %v", number, err)
		}
		if out[len(out)-1] != '[' {
			out = append(out, ',')
		}
		out = append(out, value...)
	}
	return append(out, "]}"...), nil
}

// bounded returns the response with a tool result. Empty texts are left out. If the response exceeds limit, it is incomplete and longer
// than limit.
func bounded(limit int64, structured []byte, isError bool, texts ...[]byte) []byte {
	out := []byte(`{"result":{"content":[`)
	for _, text := range texts {
		if len(text) == 0 {
			continue
		}
		if out[len(out)-1] != '[' {
			out = append(out, ',')
		}
		out = append(out, `{"type":"text","text":"`...)
		for len(text) > 0 {
			part := prefix(text)
			text = text[len(part):]
			from := len(out)
			out = rawjson.AppendQuote(out, string(part))
			out = append(out[:from], out[from+1:len(out)-1]...) // without the quotes
			if int64(len(out)) > limit {
				return out
			}
		}
		out = append(out, `"}`...)
	}
	out = append(out, ']')
	if structured != nil {
		out = append(append(out, `,"structuredContent":`...), structured...)
	}
	if isError {
		out = append(out, `,"isError":true`...)
	}
	return append(out, "}}"...)
}

// prefix returns the first part of a text, which bounds the memory of its encoding. It does not split a character.
func prefix(text []byte) []byte {
	const size = 64 << 10
	if len(text) <= size {
		return text
	}
	end := size
	for end > size-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
