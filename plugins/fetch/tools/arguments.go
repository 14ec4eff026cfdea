package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/fetch/address"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// arguments are those of the tool.
type arguments struct {
	url           *url.URL
	length, start int
	raw           bool
}

// parser parses arguments, and describes invalid ones in the words of pydantic, with which the server that this plugin replaces validates.
type parser struct {
	members  map[string][]byte
	problems []string
}

func parseArguments(raw json.RawMessage) (arguments, error) {
	p := &parser{members: map[string][]byte{}}
	if rawjson.ScanObject(raw, func(name, value []byte) { p.members[string(name)] = value }) != nil {
		raw = json.RawMessage("{}")
	}
	a := arguments{url: p.url(raw), length: p.integer("max_length", 5000, 1, 999_999), start: p.integer("start_index", 0, 0, 0)}
	if value, given := p.members["raw"]; given && rawjson.Kind(value) != 't' {
		p.fault("raw", "Input should be a valid boolean", "bool_type", value)
	} else {
		a.raw = string(value) == "true"
	}
	if len(p.problems) == 0 {
		return a, nil
	}
	plural := ""
	if len(p.problems) > 1 {
		plural = "s"
	}
	return a, fmt.Errorf("%d validation error%s for fetchArguments\n%s", len(p.problems), plural, strings.Join(p.problems, "\n"))
}

func (p *parser) fault(name, what, kind string, value []byte) {
	text, typ := python(value)
	p.problems = append(p.problems, fmt.Sprintf("%s\n  %s [type=%s, input_value=%s, input_type=%s]\n    For further information visit https://errors.pydantic.dev/2.14/v/%[3]s",
		name, what, kind, shorten(text), typ))
}

func (p *parser) url(all []byte) *url.URL {
	value, given := p.members["url"]
	if !given {
		p.fault("url", "Field required", "missing", all)
		return nil
	}
	text, isText := rawjson.Unquote(value)
	if !isText {
		p.fault("url", "URL input should be a string or URL", "url_type", value)
		return nil
	}
	u, err := address.Parse(text)
	if err != nil {
		p.fault("url", "Input should be a valid URL, "+err.Error(), "url_parsing", value)
	}
	return u
}

// integer returns an argument that is an integer from least to most; most is 0 if there is no bound.
func (p *parser) integer(name string, unset, least, most int) int {
	value, given := p.members[name]
	if !given {
		return unset
	}
	n, err := strconv.Atoi(string(value))
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		p.fault(name, "Input should be a valid integer", "int_type", value)
	case n < least:
		p.fault(name, fmt.Sprintf("Input should be greater than or equal to %d", least), "greater_than_equal", value)
	case most > 0 && n > most:
		p.fault(name, fmt.Sprintf("Input should be less than or equal to %d", most), "less_than_equal", value)
	}
	return n
}

// python returns a value of JSON as Python prints it, and its type there.
func python(value []byte) (text, typ string) {
	switch rawjson.Kind(value) {
	case 'n':
		return "None", "NoneType"
	case 't':
		return strings.ToUpper(string(value[:1])) + string(value[1:]), "bool"
	case '0':
		if !strings.ContainsAny(string(value), ".eE") {
			return string(value), "int"
		}
		f, _ := strconv.ParseFloat(string(value), 64) // JSON has no numbers that cannot be parsed; one that is too large is infinite
		if text = strconv.FormatFloat(f, 'g', -1, 64); !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return text, "float"
	case '"':
		text, _ := rawjson.Unquote(value) // valid, as all of the message
		return quote(text), "str"
	}
	var parts []string
	if rawjson.Kind(value) == '{' {
		_ = rawjson.ScanObject(value, func(name, member []byte) {
			text, _ := python(member)
			parts = append(parts, quote(string(name))+": "+text)
		})
		return "{" + strings.Join(parts, ", ") + "}", "dict"
	}
	var elements []json.RawMessage
	_ = json.Unmarshal(value, &elements) // valid, as all of the message
	for _, element := range elements {
		text, _ := python(element)
		parts = append(parts, text)
	}
	return "[" + strings.Join(parts, ", ") + "]", "list"
}

func quote(s string) string {
	q := strconv.Quote(s)
	q = strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		return `"` + q + `"`
	}
	return "'" + strings.ReplaceAll(q, "'", `\'`) + "'"
}

// shorten leaves out the middle of a long text, as pydantic does.
func shorten(s string) string {
	const most = 50
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most/2]) + "..." + string(r[len(r)-most/2+1:])
}
