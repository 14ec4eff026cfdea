package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/bulkhead-mcp/bulkhead/plugins/fetch/address"
	"github.com/bulkhead-mcp/bulkhead/sdk/python"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// arguments are those of the tool.
type arguments struct {
	url           *url.URL
	length, start int
	raw           bool
}

// parser parses arguments, and describes invalid ones as the server that this plugin replaces.
type parser struct {
	members map[string][]byte
	python.Problems
}

func parseArguments(raw json.RawMessage) (arguments, error) {
	p := &parser{members: map[string][]byte{}}
	if rawjson.ScanObject(raw, func(name, value []byte) { p.members[string(name)] = value }) != nil {
		raw = json.RawMessage("{}")
	}
	a := arguments{url: p.url(raw), length: p.integer("max_length", 5000, 1, 999_999), start: p.integer("start_index", 0, 0, 0)}
	if value, given := p.members["raw"]; given && rawjson.Kind(value) != 't' {
		p.Add("raw", "Input should be a valid boolean", "bool_type", value)
	} else {
		a.raw = string(value) == "true"
	}
	return a, p.Err(name)
}

func (p *parser) url(all []byte) *url.URL {
	value, given := p.members["url"]
	if !given {
		p.Add("url", "Field required", "missing", all)
		return nil
	}
	text, isText := rawjson.Unquote(value)
	if !isText {
		p.Add("url", "URL input should be a string or URL", "url_type", value)
		return nil
	}
	u, err := address.Parse(text)
	if err != nil {
		p.Add("url", "Input should be a valid URL, "+err.Error(), "url_parsing", value)
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
		p.Add(name, "Input should be a valid integer", "int_type", value)
	case n < least:
		p.Add(name, fmt.Sprintf("Input should be greater than or equal to %d", least), "greater_than_equal", value)
	case most > 0 && n > most:
		p.Add(name, fmt.Sprintf("Input should be less than or equal to %d", most), "less_than_equal", value)
	}
	return n
}
