package tomlfile_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// spread is a file with an array of tables whose parts are spread over it, with comments in all positions.
const spread = `# The team's config.

top = 1 # one

# the first
[[p]] # heading
path = "a" # folder
# no more for now

# how much
[p.limits]
time = "5s"
[audit]
file = "/x" # log

# belongs to nobody

[[p.fs]]
path = "/a"

# the second
# in two lines
[[p]]
path = "b"
fs = [
    { path = "/b" }, # [[p]]
]
text = '''
# no comment
[[p]]
'''
[p.env]
A = "1"

[last]
`

func TestRemoveTable(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		index int
		want  string
	}{
		"the only one": {"[[p]]\na = 1\n", 0, ""},
		"the last one with the line that sets it off": {"x = 1\n\n[[p]]\na = 1\n", 0, "x = 1\n"},
		"the first one with the line behind it":       {"[[p]]\na = 1\n\n[[p]]\na = 2\n", 0, "[[p]]\na = 2\n"},
		"one without empty lines":                     {"[[p]]\n[[p]]\na = 2\n[[p]]\n", 1, "[[p]]\n[[p]]\n"},
		"a file without a last newline":               {"[[p]]\na = 1\n[[p]]\na = 2", 1, "[[p]]\na = 1\n"},
		"only one empty line goes":                    {"x = 1\n\n\n[[p]]\na = 1\n\n\n[y]\n", 0, "x = 1\n\n\n\n[y]\n"},
		"comments directly above go":                  {"# file\n\n# one\n# two\n[[p]]\n", 0, "# file\n"},
		"comments above the next stay":                {"[[p]]\na = 1\n# two\n[[p]]\na = 2\n", 0, "# two\n[[p]]\na = 2\n"},
		"comments directly below the last key go":     {"[[p]]\na = 1\n# b = 2\n\n# two\n[[p]]\n", 0, "# two\n[[p]]\n"},
		"comments that stand alone stay":              {"[[p]]\na = 1\n\n# alone\n\n[[p]]\n", 0, "# alone\n\n[[p]]\n"},
		"comments between its own parts go":           {"[[p]]\na = 1\n\n# alone\n\n[p.b]\n\n[x]\n", 0, "[x]\n"},
		"line ends stay as they are":                  {"# f\r\n\r\n[[p]]\r\na = 1\r\n\r\n[[p]]\r\na = 2\r\n", 0, "# f\r\n\r\n[[p]]\r\na = 2\r\n"},
		"an indented one":                             {"x = 1\n  # c\n  [[p]]\n  a = 1\n", 0, "x = 1\n"},
		"a header in a string":                        {"[[p]]\na = '''\n[[p]]\n'''\n[[p]]\na = 2\n", 1, "[[p]]\na = '''\n[[p]]\n'''\n"},
		"a key in quotes":                             {"[['p']]\n[\"p\".b]\n[[p]]\n", 0, "[[p]]\n"},
		"tables of another array stay":                {"[[pp]]\n[[p]]\n[[pp]]\n", 0, "[[pp]]\n[[pp]]\n"},
		"the parts of one that are spread over the file": {spread, 0, `# The team's config.

top = 1 # one

[audit]
file = "/x" # log

# belongs to nobody

` + spread[strings.Index(spread, "# the second"):]},
		"the second of them": {spread, 1, spread[:strings.Index(spread, "# the second")] + "[last]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := removeTable([]byte(c.text), "p", c.index)
			if err != nil {
				t.Fatal(err)
			}
			check(t, c.want, string(got))
		})
	}
}

func TestAppendTable(t *testing.T) {
	const body = "a = 1\nb = 'x'\n"
	for name, c := range map[string]struct{ text, want string }{
		"to an empty file":              {"", "[[p]]\na = 1\nb = 'x'\n"},
		"after an empty line":           {"x = 1\n", "x = 1\n\n[[p]]\na = 1\nb = 'x'\n"},
		"to a file without newline":     {"x = 1 # c", "x = 1 # c\n\n[[p]]\na = 1\nb = 'x'\n"},
		"after others":                  {"[[p]]\n[p.q]\n[z]\n", "[[p]]\n[p.q]\n[z]\n\n[[p]]\na = 1\nb = 'x'\n"},
		"with the file's own line ends": {"x = 1\r\n", "x = 1\r\n\r\n[[p]]\r\na = 1\r\nb = 'x'\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := appendTable([]byte(c.text), "p", body)
			if err != nil {
				t.Fatal(err)
			}
			check(t, c.want, string(got))
		})
	}
}

func TestSetTableString(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		index int
		want  string
	}{
		"a value is replaced and its comment stays": {"[[p]]\nk = 'x' # c\n[[p]]\nk = 'y' # d\n", 1, "[[p]]\nk = 'x' # c\n[[p]]\nk = \"new\" # d\n"},
		"a key is added after the first":            {"[[p]]\n  path = 'a' # c\n  b = 1\n", 0, "[[p]]\n  path = 'a' # c\n  k = \"new\"\n  b = 1\n"},
		"a key is added after a multi-line one":     {"[[p]]\na = [\n1,\n]\nb = 1\n", 0, "[[p]]\na = [\n1,\n]\nk = \"new\"\nb = 1\n"},
		"a key is added to an empty table":          {"[[p]] # c\n[p.k2]\n", 0, "[[p]] # c\nk = \"new\"\n[p.k2]\n"},
		"a key is added to a last line":             {"[[p]]\na = 1", 0, "[[p]]\na = 1\nk = \"new\"\n"},
		"a sub-table's key is unaffected":           {"[[p]]\na = 1\n[p.q]\nk = 'x'\n", 0, "[[p]]\na = 1\nk = \"new\"\n[p.q]\nk = 'x'\n"},
		"line ends stay as they are":                {"[[p]]\r\na = 1\r\n", 0, "[[p]]\r\na = 1\r\nk = \"new\"\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := setTableString([]byte(c.text), "p", c.index, "k", "new")
			if err != nil {
				t.Fatal(err)
			}
			check(t, c.want, string(got))
		})
	}
}

func TestTableEditsRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		index int
		want  string
	}{
		"what is not TOML":          {"[[p]", 0, "is not TOML"},
		"an array written inline":   {"p = [{ a = 1 }]\n", 0, "is not written as [[p]] tables"},
		"a table":                   {"[p]\n", 0, "is not written as [[p]] tables"},
		"a value":                   {"p = 1\n", 0, "is not written as [[p]] tables"},
		"a missing table":           {"[[p]]\n", 1, "there is no p[1]"},
		"a negative index":          {"[[p]]\n", -1, "there is no p[-1]"},
		"a value that is no string": {"[[p]]\nk = 1\n", 0, "is not a string"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := setTableString([]byte(c.text), "p", c.index, "k", "new"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("SetTableString: got %q and the error %v", got, err)
			}
			if name == "a value that is no string" {
				return
			}
			if got, err := removeTable([]byte(c.text), "p", c.index); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("RemoveTable: got %q and the error %v", got, err)
			}
			if strings.HasPrefix(c.want, "there is no") {
				return
			}
			if got, err := appendTable([]byte(c.text), "p", "a = 1\n"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("AppendTable: got %q and the error %v", got, err)
			}
		})
	}
	if got, err := appendTable(nil, "p", "a = \n"); err == nil {
		t.Errorf("a table that is not TOML: %q", got)
	}
	if got, err := appendTable(nil, "p", "a = 1\n[q]\nb = 1\n"); err == nil && !bytes.Contains(got, []byte("[q]")) {
		t.Errorf("a table with a table: %q", got)
	}
}

func check(t *testing.T, want, got string) {
	t.Helper()
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// FuzzTables checks that RemoveTable only deletes bytes, that AppendTable only appends, and that RemoveTable undoes
// AppendTable.
func FuzzTables(f *testing.F) {
	f.Add([]byte(spread), 0, "v")
	f.Add([]byte("[[p]]\r\n# c\r\n\r\n[[p.q]]\r\n[x]\r\n[p.r]\r\n"), 0, "\"")
	f.Add([]byte("x = 1"), 1, "")
	f.Add([]byte("p = [{}]"), 0, "")
	f.Fuzz(func(t *testing.T, data []byte, index int, value string) {
		kept := bytes.Clone(data)
		if got, err := removeTable(data, "p", index); err == nil {
			if len(got) >= len(data) || !subsequence(got, data) {
				t.Errorf("RemoveTable changes %q to %q, and does not only delete bytes", data, got)
			}
		}
		if got, err := setTableString(data, "p", index, "k", value); err == nil {
			if again, err := setTableString(got, "p", index, "k", value); err != nil || !bytes.Equal(again, got) {
				t.Errorf("setting it again changes %q to %q (%v)", got, again, err)
			}
		}
		if !bytes.Equal(kept, data) {
			t.Fatal("the input was changed")
		}
		got, err := appendTable(data, "p", "k = "+tomlfile.Text(strings.ToValidUTF8(value, ""))+"\n")
		if err != nil {
			return
		}
		if !bytes.HasPrefix(got, data) {
			t.Fatalf("appending changes %q to %q", data, got)
		}
		last := 0
		for ; ; last++ {
			if _, err := setTableString(got, "p", last+1, "none", ""); err != nil && strings.HasPrefix(err.Error(), "there is no") {
				break
			}
		}
		back, err := removeTable(got, "p", last)
		if err != nil || strings.TrimRight(string(back), "\r\n") != strings.TrimRight(string(data), "\r\n") {
			t.Errorf("removing the appended one gives %q for %q (%v)", back, data, err)
		}
	})
}

func subsequence(part, whole []byte) bool {
	for _, c := range part {
		i := bytes.IndexByte(whole, c)
		if i < 0 {
			return false
		}
		whole = whole[i+1:]
	}
	return true
}
