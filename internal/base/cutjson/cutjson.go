// Package cutjson shortens JSON so that it stays valid JSON: Cut keeps the beginning of long strings and arrays and all small members of
// objects, marks in place what is missing, and lists it.
package cutjson

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Least is the least size that Cut can keep to, in bytes.
const Least = 64

// Missing says what is missing at one place.
type Missing struct {
	Path string `json:"path"` // JSON Pointer of the string, array or object that was cut
	Kept int    `json:"kept"` // characters, items or members that are there, of which one may be cut itself
	Of   int    `json:"of"`   // how many there were
}

// maxMissing bounds the list of what is missing, and maxPath a path in it, in bytes.
const (
	maxMissing = 20
	maxPath    = 200
)

// reserve is the size of the text in place of what is missing, with quotes, key and comma, in bytes.
const reserve = 48

// worthwhile is the least size of a part of a value, in bytes: less of it tells nothing.
const worthwhile = 32

// Cut returns value, which must be valid JSON, with at most max bytes, and what is missing of it. A value that is not longer is returned
// unchanged. max must be at least Least.
func Cut(value []byte, max int) ([]byte, []Missing) {
	value = bytes.TrimSpace(value)
	if len(value) <= max {
		return value, nil
	}
	c := &cutter{}
	return c.value(nil, value, max), c.missing
}

type cutter struct {
	path    []string
	missing []Missing
}

// lacks adds to the list of what is missing, which is listed from the outside to the inside.
func (c *cutter) lacks() *Missing {
	if len(c.missing) == maxMissing {
		return &Missing{}
	}
	path := strings.Join(c.path, "")
	if len(path) > maxPath {
		path = strings.ToValidUTF8(path[:maxPath], "") + "…"
	}
	c.missing = append(c.missing, Missing{Path: path})
	return &c.missing[len(c.missing)-1]
}

// value appends a value, cut to max bytes, which are at least worthwhile.
func (c *cutter) value(out, value []byte, max int) []byte {
	if len(value) <= max {
		return append(out, value...)
	}
	switch rawjson.Kind(value) {
	case '"':
		return c.string(out, value, max)
	case '[':
		return c.array(out, value, max)
	case '{':
		return c.object(out, value, max)
	}
	return append(out, "null"...) // a number of more digits than worthwhile
}

func (c *cutter) string(out, value []byte, max int) []byte {
	text, _ := rawjson.Unquote(value)
	all := utf8.RuneCountInString(text)
	kept, size := 0, 2+reserve // with quotes
	var begin, quoted []byte
	for i, r := range text {
		quoted = rawjson.AppendQuote(quoted[:0], text[i:i+runeSize(text[i:], r)])
		if size += len(quoted) - 2; size > max {
			break
		}
		begin = append(begin, quoted[1:len(quoted)-1]...)
		kept++
	}
	m := c.lacks()
	m.Kept, m.Of = kept, all
	out = append(append(out, '"'), begin...)
	return fmt.Appendf(out, `… (%d more characters)"`, all-kept)
}

// runeSize returns the size of the first rune of text, which is r.
func runeSize(text string, r rune) int {
	if r != utf8.RuneError {
		return utf8.RuneLen(r)
	}
	_, size := utf8.DecodeRuneInString(text)
	return size
}

// array keeps the first items. The first one that does not fit is cut, if enough of it can be kept.
func (c *cutter) array(out, value []byte, max int) []byte {
	n := 0 // counted and not collected, since a long array has millions of items
	for range rawjson.Elements(value) {
		n++
	}
	at := len(c.missing)
	m := c.lacks()
	end := len(out) + max - 1 // for the bracket
	out = append(out, '[')
	for i, item := range rawjson.Elements(value) {
		item = bytes.TrimSpace(item)
		left := end - len(out) - 1 // for the comma
		if i < n-1 {
			left -= reserve
		}
		if len(item) > left && left < worthwhile {
			m = c.at(at, m)
			m.Kept, m.Of = i, n
			return fmt.Appendf(out, `%s"… %d more items"]`, comma(i), n-i)
		}
		whole := len(item) <= left
		out = append(out, comma(i)...)
		c.path = append(c.path, "/"+strconv.Itoa(i))
		out = c.value(out, item, left)
		c.path = c.path[:len(c.path)-1]
		if !whole && i < n-1 {
			m = c.at(at, m)
			m.Kept, m.Of = i+1, n
			return fmt.Appendf(out, `,"… %d more items"]`, n-i-1)
		}
	}
	c.drop(at) // only an item was cut
	return append(out, ']')
}

// object gives each member the same share of what the smaller ones leave, and keeps the first members if the share of each were too small.
func (c *cutter) object(out, value []byte, max int) []byte {
	keys, values, all := fitting(value, max-2)
	at := len(c.missing)
	m := c.lacks()
	left := max - 2
	if len(keys) < all {
		left -= reserve
	}
	for _, key := range keys {
		left -= keySize(key)
	}
	shares := share(values, left)
	out = append(out, '{')
	for i := range keys {
		out = append(rawjson.AppendQuote(append(out, comma(i)...), keys[i]), ':')
		c.path = append(c.path, "/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(keys[i]))
		out = c.value(out, values[i], shares[i])
		c.path = c.path[:len(c.path)-1]
	}
	if len(keys) == all {
		c.drop(at) // only members were cut
		return append(out, '}')
	}
	m = c.at(at, m)
	m.Kept, m.Of = len(keys), all
	return fmt.Appendf(out, `%s"…":"%d more members"}`, comma(len(keys)), all-len(keys))
}

// at returns the element of missing at an index, which may have moved; other if it is not listed.
func (c *cutter) at(i int, other *Missing) *Missing {
	if i < len(c.missing) {
		return &c.missing[i]
	}
	return other
}

// drop removes the element of missing at an index, if it is listed.
func (c *cutter) drop(i int) {
	if i < len(c.missing) {
		c.missing = slices.Delete(c.missing, i, i+1)
	}
}

// fitting returns the first members of an object, as many as fit into size bytes with a worthwhile part of each value, and the number of all. Of
// the others it keeps nothing.
func fitting(object []byte, size int) (keys []string, values [][]byte, all int) {
	used, n := 0, 0
	for key, value := range rawjson.Members(object) {
		all++
		if used > size {
			continue
		}
		value = bytes.TrimSpace(value)
		used += keySize(key) + min(len(value), worthwhile+reserve)
		keys, values = append(keys, key), append(values, value)
		if used+reserve <= size {
			n = all
		}
	}
	if used <= size {
		n = all
	}
	return keys[:n], values[:n], all
}

// keySize returns the size of a key with colon and comma.
func keySize(key string) int { return len(rawjson.Quote(key)) + 2 }

// share divides a size among values: those that are smaller than an equal share leave the rest to the others.
func share(values [][]byte, size int) []int {
	shares, order := make([]int, len(values)), make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(values[a]) - len(values[b]) })
	for k, i := range order {
		shares[i] = min(len(values[i]), size/(len(order)-k))
		size -= shares[i]
	}
	return shares
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}
