package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/base/cutjson"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Short is a result that was shortened.
type Short struct {
	body    []byte // the result as the plugin made it
	content []byte // the items that are left, separated by commas
	rest    []byte // the other members of the result
	dropped int    // number of other members that are left out

	texts   int // number of texts so far
	size    int // bytes of all texts
	kept    int // bytes of them that are in content
	offset  int // in Text, where what is missing of the texts begins
	cut     bool
	missing []cutjson.Missing
	omitted int    // items without text that are left out
	example string // one of them
}

// Shorten shortens the result of a tool, a valid JSON object, if it has more than limit bytes, which are at least manifest.MinResult; else it
// returns nil. Of a text, its characters count, and not their form in JSON. The data of images and audio count as nothing, since models do not read them as text.
func Shorten(body []byte, limit int) *Short {
	if size(body) <= limit {
		return nil
	}
	s := &Short{body: body}
	s.keepRest(limit / 4)
	left := limit - maxNote - len(s.rest)
	most := left / 2 // of items without text, which take precedence
	others := most
	for i := range items(body) {
		if !i.isText && i.size < others {
			others -= i.size + 1
		}
	}
	texts := left - (most - others)
	others = most
	for i := range items(body) {
		switch {
		case i.isText:
			texts -= s.addText(i, texts)
		case i.size < others:
			others -= s.add(i.json, i.size)
		default:
			s.omit(i)
		}
	}
	return s
}

// omit leaves out an item without text.
func (s *Short) omit(i item) {
	s.omitted++
	if s.example == "" {
		s.example = i.describe()
	}
}

// size returns the bytes of a result that count.
func size(body []byte) (n int) {
	for key, value := range rawjson.Members(body) {
		if key != memberContent && key != memberStructured {
			n += memberSize(key, value)
		}
	}
	for i := range items(body) {
		n += i.size + 1 // with a comma
	}
	return n
}

const (
	memberContent    = "content"
	memberStructured = "structuredContent"
)

func memberSize(key string, value []byte) int { return len(key) + len(value) + len(`"":,`) }

// keepRest keeps the members beside the content, or only isError if they have more than max bytes.
func (s *Short) keepRest(max int) {
	var all, isError []byte
	others := 0
	for key, value := range rawjson.Members(s.body) {
		if key == memberContent || key == memberStructured {
			continue
		}
		others++
		if len(all) <= max {
			all = append(append(append(append(all, ','), rawjson.Quote(key)...), ':'), value...)
		}
		if key == "isError" {
			isError = append([]byte(`,"isError":`), value...)
		}
	}
	if s.rest = all; len(all) > max {
		s.rest, s.dropped = isError, others-min(len(isError), 1)
	}
}

// add adds an item to the content, and returns the bytes that it takes.
func (s *Short) add(item []byte, size int) int {
	if len(s.content) > 0 {
		s.content = append(s.content, ',')
	}
	s.content = append(s.content, item...)
	return size + 1
}

// minPart is the least size of a part of a text, in bytes: less of it tells nothing.
const minPart = cutjson.Least

// addText adds an item of text, as much of it as fits, and returns the bytes that it takes. The first text that does not fit is the last one.
func (s *Short) addText(i item, left int) int {
	between := 0
	if s.texts++; s.texts > 1 {
		between = len(separator)
	}
	s.size += between + len(i.text)
	if s.cut {
		return 0
	}
	s.offset += between
	if i.size < left {
		s.kept, s.offset = s.kept+len(i.text), s.offset+len(i.text)
		return s.add(i.json, i.size)
	}
	s.cut = true
	left -= i.size - len(i.text) + 1
	if left < minPart {
		return 0
	}
	text := ""
	if trimmed := strings.TrimSpace(i.text); isStructure(trimmed) {
		var kept []byte
		kept, s.missing = cutjson.Cut([]byte(trimmed), left)
		text = string(kept)
	} else {
		_, end := Slice(i.text, 0, left)
		text = i.text[:end]
		s.offset += end
	}
	s.kept += len(text)
	return s.add(i.withText(text), len(text))
}

// maxDepth bounds the levels of a JSON text that is cut as such: the text of each level is read again.
const maxDepth = 32

// isStructure reports whether a text is a JSON object or array.
func isStructure(text string) bool {
	if kind := rawjson.Kind([]byte(text[:min(len(text), 1)])); kind != '{' && kind != '[' {
		return false
	}
	scanner := rawjson.NewScanner([]byte(text))
	scanner.LimitNesting(maxDepth)
	scanner.Value()
	return scanner.End()
}

// separator is between two texts.
const separator = "\n"

// IsTextMissing reports whether a part of the texts is missing.
func (s *Short) IsTextMissing() bool { return s.cut }

// Text returns the texts of the result, in their order, separated by line breaks.
func (s *Short) Text() string {
	var all []string
	for i := range items(s.body) {
		if i.isText {
			all = append(all, i.text)
		}
	}
	return strings.Join(all, separator)
}

// Body returns the shortened result. Its last text says what is missing. id is that of the kept texts; empty if they are not kept.
func (s *Short) Body(id string) []byte {
	s.add(textItem(s.note(id)), 0)
	return append(append(append([]byte(`{"content":[`), s.content...), ']'), append(s.rest, '}')...)
}

// Bounds of what the note names.
const (
	maxNote  = 600 // bytes of its item
	maxPaths = 3
	maxPath  = 30 // bytes
	maxKind  = 20
	maxURI   = 60
)

func (s *Short) note(id string) string {
	text := fmt.Sprintf("[Shortened: %d of %d bytes of text are here", s.kept, s.size)
	for n, m := range s.missing {
		if n == maxPaths {
			text += ", and more is cut"
			break
		}
		path := brief(m.Path, maxPath)
		if path == "" {
			path = "the whole"
		}
		text += fmt.Sprintf("; %s has %d of %d", path, m.Kept, m.Of)
	}
	if s.omitted > 0 {
		text += fmt.Sprintf("; %d items that are no text are left out, such as %s", s.omitted, s.example)
	}
	if s.dropped > 0 {
		text += fmt.Sprintf("; %d members beside the content are left out", s.dropped)
	}
	switch {
	case !s.cut:
		text += "."
	case id == "":
		text += fmt.Sprintf(". The rest was not kept: it has more than %d MiB. Call the tool for less.", maxText>>20)
	default:
		text += ". " + next(id, s.offset)
	}
	return text + "]"
}

// next says how to read on.
func next(id string, offset int) string {
	return fmt.Sprintf(`For more, call read_result with {"id":%q,"offset":%d}, within %d minutes.`, id, offset, int(lifetime.Minutes()))
}

// item is an item of content.
type item struct {
	json   []byte
	size   int // bytes that count
	kind   string
	isText bool
	text   string
}

// items yields the content of a result. Its structured content is a text at the end, unless it is a copy of one of the texts.
func items(body []byte) iter.Seq[item] {
	return func(yield func(item) bool) {
		structured, copied := rawjson.Member(body, memberStructured), false
		var compact bytes.Buffer // made once, since a result has any number of texts
		if structured != nil {
			compact.Grow(len(structured))
			_ = json.Compact(&compact, structured)
		}
		for _, raw := range rawjson.Elements(rawjson.Member(body, memberContent)) {
			i := newItem(bytes.TrimSpace(raw))
			copied = copied || structured != nil && i.isText && isSame(i.text, compact.Bytes())
			if !yield(i) {
				return
			}
		}
		if structured != nil && !copied {
			yield(newItem(textItem(string(structured))))
		}
	}
}

func newItem(raw []byte) item {
	i := item{json: raw, size: len(raw)}
	i.kind, _ = rawjson.Unquote(rawjson.Member(raw, "type"))
	var text []byte
	switch i.kind {
	case "text":
		text = rawjson.Member(raw, "text")
	case "resource":
		text = rawjson.Member(rawjson.Member(raw, "resource"), "text")
	case "image", "audio":
		i.size -= len(rawjson.Member(raw, "data"))
	}
	if i.text, i.isText = rawjson.Unquote(text); i.isText {
		i.size += len(i.text) - len(text)
	}
	return i
}

// isSame reports whether a text is the same JSON as a compact value, apart from white space.
func isSame(text string, compact []byte) bool {
	if len(text) < len(compact) || !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return false
	}
	var b bytes.Buffer
	return json.Compact(&b, []byte(text)) == nil && bytes.Equal(b.Bytes(), compact)
}

// withText returns the item with another text.
func (i item) withText(text string) []byte {
	quoted := rawjson.Quote(text)
	if i.kind == "resource" {
		return rawjson.Replace(i.json, "resource", rawjson.Replace(rawjson.Member(i.json, "resource"), "text", quoted))
	}
	return rawjson.Replace(i.json, "text", quoted)
}

// describe names an item without text.
func (i item) describe() string {
	uri, ok := rawjson.Unquote(rawjson.Member(rawjson.Member(i.json, "resource"), "uri"))
	if !ok {
		uri, _ = rawjson.Unquote(rawjson.Member(i.json, "uri"))
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", brief(i.kind, maxKind), brief(uri, maxURI))) + fmt.Sprintf(" (%d bytes)", i.size)
}

// brief returns at most about max bytes of a text, without what cannot be seen.
func brief(text string, max int) string {
	return visible.Truncate(visible.Text(visible.Truncate(text, max)), max)
}

func textItem(text string) []byte {
	return fmt.Appendf(nil, `{"type":"text","text":%s}`, rawjson.Quote(text))
}

// Slice returns the part of a text from an offset on, of at most that many bytes, as indexes. It begins and ends between characters, and has at
// least one, unless the offset is at the end.
func Slice(text string, offset, length int) (begin, end int) {
	begin = min(offset, len(text))
	for begin > 0 && begin < len(text) && !utf8.RuneStart(text[begin]) {
		begin--
	}
	end = begin + min(length, len(text)-begin)
	for end > begin && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	if end == begin {
		_, size := utf8.DecodeRuneInString(text[begin:])
		end += size
	}
	return begin, end
}
