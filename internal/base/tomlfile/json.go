package tomlfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// JSON returns the table at key as compact JSON with its keys in the file's order; nil if absent. Dates, inf and nan, which
// JSON cannot represent, are reported.
func (t *Table) JSON(key string) json.RawMessage {
	n := t.find(key)
	if n == nil {
		return nil
	}
	if n.kind != table {
		t.reportType(key, n, "a table")
		return nil
	}
	w := jsonWriter{doc: t.doc, path: []string{t.Path(key)}}
	w.node(n)
	return w.buf.Bytes()
}

// Object returns the table itself as JSON, as JSON does for the value at a key. It marks all keys of the table as known.
func (t *Table) Object() json.RawMessage {
	if t.node == nil {
		return nil
	}
	t.Keys()
	w := jsonWriter{doc: t.doc, path: []string{t.path}}
	w.node(t.node)
	return w.buf.Bytes()
}

type jsonWriter struct {
	doc  *Doc
	buf  bytes.Buffer
	path []string // keys of the current value; an array index is in brackets
}

func (w *jsonWriter) node(n *node) {
	switch n.kind {
	case table:
		w.buf.WriteByte('{')
		for i, e := range n.entries {
			if i > 0 {
				w.buf.WriteByte(',')
			}
			w.string(e.key)
			w.buf.WriteByte(':')
			w.child(e.key, e.node)
		}
		w.buf.WriteByte('}')
	case array:
		w.buf.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				w.buf.WriteByte(',')
			}
			w.child("["+strconv.Itoa(i)+"]", item)
		}
		w.buf.WriteByte(']')
	default:
		w.scalar(n)
	}
}

func (w *jsonWriter) child(part string, n *node) {
	w.path = append(w.path, part)
	w.node(n)
	w.path = w.path[:len(w.path)-1]
}

func (w *jsonWriter) scalar(n *node) {
	switch v := n.value.(type) {
	case string:
		w.string(v)
	case bool:
		w.buf.WriteString(strconv.FormatBool(v))
	case int64:
		w.buf.WriteString(strconv.FormatInt(v, 10))
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			w.unsupported(n, "write a finite number")
			return
		}
		w.encode(v)
	default:
		w.unsupported(n, "write it as a string in quotes")
	}
}

func (w *jsonWriter) unsupported(n *node, remedy string) {
	path := w.path[0]
	for _, part := range w.path[1:] {
		if strings.HasPrefix(part, "[") {
			path += part
		} else {
			path = join(path, part)
		}
	}
	w.doc.Add(Problem{Line: n.line, Key: path, What: "cannot be represented in JSON", Remedy: remedy})
	w.buf.WriteString("null")
}

func (w *jsonWriter) string(s string) {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			w.encode(s)
			return
		}
	}
	w.buf.WriteByte('"')
	w.buf.WriteString(s)
	w.buf.WriteByte('"')
}

// encode writes a string or a finite float64.
func (w *jsonWriter) encode(v any) {
	out, err := rawjson.Marshal(v)
	if err != nil {
		panic(fmt.Errorf("cannot encode %T: %w", v, err))
	}
	w.buf.Write(out)
}
