package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/paramheader"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Tool is the description of a tool for clients. Schemas and Meta are JSON objects, whose keys keep their order. All
// fields except Name, Input and ReadOnly are omitted if unset.
type Tool struct {
	Name        string
	Title       string
	Description string
	Input       json.RawMessage
	Output      json.RawMessage
	Returns     json.RawMessage // schema of the result if Output is nil; not part of tools/list
	Meta        json.RawMessage
	ReadOnly    bool
	Destructive *bool
	Idempotent  *bool
	OpenWorld   *bool
	Icon        Icon
	Task        TaskSupport
}

// Icon is an image of a tool for users. The zero value is none.
type Icon struct {
	URI           string // data URI of a PNG
	Width, Height int
}

// lists are the results of tools/list: of the legacy era without icons, with icons, and of the modern era.
type lists struct {
	legacy []byte
	icons  []byte
	modern []byte
}

// iconsVersion is the first protocol version that has icons.
const iconsVersion = "2025-11-25"

// listHints are the caching hints of lists, with the values of the MCP library: do not cache, do not share.
const listHints = `"ttlMs":0,"cacheScope":"private"`

// newLists encodes tools in their order. The error lists every invalid tool.
func newLists(tools []Tool, info []byte) (lists, error) {
	icons, err := encodeTools(tools, true)
	if err != nil {
		return lists{}, err
	}
	plain := icons
	if slices.ContainsFunc(tools, func(t Tool) bool { return t.Icon.URI != "" }) {
		plain, _ = encodeTools(tools, false)
	}
	return lists{
		legacy: append([]byte(`{`), plain...),
		icons:  append([]byte(`{`), icons...),
		modern: append([]byte(`{`+resultComplete+`,"_meta":{`+string(info)+`},`+listHints+`,`), icons...),
	}, nil
}

// encodeTools encodes the member tools and the end of a list.
func encodeTools(tools []Tool, icons bool) ([]byte, error) {
	var errs []error
	var out bytes.Buffer
	seen := make(map[string]bool, len(tools))
	out.WriteString(`"tools":[`)
	for i, tool := range tools {
		if i > 0 {
			out.WriteByte(',')
		}
		if tool.Name == "" || seen[tool.Name] {
			errs = append(errs, fmt.Errorf("tool %d: the name %q is empty or a duplicate", i+1, tool.Name))
		}
		seen[tool.Name] = true
		if !icons {
			tool.Icon = Icon{}
		}
		if err := tool.write(&out); err != nil {
			errs = append(errs, fmt.Errorf("tool %q: %w", tool.Name, err))
		}
	}
	out.WriteString(`]}`)
	return out.Bytes(), errors.Join(errs...)
}

// JSON returns the tool as an item of tools/list, without its icon.
func (t Tool) JSON() ([]byte, error) {
	var out bytes.Buffer
	t.Icon = Icon{}
	err := t.write(&out)
	return out.Bytes(), err
}

func (t Tool) write(out *bytes.Buffer) error {
	fmt.Fprintf(out, `{"name":%s`, rawjson.Quote(t.Name))
	if t.Title != "" {
		fmt.Fprintf(out, `,"title":%s`, rawjson.Quote(t.Title))
	}
	if t.Description != "" {
		fmt.Fprintf(out, `,"description":%s`, rawjson.Quote(t.Description))
	}
	err := writeObject(out, "inputSchema", t.Input)
	if t.Output != nil {
		err = errors.Join(err, writeObject(out, "outputSchema", t.Output))
	}
	out.WriteString(`,"annotations":{"readOnlyHint":` + strconv.FormatBool(t.ReadOnly))
	for _, hint := range []struct {
		name  string
		value *bool
	}{{"destructiveHint", t.Destructive}, {"idempotentHint", t.Idempotent}, {"openWorldHint", t.OpenWorld}} {
		if hint.value != nil {
			fmt.Fprintf(out, `,"%s":%t`, hint.name, *hint.value)
		}
	}
	out.WriteByte('}')
	if t.Icon.URI != "" {
		fmt.Fprintf(out, `,"icons":[{"src":%s,"mimeType":"image/png","sizes":["%dx%d"]}]`, rawjson.Quote(t.Icon.URI), t.Icon.Width, t.Icon.Height)
	}
	if t.Meta != nil {
		err = errors.Join(err, writeObject(out, "_meta", t.Meta))
	}
	out.WriteByte('}')
	return err
}

// findParams returns the parameters that HTTP clients repeat in headers, by tool.
func findParams(tools []Tool) (map[string][]paramheader.Param, error) {
	found := map[string][]paramheader.Param{}
	for _, tool := range tools {
		params, err := paramheader.Find(tool.Input)
		if err != nil {
			return nil, fmt.Errorf("tool %q: inputSchema: %w", tool.Name, err)
		}
		if params != nil {
			found[tool.Name] = params
		}
	}
	return found, nil
}

// writeObject appends a member in compact form; its value must be a JSON object.
func writeObject(out *bytes.Buffer, name string, value json.RawMessage) error {
	fmt.Fprintf(out, `,"%s":`, name)
	if !json.Valid(value) || rawjson.Kind(value) != '{' {
		return fmt.Errorf("%s is not a JSON object", name)
	}
	return json.Compact(out, value)
}
