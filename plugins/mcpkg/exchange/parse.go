package exchange

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/jsontext"
)

// Parse decodes a file and validates each item as if a client created it. It returns prompts before resources, both in
// the order of the file. Two items of one kind with the same name, and two resources with the same URI, are an error.
// Each error names the item, or the line and the column in the file.
func Parse(text string) ([]item.Draft, error) {
	p := parser{Reader: jsontext.New(text)}
	p.file()
	err := p.End()
	if err != nil {
		// A file of a newer version can have unknown members. The error must then name the version instead of the first
		// unknown member, so a first pass reads only format and version.
		head := parser{Reader: jsontext.New(text), headOnly: true}
		head.file()
		if wrong := head.End(); wrong != nil {
			return nil, fmt.Errorf("the file is not an exported project: %w", wrong)
		}
		p.head = head.head
	}
	known := p.version != "" || p.format != "" && p.format != format
	if wrong := p.check(); wrong != nil && (err == nil || known) {
		return nil, wrong
	}
	if err != nil {
		return nil, err
	}
	drafts := append(p.prompts, p.resources...)
	return drafts, unique(drafts)
}

// head holds the members that identify the file format.
type head struct {
	format  string
	version string // the text of the JSON number; not always an integer
}

func (h head) check() error {
	number, err := strconv.Atoi(h.version)
	switch {
	case h.format != format:
		return fmt.Errorf("the file is not an exported project: its format is '%s', not '%s'", item.Show(h.format), format)
	case err != nil && h.version != "":
		return fmt.Errorf("version is %s, not an integer", item.Show(h.version))
	case number > version:
		return fmt.Errorf("the file has format version %d, but this plugin reads only version %d: update the plugin", number, version)
	case number != version:
		return fmt.Errorf("version is %d, not %d", number, version)
	}
	return nil
}

// parser reads an exported file in one pass.
type parser struct {
	*jsontext.Reader
	headOnly bool // read only the members format and version, and skip all other members, whether they are valid or not
	head
	prompts, resources []item.Draft
}

func (p *parser) file() {
	p.object("the file", []string{"format", "version", "name", "prompts", "resources"}, func(key string) {
		switch key {
		case "format":
			p.format = p.text(key)
		case "version":
			if kind := p.Kind(); kind != "a number" {
				p.wrong(key, "a number")
				return
			}
			p.version = p.Literal()
		case "name":
			p.text(key)
		case "prompts":
			p.array(key, p.prompt)
		case "resources":
			p.array(key, p.resource)
		}
	})
}

// wrong sets the error for a value that has another JSON type than want. If headOnly is set, wrong skips the value
// instead.
func (p *parser) wrong(what, want string) {
	if p.headOnly {
		p.Skip()
		return
	}
	if kind := p.Kind(); kind != "" {
		p.Fail(fmt.Errorf("%s is %s, not %s (%s)", what, kind, want, p.Where()))
	}
}

// text reads a string. For null it returns "".
func (p *parser) text(what string) string {
	switch p.Kind() {
	case "a string":
		return p.Text()
	case "null":
		p.Skip()
	default:
		p.wrong(what, "a string")
	}
	return ""
}

// array reads an array and calls the function "one" for each item; "one" must read the item. Null counts as an empty array.
func (p *parser) array(what string, one func(at string)) {
	switch kind := p.Kind(); {
	case p.headOnly, kind == "null":
		p.Skip()
	case kind == "an array":
		p.Array(func(i int) { one(fmt.Sprintf("%s[%d]", what, i)) })
	default:
		p.wrong(what, "an array")
	}
}

// object reads an object and calls the function member for each key; member must read the value. Unknown and duplicate
// keys are errors. Null counts as an empty object.
func (p *parser) object(what string, known []string, member func(key string)) {
	switch p.Kind() {
	case "an object":
	case "null":
		p.Skip()
		return
	default:
		p.wrong(what, "an object")
		return
	}
	var seen uint
	p.Object(func(key string) {
		at := slices.Index(known, key)
		switch {
		case at < 0 && p.headOnly:
			p.Skip()
		case at < 0:
			p.Fail(fmt.Errorf("%s has the unknown member '%s' (%s); known members are %s", what, item.Show(key), p.Where(), strings.Join(known, ", ")))
		case seen&(1<<at) != 0 && !p.headOnly:
			p.Fail(fmt.Errorf("%s has the member '%s' twice (%s)", what, key, p.Where()))
		default:
			seen |= 1 << at
			member(key)
		}
	})
}

// texts reads an object whose members are strings. The result lacks members that are null.
func (p *parser) texts(at string, known ...string) map[string]*string {
	texts := map[string]*string{}
	p.object(at, known, func(key string) {
		present := p.Kind() != "null"
		if text := p.text(at + "." + key); present {
			texts[key] = &text
		}
	})
	return texts
}

// value returns *text; "" if text is nil.
func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func (p *parser) prompt(at string) {
	t := p.texts(at, "name", "description", "content")
	if p.Err() != nil {
		return
	}
	d, err := item.NewPrompt(value(t["name"]), value(t["content"]), value(t["description"]))
	if err != nil {
		p.Fail(fmt.Errorf("%s '%s': %w", at, item.Show(value(t["name"])), err))
		return
	}
	p.prompts = append(p.prompts, d)
}

func (p *parser) resource(at string) {
	t := p.texts(at, "name", "uri", "mime_type", "description", "content", "content_base64")
	if p.Err() != nil {
		return
	}
	d, err := item.NewResource(value(t["name"]), value(t["uri"]), value(t["mime_type"]), value(t["description"]), func(mimeType string) (item.Content, error) {
		text, encoded := t["content"], t["content_base64"]
		switch {
		case text != nil && encoded != nil:
			return item.Content{}, errors.New("both content and content_base64 are present: keep one of them")
		case encoded != nil:
			return item.BinaryResource(mimeType, *encoded)
		}
		return item.TextResource(value(text))
	})
	if err != nil {
		p.Fail(fmt.Errorf("%s '%s': %w", at, item.Show(value(t["name"])), err))
		return
	}
	p.resources = append(p.resources, d)
}

func unique(drafts []item.Draft) error {
	names, uris := make(map[string]bool, len(drafts)), make(map[string]bool, len(drafts))
	for _, d := range drafts {
		name := string(d.Kind) + d.Name
		switch {
		case names[name]:
			return fmt.Errorf("%s '%s' is in the file twice", d.Kind, d.Name)
		case d.Kind == item.Resource && uris[d.URI]:
			return fmt.Errorf("the URI '%s' is in the file twice", item.Show(d.URI))
		}
		names[name], uris[d.URI] = true, true
	}
	return nil
}
