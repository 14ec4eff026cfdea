package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bounds of one page of a list.
const (
	pageItems = 500
	pageBytes = gateway.MaxPage
)

// isFull reports whether a page with the given numbers of items and bytes is complete. A plugin that is served alone replaces a
// server whose clients may not support cursors. So these clients receive the whole list, up to gateway.MaxWhole, which exceeds the
// default limit of a plugin's response.
func (l List) isFull(items, bytes int) bool {
	if l.alone {
		return items > 0 && bytes > gateway.MaxWhole
	}
	return items == pageItems || items > 0 && bytes > pageBytes
}

// cursor is the position at which a page ended. Lists may change between two pages, so a cursor names the last items: the
// next page begins after the latest of them that still exists. Items that exist all the time are therefore listed exactly
// once.
type cursor struct {
	List   string   `json:"l"`
	Plugin string   `json:"p"`
	Index  int      `json:"n"` // number of listed items of the plugin; used if none of Last exists
	Last   []string `json:"k"` // marks of the last listed items, the latest first
}

// maxLast is the number of items that a cursor names: its position is known while one of them exists.
const maxLast = 8

// mark returns a short digest of an item's key.
func mark(key string) string {
	sum := sha256.Sum256([]byte(key))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

func (c cursor) String() string {
	text, _ := json.Marshal(c) // strings and a number always encode
	return base64.RawURLEncoding.EncodeToString(text)
}

// after returns the cursor of the page that begins after the first n items of a part.
func (l List) after(p Part, n int) cursor {
	c := cursor{List: l.member, Plugin: p.Plugin.Name, Index: n}
	for i := n - 1; i >= 0 && len(c.Last) < maxLast; i-- {
		c.Last = append(c.Last, mark(p.items[i].key))
	}
	return c
}

// start returns the position at which a page begins: the index of the part, and of the item in it.
func (l List) start(parts []Part, raw json.RawMessage) (int, int, error) {
	if raw == nil || rawjson.Kind(raw) == 'n' || string(raw) == `""` {
		return 0, 0, nil
	}
	unknown := &abi.Error{Code: abi.CodeInvalidParams, Message: "Invalid params: unknown cursor"}
	text, ok := rawjson.Unquote(raw)
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	var c cursor
	if !ok || err != nil || json.Unmarshal(decoded, &c) != nil || c.List != l.member || c.Index < 0 || len(c.Last) > maxLast {
		return 0, 0, unknown
	}
	i := slices.IndexFunc(parts, func(p Part) bool { return p.Plugin.Name == c.Plugin })
	if i < 0 {
		return 0, 0, unknown
	}
	items := parts[i].items
	for _, last := range c.Last {
		if at := slices.IndexFunc(items, func(it item) bool { return mark(it.key) == last }); at >= 0 {
			return i, at + 1, nil
		}
	}
	return i, min(c.Index, len(items)), nil
}

// page encodes the page that begins at a cursor.
func (l List) page(parts []Part, cursor json.RawMessage) (json.RawMessage, error) {
	i, n, err := l.start(parts, cursor)
	if err != nil && !l.alone { // servers without pages ignore cursors
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"%s":[`, l.member)
	empty := out.Len()
	listed := 0
	for ; i < len(parts); i, n = i+1, 0 {
		for ; n < len(parts[i].items); n++ {
			if l.isFull(listed, out.Len()) {
				fmt.Fprintf(&out, `],"nextCursor":"%s"}`, l.after(parts[i], n))
				return out.Bytes(), nil
			}
			if out.Len() > empty {
				out.WriteByte(',')
			}
			out.Write(parts[i].items[n].raw)
			listed++
		}
	}
	out.WriteString(`]}`)
	return out.Bytes(), nil
}
