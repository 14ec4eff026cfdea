package tomlfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// servers is a file with tables of a table, and with comments in all positions.
const servers = `# mine
model = "x" # keep

[servers.a] # first
command = "npx" # why
args = [
  "-y", # yes
]

[servers.a.env]
T = "1"

# ours
[servers.b]
command = "/opt/b"

[servers.b.env]
U = "2"

# end
[last]
`

func TestSetStringsReplacesOrAddsArray(t *testing.T) {
	for name, c := range map[string]struct{ table, text, want string }{
		"replace":      {"servers.a", servers, strings.Replace(servers, "[\n  \"-y\", # yes\n]", `["s", "a \"b\""]`, 1)},
		"add":          {"servers.b", servers, strings.Replace(servers, "\"/opt/b\"\n", "\"/opt/b\"\nargs = [\"s\", \"a \\\"b\\\"\"]\n", 1)},
		"add a table":  {"servers.c", servers, servers + "\n[servers.c]\nargs = [\"s\", \"a \\\"b\\\"\"]\n"},
		"add to empty": {"servers.c", "", "[servers.c]\nargs = [\"s\", \"a \\\"b\\\"\"]\n"},
	} {
		got, err := setStrings([]byte(c.text), c.table, "args", []string{"s", `a "b"`})
		if diff := cmp.Diff(c.want, string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v (want -, got +)\n%s", name, err, diff)
		}
	}
	if _, err := setStrings([]byte(servers), "servers.a", "command", nil); err == nil || !strings.Contains(err.Error(), "is not an array") {
		t.Errorf("an array in place of a string: %v", err)
	}
}

func TestSetDoesNotExtendInlineTable(t *testing.T) {
	for _, text := range []string{"servers = { a = { x = 1 } }\n", "[top]\nx = 1\n[servers]\na = { b = {} }\n"} {
		table := "servers.b"
		if strings.HasPrefix(text, "[top]") {
			table = "servers.a.c"
		}
		if got, err := setString([]byte(text), table, "command", "x"); err == nil || !strings.Contains(err.Error(), "is in an inline table") {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	if got, err := setString([]byte("servers = { a = { x = 1 } }\n"), "servers.a", "command", "x"); err != nil || string(got) != "servers = { a = { command = \"x\", x = 1 } }\n" {
		t.Errorf("an inline table itself: got %q, %v", got, err)
	}
}

func TestRemoveSubtableKeepsEverythingElse(t *testing.T) {
	own := servers[strings.Index(servers, "# ours"):strings.Index(servers, "# end")]
	got, err := removeSubtable([]byte(servers), [2]string{"servers", "b"})
	if diff := cmp.Diff(strings.Replace(servers, own, "", 1), string(got)); err != nil || diff != "" {
		t.Errorf("%v (want -, got +)\n%s", err, diff)
	}
	added, err := setString([]byte(servers), "servers.c", "command", "x")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := removeSubtable(added, [2]string{"servers", "c"}); err != nil || string(got) != servers {
		t.Errorf("removing what was added: %v\n%s", err, got)
	}
	if got, err := removeSubtable([]byte("[servers]\n[servers.b]\nx = 1\n"), [2]string{"servers", "b"}); err != nil || string(got) != "[servers]\n" {
		t.Errorf("a parent with a header: %v\n%s", err, got)
	}
	for _, text := range []string{"servers.b = { x = 1 }\n", "[servers]\nb.x = 1\n", "[servers]\n", "", "servers = 1\n"} {
		if got, err := removeSubtable([]byte(text), [2]string{"servers", "b"}); err == nil || !strings.Contains(err.Error(), "is not written as [servers.b]") {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}
