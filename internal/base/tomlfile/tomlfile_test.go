//go:build unix

package tomlfile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		line int
		want string
	}{
		"a value without quotes":                  {"a = 1\nb = x\n", 2, "is not TOML"},
		"a duplicate key":                         {"a = 1\n\na = 2\n", 3, "is not TOML"},
		"a duplicate table":                       {"[a]\n[b]\n[a]\n", 3, "is not TOML"},
		"a table that is a value":                 {"a = 1\n[a.b]\n", 2, ""},
		"an array of tables that is a table":      {"[a]\n[[a]]\n", 2, ""},
		"a header of an array":                    {"a = []\n[a]\n", 2, ""},
		"an integer beyond 64 bits":               {"\na = 99999999999999999999\n", 2, "out of range"},
		"bytes that are not UTF-8":                {"a = 1\nb = '\xff'\n", 2, "is not UTF-8"},
		"a NUL byte":                              {"a = \x00", 1, "is not TOML"},
		"an unclosed string":                      {"a = 'x", 1, "is not TOML"},
		"arrays nested too deep":                  {"a = " + strings.Repeat("[", 100), 1, "nested more than 64 deep"},
		"an array nested a million deep":          {"a = " + strings.Repeat("[", 1<<20-10), 1, "nested more than 64 deep"},
		"deep nesting after a string with quotes": {"a = '''x'''''\nb = " + strings.Repeat("[", 100), 2, "nested more than 64 deep"},
		"a key of too many parts":                 {"\n" + strings.Repeat("a.", 40) + "a = 1", 2, "a key with more than 32 parts"},
		"a key too long":                          {"[" + strings.Repeat("a", 300) + "]", 1, "a part longer than 256 bytes"},
		"a file too large":                        {strings.Repeat("#\n", 1<<20), 0, "larger than the limit of 1024 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, ps := tomlfile.Parse("f.toml", []byte(c.text))
			if doc != nil || len(ps) != 1 || ps[0].Line != c.line || !strings.Contains(ps[0].What, c.want) || ps[0].File != "f.toml" {
				t.Errorf("got the problems %v", ps)
			}
		})
	}
}

func TestBracketsInStringsAreNotNesting(t *testing.T) {
	many := strings.Repeat("[{", 100)
	for _, text := range []string{"# " + many, "a = '" + many + "'", `a = "\"` + many + `"`, "a = '''\n" + many + "'''",
		"a = \"\"\"\\\"\"\"" + many + "\"\"\"", strings.Repeat("[[a]]\n", 500)} {
		if doc, ps := tomlfile.Parse("f.toml", []byte(text)); doc == nil {
			t.Errorf("%.40s is refused: %v", text, ps)
		}
	}
}

// Parsing a file of the maximum size must take bounded processor time, whatever it contains.
func TestParsingTimeIsBounded(t *testing.T) {
	fill := func(format string, room int) string {
		var b strings.Builder
		for i := 0; b.Len() < tomlfile.MaxSize-room; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	long := strings.Repeat("k", 250)
	for name, c := range map[string]struct{ text, refused string }{
		"many keys":               {fill("a%d=1\n", 600), ""},
		"many tables":             {fill("[a%d]\n", 600), ""},
		"many tables in an array": {fill("[[a]]\nb=%d\n", 600), ""},
		"a long array":            {"a=[" + fill("%d,", 600) + "]", ""},
		"many parts":              {fill(strings.Repeat("a.", 30)+"b%d=1\n", 600), "too many keys"},
		"a long heading":          {"[" + strings.Repeat(long+".", 30) + "x]\n" + fill("a%d=1\n", 10_000), "too many keys"},
		"deep arrays":             {"a = " + strings.Repeat("[", tomlfile.MaxSize-10), "nested more than 64 deep"},
		"long inline tables":      {fill("k%d="+strings.Repeat("{"+long+"=", 30)+"1"+strings.Repeat("}", 30)+"\n", 40_000), "too many keys"},
	} {
		t.Run(name, func(t *testing.T) {
			start := processorTime(t)
			doc, ps := tomlfile.Parse("f.toml", []byte(c.text))
			switch {
			case doc == nil && (c.refused == "" || !strings.Contains(ps[0].What, c.refused)):
				t.Errorf("got the problems %v", ps)
			case doc != nil && c.refused != "":
				t.Error("the file is not refused")
			case doc != nil:
				if n := len(doc.Problems()); n > 101 {
					t.Errorf("%d problems are reported, want at most 101", n)
				}
			}
			if d := processorTime(t) - start; d > 10*time.Second {
				t.Errorf("parsing took %v of processor time", d)
			}
		})
	}
}

// processorTime returns the processor time of this process, which does not depend on other load.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func TestTableReadsEachType(t *testing.T) {
	doc, ps := tomlfile.Parse("f.toml", []byte("s = 'x'\ni = 3\nb = true\nl = ['a', 'b']\nempty = []\nc = 'two'\n[t]\nk = 'v'\n[[a]]\nn = 1\n[[a]]\nn = 2\n"))
	if ps != nil {
		t.Fatal(ps)
	}
	r := doc.Root()
	i, ok := r.Int("i")
	got := []any{r.String("s"), i, ok, r.Bool("b", false), r.Bool("none", true), r.Strings("l"), r.Strings("empty"), r.Strings("none"),
		r.OneOf("c", "one", "two"), r.OneOf("none", "one", "two"), r.Table("t").String("k"), r.Table("none").String("k"),
		r.Has("s"), r.Has("none"), r.LineOf("l"), r.IsArray("l"), r.IsArray("s"), r.StringAt("t", "k"), r.StringAt("t", "none")}
	want := []any{"x", int64(3), true, true, true, []string{"a", "b"}, []string{}, []string(nil), "two", "one", "v", "",
		true, false, 4, true, false, "v", ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for k, table := range r.Tables("a") {
		if n, _ := table.Int("n"); n != int64(k)+1 || table.Line() != 9+2*k || table.Path("n") != fmt.Sprintf("a[%d].n", k) {
			t.Errorf("a[%d].n is %d, in line %d", k, n, table.Line())
		}
	}
	if ps := doc.Problems(); len(ps) > 0 {
		t.Error(ps)
	}
}

func TestWrongTypesAreReportedAndTreatedAsAbsent(t *testing.T) {
	doc, _ := tomlfile.Parse("f.toml", []byte("a = 1.5\nb = 'x'\nc = 2020-01-01\nd = [1, 'x']\ne = {}\nf = [{}, 3]\n"))
	r := doc.Root()
	r.String("a")
	r.Bool("b", false)
	r.Int("c")
	r.Strings("d")
	r.Strings("e")
	if got := len(r.Tables("f")); got != 1 {
		t.Errorf("the array has %d tables, want 1", got)
	}
	var got []string
	for _, p := range doc.Problems() {
		got = append(got, fmt.Sprintf("%d %s: %s", p.Line, p.Key, p.What))
	}
	want := []string{"1 a: is a float, not a string in quotes", "2 b: is a string, not true or false", "3 c: is a date or time, not an integer",
		"4 d[0]: is an integer, not a string in quotes", "5 e: is a table, not an array of strings", "6 f[1]: is an integer, not a table"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestProblemsAreCutErrorsFirst(t *testing.T) {
	doc, _ := tomlfile.Parse("f.toml", []byte("z = 1\n"))
	for i := range 150 {
		doc.Add(tomlfile.Problem{Line: i + 2, What: "w", Warning: true})
	}
	ps := doc.Problems()
	if len(ps) != 101 || len(ps.Errors()) != 1 || ps[0].Key != "z" || ps[100].What != "has 51 more problems" || !ps[100].Warning {
		t.Errorf("got %d problems, from %v to %v", len(ps), ps[0], ps[len(ps)-1])
	}
}

func TestArrayOfStringsIsBounded(t *testing.T) {
	doc, _ := tomlfile.Parse("f.toml", []byte("a = ["+strings.Repeat("'x',", 1001)+"]"))
	if got := doc.Root().Strings("a"); got == nil || len(got) > 0 {
		t.Errorf("an array that is too long has %d items, want none", len(got))
	}
	if ps := doc.Problems(); len(ps) != 1 || ps[0].What != "has more than 1000 items" {
		t.Error(ps)
	}
}

func TestJSONKeepsOrderAndNumbers(t *testing.T) {
	doc, ps := tomlfile.Parse("f.toml", []byte("[t]\nz = 9007199254740993\na.b.c = \"é<\\\"\\n\"\n'' = []\nm = [[1, -0.5], {q = false, p = 1e3}]\na.b.a = 1\n"))
	if ps != nil {
		t.Fatal(ps)
	}
	got := string(doc.Root().JSON("t"))
	want := `{"z":9007199254740993,"a":{"b":{"c":"é<\"\n","a":1}},"":[],"m":[[1,-0.5],{"q":false,"p":1000}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if doc.Root().JSON("none") != nil || len(doc.Problems()) > 0 {
		t.Errorf("an absent key is not nil, or has problems: %v", doc.Problems())
	}
}

func TestReadFileRefuses(t *testing.T) {
	dir := t.TempDir()
	fifo, big := filepath.Join(dir, "fifo"), filepath.Join(dir, "big")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(big, make([]byte, tomlfile.MaxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir: "is not a regular file", fifo: "is not a regular file", big: "is larger than the limit of 1024 KiB",
		filepath.Join(dir, "none"): "no such file or directory"} {
		if _, err := tomlfile.ReadFile(path); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", filepath.Base(path), err, want)
		}
	}
}

func TestSetString(t *testing.T) {
	for name, c := range map[string]struct{ text, table, want string }{
		"a value is replaced and its comment stays":           {"[m]\nk = 'old' # why\n", "m", "[m]\nk = \"new\" # why\n"},
		"a long string is replaced":                           {"[m]\nk = '''a\nb'''\nz=1", "m", "[m]\nk = \"new\"\nz=1"},
		"a key is added behind the last":                      {"[m]\n  a = 1 # c\n\n[n]\n", "m", "[m]\n  a = 1 # c\n  k = \"new\"\n\n[n]\n"},
		"a key is added to an empty table":                    {"[m]\n[n]\n", "m", "[m]\nk = \"new\"\n[n]\n"},
		"a key is added at the end of a file without newline": {"[m]\na = 1", "m", "[m]\na = 1\nk = \"new\"\n"},
		"a key is added to an inline table":                   {"m = { a = 1 } # c\n", "m", "m = { k = \"new\", a = 1 } # c\n"},
		"a key is added to an empty inline table":             {"m = {}\n", "m", "m = { k = \"new\"}\n"},
		"a key of an inline table is replaced":                {"m = { a = 1, k = \"\" }\n", "m", "m = { a = 1, k = \"new\" }\n"},
		"a dotted key gets a neighbour":                       {"m.a = 1\nz = 2\n", "m", "m.a = 1\nm.k = \"new\"\nz = 2\n"},
		"a dotted key is replaced":                            {"m.k = 'x'\n", "m", "m.k = \"new\"\n"},
		"a table is added at the end":                         {"a = 1\n", "m", "a = 1\n\n[m]\nk = \"new\"\n"},
		"a table is added to an empty file":                   {"", "m", "[m]\nk = \"new\"\n"},
		"a deeper table is found":                             {"[a]\n[a.b]\nx = 1\n[a.c]\n", "a.b", "[a]\n[a.b]\nx = 1\nk = \"new\"\n[a.c]\n"},
		"the top level gets a key":                            {"a = 1\n[t]\n", "", "a = 1\nk = \"new\"\n[t]\n"},
		"the top level of tables only gets a key":             {"[t]\n", "", "k = \"new\"\n[t]\n"},
		"line ends stay as they are":                          {"[m]\r\na = 1\r\n", "m", "[m]\r\na = 1\r\nk = \"new\"\r\n"},
		"a table in an array is not meant":                    {"[[x]]\n[x.m]\nk = 'a'\n", "m", "[[x]]\n[x.m]\nk = 'a'\n\n[m]\nk = \"new\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := setString([]byte(c.text), c.table, "k", "new")
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// An admin who reads the file sees every code point of a value.
func TestTextEscapesInvisibleCodePoints(t *testing.T) {
	for text, want := range map[string]string{
		"größe 日本 \"\\":              `"größe 日本 \"\\"`,
		"/x\ufe0f\u3164\u00a0\u202e": `"/x\uFE0F\u3164\u00A0\u202E"`,
		"a\x1b\x7f\u009b\U000e0041":  `"a\u001B\u007F\u009B\U000E0041"`,
	} {
		got := tomlfile.Text(text)
		if got != want {
			t.Errorf("Text(%+q) is %s, want %s", text, got, want)
		}
		doc, ps := tomlfile.Parse("x", []byte("k = "+got))
		if ps.Err() != nil || doc.Root().String("k") != text {
			t.Errorf("%s does not stand for %+q: %v", got, text, ps)
		}
		if quoted := tomlfile.Quote(text); !visible.Only(quoted) {
			t.Errorf("Quote(%+q) is %s", text, quoted)
		}
	}
}

func TestSetStringRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, table string }{
		"what is not TOML":          {"[m", "m"},
		"a value that is no string": {"[m]\nk = 1\n", "m"},
		"a value that is a table":   {"[m.k]\n", "m"},
		"a table that is a value":   {"m = 1\n", "m"},
		"a table that is an array":  {"[[m]]\n", "m"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := setString([]byte(c.text), c.table, "k", "new"); err == nil {
				t.Errorf("the file is changed to %q", got)
			}
		})
	}
	if _, err := setString(nil, "m", "k", "\xff"); err == nil {
		t.Error("a value that is not UTF-8")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("a = 1\n[b.c]\nd = [1, {e = 'x'}]\n[[f]]\n[[f]]\ng.h = 2020-01-01\n"))
	f.Add([]byte("a = \"\"\"x\\\n  y\"\"\"\n'k k' = 0x1F\n\"\\u00e9\" = inf\n"))
	f.Add([]byte("a.b = 1\n[a]\nc = 2\n"))
	f.Add([]byte("x = {\n a = 1, # c\n}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, ps := tomlfile.Parse("f.toml", data)
		if (doc == nil) != (ps.Err() != nil) {
			t.Fatalf("document %v, problems %v", doc, ps)
		}
		if doc == nil {
			return
		}
		r := doc.Root()
		for _, key := range r.Keys() {
			if raw := r.JSON(key); raw != nil && !json.Valid(raw) {
				t.Errorf("the value of %q is encoded as invalid JSON: %s", key, raw)
			}
		}
		last := bytes.Count(data, []byte("\n")) + 1
		for _, p := range doc.Problems() {
			if p.Line < 0 || p.Line > last {
				t.Errorf("a problem is in line %d of %d", p.Line, last)
			}
		}
	})
}

func FuzzSetString(f *testing.F) {
	f.Add([]byte("[m]\nk = 'x' # c\n"), "m", "v")
	f.Add([]byte("m = { a = 1 }\n"), "m", "\"\\\x00")
	f.Add([]byte("m.a = 1\r\n"), "m.a", "v")
	f.Add([]byte("[[m]]\n[m.n]\n"), "m.n", "")
	f.Add([]byte("# only a comment"), "", "v")
	f.Fuzz(func(t *testing.T, data []byte, table, value string) {
		got, err := setString(data, table, "k", value)
		if err != nil {
			return
		}
		doc, ps := tomlfile.Parse("f.toml", got)
		if doc == nil {
			t.Fatal(ps)
		}
		in := doc.Root()
		if table != "" {
			for _, part := range strings.Split(table, ".") {
				in = in.Table(part)
			}
		}
		if in.String("k") != value {
			t.Errorf("got %q, want %q in %q", in.String("k"), value, got)
		}
		again, err := setString(got, table, "k", value)
		if err != nil || !bytes.Equal(again, got) {
			t.Errorf("setting it again changes %q to %q (%v)", got, again, err)
		}
	})
}
