package results

import (
	"crypto/rand"
	"encoding/json"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/base/cutjson"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

func resultOf(items ...string) string { return `{"content":[` + strings.Join(items, ",") + `]}` }

func textOf(text string) string { return string(textItem(text)) }

func TestShortenedResult(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("0123456789abcde\n", 1000)
	objects := `{"items":[` + strings.TrimSuffix(strings.Repeat(`{"name":"an item"},`, 1000), ",") + `],"next":null}`
	image := `{"type":"image","data":"` + strings.Repeat("AAAA", 1000) + `","mimeType":"image/png"}`
	blob := `{"type":"resource","resource":{"uri":"file:///a.pdf","blob":"` + strings.Repeat("AAAA", 1000) + `"}}`
	const limit = 2 << 10
	for name, test := range map[string]struct {
		result string
		want   []string // parts of the shortened result, in their order; none: it is not shortened
		lacks  string
		text   string // that is kept; empty: none is missing
	}{
		"a short text":         {result: resultOf(textOf("short"))},
		"a text of the limit":  {result: resultOf(textOf(lines[:limit-100]))},
		"a text with escapes":  {result: resultOf(textOf(strings.Repeat("\n", limit-100)))},
		"a text":               {resultOf(textOf(lines)), []string{`{"content":[{"text":"0123456789abcde\n`, `","type":"text"},{"type":"text","text":"[Shortened: 14`, ` of 16000 bytes of text are here. For more, call read_result with {\"id\":\"ID\",\"offset\":14`, `}, within 30 minutes.]"}]}`}, "", lines},
		"JSON":                 {resultOf(textOf(objects)), []string{`"text":"{\"items\":[{\"name\":\"an item\"},`, ` more items\"],\"next\":null}","type":"text"}`, `[Shortened: `, `; /items has 7`, ` of 1000. For more, call read_result with {\"id\":\"ID\",\"offset\":0}`}, "", objects},
		"several texts":        {resultOf(textOf("first"), textOf(lines), textOf("last")), []string{`"first"`, `"0123456789abcde\n`, `[Shortened: 14`, ` of 16011 bytes`, `\"offset\":14`}, `"last"`, "first\n" + lines + "\nlast"},
		"an empty first text":  {resultOf(textOf(""), textOf(lines)), []string{`"text":""`, `"0123456789abcde\n`, ` of 16001 bytes`}, "", "\n" + lines},
		"an embedded text":     {resultOf(`{"type":"resource","resource":{"uri":"a:b","text":` + string(rawjson.Quote(lines)) + `,"mimeType":"text/plain"},"annotations":{}}`), []string{`{"resource":{"text":"0123456789abcde\n`, `","uri":"a:b","mimeType":"text/plain"},"type":"resource","annotations":{}},{"type":"text","text":"[Shortened`}, "", lines},
		"an image":             {result: resultOf(image, textOf("short"))},
		"an image and a text":  {resultOf(textOf(lines), image), []string{`0123456789abcde`, image, `[Shortened`}, "", lines},
		"a blob":               {resultOf(blob, textOf("short")), []string{`"short"`, `[Shortened: 5 of 5 bytes of text are here; 1 items that are no text are left out, such as resource file:///a.pdf (4064 bytes).]`}, "AAAA", ""},
		"a copy as structure":  {result: `{"content":[` + textOf(` { "a": "`+lines[:15]+strings.Repeat("x", 1600)+`" }`) + `],"structuredContent":{"a":"` + lines[:15] + strings.Repeat("x", 1600) + `"}}`},
		"a cut copy":           {`{"content":[` + textOf(objects) + `],"structuredContent":` + objects + `}`, []string{`"text":"{\"items\":[{`, `; /items has 7`}, "structuredContent", objects},
		"structure alone":      {`{"content":[],"structuredContent":` + objects + `}`, []string{`{"content":[{"text":"{\"items\":[{`, `; /items has 7`}, "structuredContent", objects},
		"text and structure":   {`{"content":[` + textOf("see the structure") + `],"structuredContent":` + objects + `,"isError":true}`, []string{`see the structure`, `{\"items\":[{`, `"isError":true}`}, "structuredContent", "see the structure\n" + objects},
		"a small other member": {`{"_meta":{"a":1},"content":[` + textOf(lines) + `],"isError":false}`, []string{`],"_meta":{"a":1},"isError":false}`}, "", lines},
		"a large other member": {`{"_meta":{"a":"` + lines[:15] + `"},"x":` + string(rawjson.Quote(lines)) + `,"content":[` + textOf(lines) + `],"isError":true}`, []string{`; 2 members beside the content are left out. For more, `, `],"isError":true}`}, `"x":`, lines},
		"JSON that is deep":    {resultOf(textOf(strings.Repeat("[", 2000) + strings.Repeat("]", 2000))), []string{`[[[[`, ` of 4000 bytes`}, "", strings.Repeat("[", 2000) + strings.Repeat("]", 2000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if why := call.Check(abi.MethodToolsCall, []byte(test.result)); why != "" {
				t.Fatal(why)
			}
			s := Shorten([]byte(test.result), limit)
			if test.want == nil {
				if s != nil {
					t.Errorf("it was shortened: %s", s.Body("ID"))
				}
				return
			}
			if s == nil {
				t.Fatal("it was not shortened")
			}
			got := string(s.Body("ID"))
			rest := got
			for _, want := range test.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("got %.300s … %s, which lacks %.200q", got, got[max(0, len(got)-300):], want)
				}
				rest = after
			}
			if test.lacks != "" && strings.Contains(got, test.lacks) {
				t.Errorf("got %s, want it without %q", got, test.lacks)
			}
			if s.IsTextMissing() != (test.text != "") || test.text != "" && s.Text() != test.text {
				t.Errorf("the kept text is %q", s.Text())
			}
		})
	}
}

// FuzzReassembly checks that the shortened result of any content is a valid result within the limit, and that the texts can be read as they were,
// whatever lengths are asked for.
func FuzzReassembly(f *testing.F) {
	for _, text := range []string{"", strings.Repeat("é€😀\x00\"\n", 500), `{"a":[` + strings.Repeat(`"b",`, 800) + `null]}`, strings.Repeat("x", 3000)} {
		f.Add(text, "second", uint16(0), uint16(100))
		f.Add("first", text, uint16(500), uint16(1))
	}
	f.Fuzz(func(t *testing.T, first, second string, more, length uint16) {
		limit := manifest.MinResult + int(more)
		first, second = strings.ToValidUTF8(first, "?"), strings.ToValidUTF8(second, "?")
		body := []byte(resultOf(textOf(first), `{"type":"resource_link","uri":`+string(rawjson.Quote(second))+`,"name":"n"}`, textOf(second)))
		s := Shorten(body, limit)
		if s == nil {
			if len(first)+len(second) > limit {
				t.Fatalf("%d bytes are not shortened to %d", len(first)+len(second), limit)
			}
			return
		}
		short := s.Body("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
		if why := call.Check(abi.MethodToolsCall, short); why != "" || size(short) > limit {
			t.Fatalf("limit %d: %d bytes, %s: %s", limit, size(short), why, short)
		}
		text := first + separator + second
		if !s.IsTextMissing() {
			return
		}
		if s.Text() != text || s.offset > len(text) || !utf8.RuneStart((text + "x")[s.offset]) {
			t.Fatalf("the text is %q, its offset %d", s.Text(), s.offset)
		}
		for i := range items(short) {
			if kind := rawjson.Kind([]byte(i.text)); isStructure(strings.TrimSpace(first)) && i.isText && kind == '{' && !json.Valid([]byte(i.text)) {
				t.Fatalf("the JSON is not valid: %s", i.text)
			}
		}
		kept := &Kept[int]{ID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Text: text, Limit: limit}
		var read strings.Builder
		for n := 0; read.Len() < len(text); n++ {
			if n > len(text) {
				t.Fatal("reading does not end")
			}
			part, err := kept.Part(read.Len(), max(int(length), len(text)/100), limit)
			if err != nil || size(part) > limit {
				t.Fatalf("limit %d: %d bytes, %v", limit, size(part), err)
			}
			for i := range items(part) {
				read.WriteString(i.text)
				break
			}
		}
		if read.String() != text {
			t.Fatalf("read %q, want %q", read.String(), text)
		}
	})
}

// TestNoteIsBounded checks the longest note: each of its parts is there, with long names.
func TestNoteIsBounded(t *testing.T) {
	t.Parallel()
	const large = 999_999_999
	missing := cutjson.Missing{Path: strings.Repeat("\u202e", 200), Kept: large, Of: large}
	i := newItem([]byte(`{"type":"` + strings.Repeat("k", 100) + `","uri":"` + strings.Repeat("€", 100) + `"}`))
	i.size = large
	s := &Short{size: large, kept: large, offset: large, cut: true, missing: slices.Repeat([]cutjson.Missing{missing}, 9), dropped: large}
	for range 2 {
		s.omit(i)
	}
	s.omitted = large
	for _, id := range []string{rand.Text(), ""} {
		note := s.note(id)
		for _, part := range []string{"of text are here", ", and more is cut", "that are no text", "beside the content", "."} {
			if !strings.Contains(note, part) {
				t.Errorf("the note lacks %q: %s", part, note)
			}
		}
		if size := newItem(textItem(note)).size + len(","); size > maxNote {
			t.Errorf("the note takes %d bytes, want at most %d: %s", size, maxNote, note)
		}
	}
}

func TestSliceIsBetweenCharacters(t *testing.T) {
	t.Parallel()
	const text = "aé€😀"
	for _, test := range []struct{ offset, length, begin, end int }{
		{0, 1, 0, 1}, {0, 2, 0, 1}, {0, 3, 0, 3}, {1, 1, 1, 3}, {2, 1, 1, 3}, {3, 3, 3, 6}, {5, 4, 3, 6}, {6, 1, 6, 10}, {9, 100, 6, 10},
		{10, 5, 10, 10}, {100, 1, 10, 10}, {0, math.MaxInt, 0, 10},
	} {
		if begin, end := Slice(text, test.offset, test.length); begin != test.begin || end != test.end {
			t.Errorf("%d, %d: got %d to %d, want %d to %d", test.offset, test.length, begin, end, test.begin, test.end)
		}
	}
}

// TestShortenOfManyItems checks that what a result has by millions takes no memory in proportion.
func TestShortenOfManyItems(t *testing.T) {
	for name, body := range map[string]string{
		"items": resultOf(strings.TrimSuffix(strings.Repeat(`{"type":"text","text":""},`, 100_000), ",")),
		"copies": strings.TrimSuffix(resultOf(strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"{}"},`, 10_000), ",")), "}") +
			`,"structuredContent":{"a":"` + strings.Repeat("x", 30_000) + `"}}`,
		"numbers": resultOf(textOf("[" + strings.TrimSuffix(strings.Repeat("1,", 1_000_000), ",") + "]")),
		"members": resultOf(textOf("{" + strings.TrimSuffix(strings.Repeat(`"a":1,`, 400_000), ",") + "}")),
	} {
		s := Shorten([]byte(body), 4<<10)
		if short := s.Body("ID"); size(short) > 4<<10 || call.Check(abi.MethodToolsCall, short) != "" {
			t.Errorf("%s: %s", name, short)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		Shorten([]byte(body), 4<<10)
		runtime.ReadMemStats(&after)
		if allocated, most := after.TotalAlloc-before.TotalAlloc, uint64(12*len(body)); allocated > most {
			t.Errorf("%s: %d bytes were allocated for %d: want at most %d", name, allocated, len(body), most)
		}
	}
}
