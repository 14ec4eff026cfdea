package visible_test

import (
	"strconv"
	"testing"
	"unicode"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

func TestRune(t *testing.T) {
	for name, c := range map[string]struct {
		first, last rune
		want        bool
	}{
		"ASCII":                           {' ', '~', true},
		"accents":                         {'À', 'ö', true},
		"a combining accent":              {0x301, 0x301, true},
		"Devanagari vowel signs":          {0x93e, 0x94c, true},
		"kana":                            {'ぁ', 'ゖ', true},
		"Hangul":                          {0xac00, 0xd7a3, true},
		"an emoji":                        {0x1f600, 0x1f600, true},
		"the replacement character":       {0xfffd, 0xfffd, true},
		"braille with dots":               {0x2801, 0x28ff, true},
		"C0":                              {0, 0x1f, false},
		"DEL and C1":                      {0x7f, 0x9f, false},
		"no-break space":                  {0xa0, 0xa0, false},
		"soft hyphen":                     {0xad, 0xad, false},
		"combining grapheme joiner":       {0x34f, 0x34f, false},
		"Arabic letter mark":              {0x61c, 0x61c, false},
		"Hangul fillers":                  {0x115f, 0x1160, false},
		"Khmer inherent vowels":           {0x17b4, 0x17b5, false},
		"Mongolian selectors":             {0x180b, 0x180f, false},
		"spaces of many widths":           {0x2000, 0x200a, false},
		"zero width and directions":       {0x200b, 0x200f, false},
		"separators and overrides":        {0x2028, 0x202f, false},
		"word joiner and isolates":        {0x205f, 0x206f, false},
		"braille blank":                   {0x2800, 0x2800, false},
		"ideographic space":               {0x3000, 0x3000, false},
		"Hangul filler":                   {0x3164, 0x3164, false},
		"surrogates":                      {0xd800, 0xdfff, false},
		"private use":                     {0xe000, 0xf8ff, false},
		"noncharacters":                   {0xfdd0, 0xfdef, false},
		"variation selectors":             {0xfe00, 0xfe0f, false},
		"byte order mark":                 {0xfeff, 0xfeff, false},
		"halfwidth Hangul filler":         {0xffa0, 0xffa0, false},
		"annotations":                     {0xfff0, 0xfffb, false},
		"the last of the BMP":             {0xfffe, 0xffff, false},
		"Egyptian blanks":                 {0x13441, 0x13442, false},
		"Khitan filler":                   {0x16fe4, 0x16fe4, false},
		"shorthand format controls":       {0x1bca0, 0x1bca3, false},
		"musical null notehead":           {0x1d159, 0x1d159, false},
		"musical format controls":         {0x1d173, 0x1d17a, false},
		"tags and selectors, all of them": {0xe0000, 0xe0fff, false},
		"private planes":                  {0xf0000, unicode.MaxRune, false},
	} {
		t.Run(name, func(t *testing.T) {
			for r := c.first; r <= c.last; r++ {
				if visible.Rune(r) != c.want {
					t.Errorf("Rune(%U) is %t", r, !c.want)
				}
			}
		})
	}
}

// All code points that are derived as Default_Ignorable_Code_Point are invisible.
func TestIgnorableCodePointsAreInvisible(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		ignorable := unicode.In(r, unicode.Cf, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
			unicode.Noncharacter_Code_Point, unicode.Bidi_Control, unicode.Join_Control) || r != ' ' && unicode.Is(unicode.Zs, r)
		if ignorable && visible.Rune(r) {
			t.Errorf("Rune(%U) is true", r)
		}
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"Größe: 3 – 日本":                          "Größe: 3 – 日本",
		"a\tb\nc":                                "a\tb\nc",
		"a\r\x1b[2J":                             "a··[2J",
		"read\u3164\u115f\ufe0f\u2800\U000e0041": "read·····",
		"a\xffb":                                 "a\ufffdb",
		"":                                       "",
	} {
		if got := visible.Text(text); got != want {
			t.Errorf("Text(%+q) is %q, want %q", text, got, want)
		}
	}
}

func TestOnly(t *testing.T) {
	for text, want := range map[string]bool{"": true, "notes://é": true, "a b": true, "a\tb": false, "a\ufe0f": false, "\u3164": false, "a\xff": false} {
		if got := visible.Only(text); got != want {
			t.Errorf("Only(%+q) is %t", text, got)
		}
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		`é"\`:                     `"é\"\\"`,
		"a\ufe0f\u202e\x1b\xff":   `"a\ufe0f\u202e\x1b\xff"`,
		"a\U000e0100\u3164\u2800": `"a\U000e0100\u3164\u2800"`,
	} {
		got := visible.Quote(text)
		if got != want {
			t.Errorf("Quote(%+q) is %s, want %s", text, got, want)
		}
		if back, err := strconv.Unquote(got); err != nil || back != text {
			t.Errorf("%s unquotes to %+q, %v", got, back, err)
		}
	}
}

func TestBounded(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"lines stay":                {"a\tb\nc", 20, "a\tb\nc"},
		"invisible code points":     {"a\x1b[2J\u009b\u202e\ufe0f\u3164", 40, "a·[2J····"},
		"bytes that are not UTF-8":  {"a\xff", 20, "a\ufffd"},
		"a cut inside a code point": {"grö", 3, "gr\ufffd…"},
		"text of exactly the limit": {"abc", 3, "abc"},
	} {
		if got := visible.Bounded(c.text, c.limit); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestProse(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\n\x1b[31mred\x07 ü \u009bA\x7f\r":               "a\tb\n·[31mred· ü ·A··",
		"Windows\r\n\r\r\n":                                   "Windows\r\n·\r\n",
		"pay \u202e001\u202c, \u2066x\u2069":                  "pay ·001·, ·x·",
		"no\u200bw\u200ci\u200dd\ufeffth\u2060":               "no·w·i·d·th·",
		"line\u2028paragraph\u2029\u0085":                     "line·paragraph··",
		"tags\U000e0041 filler\u3164 soft\u00adhy":            "tags· filler· soft·hy",
		"selector\ufe0f, \U000e0100":                          "selector·, ·",
		"❤\ufe0f 👩\u200d💻 👍🏽 ":                                "❤\ufe0f 👩\u200d💻 👍🏽 ",
		"❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 ↔\ufe0f": "❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 ↔\ufe0f",
		"❤\ufe0f\ufe0f 💻\u200d\u200d\ufe0f\u200d 1\u200d":     "❤\ufe0f· 💻\u200d··· 1·",
		"a\u00a0b\u3000漢\u2003ü e\u0301 \u0600٣":              "a\u00a0b\u3000漢\u2003ü e\u0301 \u0600٣",
		"invalid \xff, U+FFFD \ufffd":                         "invalid \ufffd, U+FFFD \ufffd",
	} {
		if got := visible.Prose(text); got != want {
			t.Errorf("Prose(%+q) = %+q, want %+q", text, got, want)
		}
	}
}
func TestLineReplacesInvisibleCharacters(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"plain text":                      {"Größe: 3 – 日本", "Größe: 3 – 日本"},
		"line breaks":                     {"a\n\tb\r\n c\u2028d\u0085e", "a b c d e"},
		"control characters":              {"a\x1b[2Jb\u009bc\x7f", "a·[2Jb·c·"},
		"bidirectional controls":          {"a\u202eb\u2066c\u200f", "a·b·c·"},
		"zero width characters":           {"a\u200bb\U000e0041", "a·b·"},
		"fillers and variation selectors": {"a\ufe0fb\U000e0100c\u3164d\u115fe\uffa0f\u2800g\u034fh\u17b4", "a·b·c·d·e·f·g·h·"},
		"spaces outside ASCII":            {"/home/u\u00a0/x\u3000", "/home/u·/x·"},
	} {
		if got := visible.Line(c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
