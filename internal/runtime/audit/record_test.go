//go:build unix

package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// decoded is a decoded line.
type decoded struct {
	Time, Kind, ID, Plugin, Version, Digest, Client, Principal, Table, Method, Tool, Outcome, Code, Arguments string

	Duration   int64  `json:"duration_us"`
	Fuel       uint64 `json:"fuel"`
	BytesIn    int64  `json:"bytes_in"`
	BytesOut   int64  `json:"bytes_out"`
	Operations []struct {
		Op, Target, Outcome, Code string
		Count                     int64
	}
	LeftOut       int64 `json:"operations_left_out"`
	Grants        []UsedGrant
	GrantsLeftOut int64    `json:"grants_left_out"`
	Cut           []string `json:"cut"`
}

func parse(t *testing.T, text []byte) decoded {
	t.Helper()
	var w decoded
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return w
}

func TestEncodeWritesEveryField(t *testing.T) {
	r := Record{
		Time: time.Date(2026, 7, 29, 14, 3, 7, 120345999, time.FixedZone("", 7200)), Kind: KindCall, ID: "9f2c11ab-17",
		Plugin: "chant", Version: "1.4.0", Digest: "6b1e", Client: "claude-code/2.1", Principal: "oauth:0a", Table: "staff", Method: "tools/call", Tool: "chant_search",
		Outcome: Failed, Code: "timeout", Duration: 1500 * time.Microsecond, Fuel: math.MaxUint64, BytesIn: 61, BytesOut: 7,
		Operations: []Operation{{Op: "fs/open", Target: "/p/.env", Outcome: Denied, Code: "denied"}, {Op: "git/read_file", Target: "/p", Outcome: OK, Count: 4}},
		LeftOut:    9, Grants: []UsedGrant{NewUsedGrant("directory", "/p", true, true), NewUsedGrant("repository", "/r", true, false)},
	}
	var l line
	l.encode(&r, `{"a":1}`)
	want := `{"time":"2026-07-29T12:03:07.120345Z","kind":"call","id":"9f2c11ab-17","plugin":"chant","version":"1.4.0",` +
		`"digest":"6b1e","client":"claude-code/2.1","principal":"oauth:0a","table":"staff","method":"tools/call","tool":"chant_search","outcome":"failed",` +
		`"code":"timeout","duration_us":1500,"fuel":18446744073709551615,"bytes_in":61,"bytes_out":7,` +
		`"grants":[{"kind":"directory","path":"/p","access":"rw"},{"kind":"repository","path":"/r","access":"r"}],` +
		`"operations":[{"op":"fs/open","target":"/p/.env","outcome":"denied","code":"denied","count":1},` +
		`{"op":"git/read_file","target":"/p","outcome":"ok","count":4}],"operations_left_out":9,"arguments":"{\"a\":1}"}` + "\n"
	if diff := cmp.Diff(want, string(l.b)); diff != "" {
		t.Error(diff)
	}
	parse(t, l.b)
}

func TestAppendStringEscapesInvisibleCharacters(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"quotes and backslashes":         {`a"b\c`, `"a\"b\\c"`},
		"line breaks":                    {"a\nb\r\x00", `"a\u000ab\u000d\u0000"`},
		"terminal sequences":             {"\x1b[2J\x7f", `"\u001b[2J\u007f"`},
		"C1 control characters":          {"\u009b2J", `"\u009b2J"`},
		"bidirectional controls":         {"a\u202eb\u2066", `"a\u202eb\u2066"`},
		"line separators":                {"\u2028\u2029", `"\u2028\u2029"`},
		"a byte order mark":              {"\ufeff", `"\ufeff"`},
		"format characters above U+FFFF": {"\U000e0001", `"\udb40\udc01"`},
		"variation selectors":            {"a\ufe0f\U000e0100", `"a\ufe0f\udb40\udd00"`},
		"fillers and blanks":             {"\u3164\u115f\uffa0\u2800\u034f\u00a0", `"\u3164\u115f\uffa0\u2800\u034f\u00a0"`},
		"bytes that are not UTF-8":       {"a\xffb\xc3", `"a` + "\uFFFDb\uFFFD" + `"`},
		"letters of any script stay":     {"größe 寸法 🚢", `"größe 寸法 🚢"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, whole := appendString(nil, c.text, 100)
			if string(got) != c.want || !whole {
				t.Errorf("got %s, whole %t, want %s", got, whole, c.want)
			}
		})
	}
}

func TestAppendStringTruncatesBetweenCharacters(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		limit int
		want  string
		whole bool
	}{
		"a string at the limit":  {"abcde", 10, `"abcde"`, true},
		"one byte more":          {"abcdef", 10, `"abcde…"`, false},
		"a multi-byte character": {"abcdé", 10, `"abcd…"`, false},
		"an escape":              {"ab\x00", 10, `"ab…"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, whole := appendString([]byte("x"), c.text, c.limit)
			if string(got) != "x"+c.want || whole != c.whole {
				t.Errorf("got %s, whole %t, want %s, %t", got[1:], whole, c.want, c.whole)
			}
		})
	}
}

func TestEncodeListsTruncatedFields(t *testing.T) {
	long := strings.Repeat("\x01", 100<<10)
	r := Record{Kind: KindCall, ID: long, Plugin: long, Version: long, Digest: long, Client: long, Method: long, Tool: long, Outcome: Outcome(long), Code: long,
		Duration: math.MaxInt64, Fuel: math.MaxUint64, BytesIn: math.MinInt64, BytesOut: math.MinInt64, LeftOut: 1}
	for range 1000 {
		r.Operations = append(r.Operations, Operation{Op: long, Target: long, Outcome: Outcome(long), Code: long, Count: 2})
		r.Grants = append(r.Grants, UsedGrant{long, long, long})
	}
	var l line
	l.encode(&r, long)
	if len(l.b) > MaxLine {
		t.Fatalf("the line has %d bytes", len(l.b))
	}
	w := parse(t, l.b)
	want := []string{"id", "plugin", "version", "digest", "client", "method", "tool", "outcome", "code", "kind", "path", "access", "op", "target", "arguments"}
	if diff := cmp.Diff(want, w.Cut); diff != "" {
		t.Error(diff)
	}
	if kept := int64(len(w.Grants)); kept < 5 || kept+w.GrantsLeftOut != 1000 {
		t.Errorf("%d grants are kept and %d left out of 1000", kept, w.GrantsLeftOut)
	}
	if kept := int64(len(w.Operations)); kept < 5 || 2*kept+w.LeftOut != 2001 {
		t.Errorf("%d operations are kept and %d left out of 2001", 2*kept, w.LeftOut)
	}
}

func TestEncodeGapWritesOneLine(t *testing.T) {
	var l line
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l.encodeGap(gap{records: 3, since: at, until: at.Add(time.Second), cause: errors.New("no\nspace")})
	want := `{"time":"2026-01-02T03:04:06.000000Z","kind":"gap","lost":3,"since":"2026-01-02T03:04:05.000000Z","cause":"no\u000aspace"}` + "\n"
	if got := string(l.b); got != want {
		t.Errorf("got %s want %s", got, want)
	}
}

// FuzzRecord checks that any record is one line of valid JSON within MaxLine, that it has only printable
// characters, and that fields that are not listed as cut round-trip.
func FuzzRecord(f *testing.F) {
	f.Add("chant", "chant_search", "client/1", `{"q":"x"}`, "fs/open", "/p/.env", int64(1), uint16(3))
	f.Add("", "\x1b]0;x\x07", "\"\\\n", "\xff\xfe", "\u2028", "\u202e\U0010ffff", int64(-1), uint16(0))
	f.Add(strings.Repeat("é", 64), strings.Repeat("\x00", 9000), "", strings.Repeat("寸", 20000), "", strings.Repeat("\"", 5000), int64(math.MinInt64), uint16(2000))
	f.Fuzz(func(t *testing.T, plugin, tool, client, arguments, op, target string, number int64, operations uint16) {
		r := Record{Time: time.UnixMicro(number % 1e16), Kind: Kind(op), ID: client, Plugin: plugin, Client: client, Tool: tool, Outcome: Outcome(target),
			Duration: time.Duration(number), Fuel: uint64(number), BytesIn: number, LeftOut: int64(operations)}
		for range operations % 256 {
			r.Operations = append(r.Operations, Operation{Op: op, Target: target, Outcome: Denied, Count: 1})
			r.Grants = append(r.Grants, NewUsedGrant(op, target, number > 0, number%2 == 0))
		}
		var l line
		l.encode(&r, arguments)
		if len(l.b) > MaxLine || bytes.IndexByte(l.b, '\n') != len(l.b)-1 || !utf8.Valid(l.b) {
			t.Fatalf("%d bytes are not one line of valid UTF-8", len(l.b))
		}
		if at := bytes.IndexFunc(l.b[:len(l.b)-1], func(r rune) bool { return !unicode.IsPrint(r) }); at >= 0 {
			t.Fatalf("byte %d is not printable: %q", at, l.b[max(0, at-20):at+1])
		}
		w := parse(t, l.b)
		for name, pair := range map[string][2]string{"plugin": {plugin, w.Plugin}, "tool": {tool, w.Tool}, "client": {client, w.Client}, "arguments": {arguments, w.Arguments}} {
			if want := string([]rune(pair[0])); !slices.Contains(w.Cut, name) && pair[1] != want {
				t.Errorf("%s is %q, want %q", name, pair[1], want)
			}
		}
		if kept := int64(len(w.Operations)); kept+w.LeftOut != int64(operations%256)+int64(operations) {
			t.Errorf("%d operations are kept and %d left out of %d", kept, w.LeftOut, operations%256)
		}
	})
}
