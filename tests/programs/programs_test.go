//go:build unix

// Package programs tests the examples that wrap programs, which are not changed. `.ci/programs` builds them and runs the tests; without
// it they are left out.
package programs

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
)

func TestMain(m *testing.M) {
	host.RunChild()
	os.Exit(m.Run())
}

// project are the files on which the programs work. The file beside is not granted.
var project = hosttest.Files{
	"work/orchard.md":      "# Orchard\n\nApples & pears\n\n| tree | age |\n|------|-----|\n| Boskoop | 12 |\n\n- [x] prune ~~late~~\n",
	"work/src/trees.go":    "package trees\n\n// Prune returns the Trees\nfunc Prune(trees []string) []string { return trees }\n",
	"work/src/-v.txt":      "trees -- with a dash\n",
	"work/src/é and ü.txt": "TREES in a file with spaces\n",
	"work/.hidden":         "trees in hiding\n",
	"work/.ignore":         "ignored\n",
	"work/ignored":         "trees that are ignored\n",
	"beside/secret.txt":    "secret trees\n",
}

func open(t testing.TB) (*hosttest.World, *host.Host) {
	t.Helper()
	dir := os.Getenv("BULKHEAD_PROGRAMS")
	if dir == "" {
		t.Skip("run by .ci/programs")
	}
	w := hosttest.New(t, project)
	o := w.Options()
	o.PluginsDir, o.Project = dir, "."
	return w, w.Open(t, o)
}

// text returns the texts of the result of a call.
func text(t testing.TB, h *host.Host, tool, arguments string) string {
	t.Helper()
	a := hosttest.Call(t, h, tool, arguments)
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(a.Result, &result); err != nil || a.Failure != "" {
		t.Fatalf("%s %s: %v, %s: %s", tool, arguments, err, a.Failure, a.Result)
	}
	var texts []string
	if result.IsError {
		texts = append(texts, "error")
	}
	for _, c := range result.Content {
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, " ")
}

func TestPrograms(t *testing.T) {
	w, h := open(t)
	const html = `{"html":"<ul><li class=a><a href='x.html'>eins &amp; <b>zwei</b></a></li><li class=b>drei é</li></ul>",`
	for _, c := range []struct{ tool, arguments, want string }{
		{"ripgrep_search", `{"pattern":"trees"}`, "./src/-v.txt:1:trees -- with a dash\n./src/trees.go:1:package trees\n./src/trees.go:3:// Prune returns the Trees\n" +
			"./src/trees.go:4:func Prune(trees []string) []string { return trees }\n./src/é and ü.txt:1:TREES in a file with spaces\n"},
		{"ripgrep_search", `{"pattern":"trees","case":"sensitive","globs":["*.txt"]}`, "./src/-v.txt:1:trees -- with a dash\n"},
		{"ripgrep_search", `{"pattern":"-- with","paths":["src"]}`, "src/-v.txt:1:trees -- with a dash\n"},
		{"ripgrep_search", `{"pattern":"[]string)","fixed":true,"max_count":1,"context":1}`, "./src/trees.go-3-// Prune returns the Trees\n./src/trees.go:4:func Prune(trees []string) []string { return trees }\n"},
		{"ripgrep_search", `{"pattern":"hiding","hidden":true}`, "./.hidden:1:trees in hiding\n"},
		{"ripgrep_search", `{"pattern":"^TREES","paths":["` + w.Dir + `/work/src/é and ü.txt"]}`, w.Dir + "/work/src/é and ü.txt:1:TREES in a file with spaces\n"},
		{"ripgrep_search", `{"pattern":"nothing has this"}`, "the program printed nothing, and exited with code 1"},
		{"ripgrep_search", `{"pattern":"secret","paths":["` + w.Dir + `/beside"]}`, "error the program exited with code 2:\nrg: " + w.Dir + "/beside: IO error for operation on " + w.Dir + "/beside: No such file or directory (os error 44)"},
		{"ripgrep_search", `{"pattern":"secret","paths":["../beside"]}`, "error the program exited with code 2:\nrg: ../beside: IO error for operation on ../beside: Operation not permitted (os error 63)"},
		{"ripgrep_search", `{"pattern":"("}`, "error the program exited with code 2:\nrg: regex parse error:\n    (?:()\n    ^\nerror: unclosed group"},
		{"ripgrep_files", `{}`, "./orchard.md\n./src/-v.txt\n./src/trees.go\n./src/é and ü.txt\n"},
		{"ripgrep_files", `{"paths":["-v.txt"]}`, "error the program exited with code 2:\nrg: -v.txt: IO error for operation on -v.txt: No such file or directory (os error 44)"},
		{"select", html + `"selector":"li > a"}`, "<a href=\"x.html\">eins &amp; <b>zwei</b></a>\n"},
		{"select", html + `"selector":"li","text":true,"remove":["b"]}`, "eins & \ndrei é\n"},
		{"select", html + `"selector":"a","attribute":"href","base":"https://example.com/d/"}`, "https://example.com/d/x.html\n"},
		{"select", html + `"selector":"--help"}`, "the program printed nothing"}, // a selector, not an option
		{"render", `{"markdown":"# A <b>\n\n~~x~~ é\n\n|a|\n|-|\n|1|\n"}`, "<h1>A <b></h1>\n<p><del>x</del> é</p>\n<table><thead><tr><th>a</th></tr></thead><tbody>\n<tr><td>1</td></tr>\n</tbody></table>\n"},
		{"render", `{"markdown":"~~x~~","strikethrough":false}`, "<p>~~x~~</p>\n"},
		{"render_file", `{"paths":["orchard.md"]}`, "<h1>Orchard</h1>\n<p>Apples &amp; pears</p>\n<table><thead><tr><th>tree</th><th>age</th></tr></thead><tbody>\n<tr><td>Boskoop</td><td>12</td></tr>\n</tbody></table>\n" +
			"<ul>\n<li><input disabled=\"\" type=\"checkbox\" checked=\"\"/>\nprune <del>late</del></li>\n</ul>\n"},
	} {
		if got := text(t, h, c.tool, c.arguments); got != c.want {
			t.Errorf("%s %s:\ngot  %q\nwant %q", c.tool, c.arguments, got, c.want)
		}
	}
}

// TestSQLite creates a database with a second manifest for the same module, which may write, and queries it with the example.
func TestSQLite(t *testing.T) {
	dir := os.Getenv("BULKHEAD_PROGRAMS")
	if dir == "" {
		t.Skip("run by .ci/programs")
	}
	module, err := os.ReadFile(dir + "/sqlite/sqlite3.wasm")
	if err != nil {
		t.Skip("there is no sqlite: .ci/programs tells why")
	}
	manifest, err := os.ReadFile(dir + "/sqlite/plugin.toml")
	if err != nil {
		t.Fatal(err)
	}
	w := hosttest.New(t, hosttest.Plugin("change", module, `kind = "command"
[[capabilities.fs]]
path = "${project}"
access = "rw"
[[tools]]
name = "change"
description = "Change a database"
access = "write"
stdin = { arg = "sql" }
args = ["-batch", "-bail", "-vfs", "unix-none", { arg = "database" }]
[tools.input]
type = "object"
properties.database.type = "string"
properties.sql.type = "string"
`), hosttest.Files{"plugins/sqlite/plugin.toml": string(manifest), "plugins/sqlite/sqlite3.wasm": string(module), "work/data": "/", "beside/b.db": ""})
	o := w.Options()
	o.Project = "."
	h := w.Open(t, o)
	if got := text(t, h, "change", `{"database":"data/orchard.db","sql":"create table tree(name, age); insert into tree values('Boskoop', 12), ('Cox é', 7);"}`); got != "the program printed nothing" {
		t.Fatalf("got %q", got)
	}
	const notice = "-- warning: cannot find home directory; cannot read ~/.sqliterc\n"
	query := func(sql string) string {
		quoted, _ := json.Marshal(sql)
		return text(t, h, "query", `{"database":"data/orchard.db","sql":`+string(quoted)+`}`)
	}
	for sql, want := range map[string]string{
		"select * from tree order by age":                           `{"result":[{"name":"Cox é","age":7},{"name":"Boskoop","age":12}]}`,
		"-- a comment\nselect count(*) as n, 'a\"b' as s from tree": `{"result":[{"n":2,"s":"a\"b"}]}`,
		"select * from tree where age > 99":                         `{}`,
		"delete from tree":                                          "error the program exited with code 1:\n" + notice + "Runtime error near line 1: attempt to write a readonly database (8)",
		"attach '../beside/b.db' as b":                              "error the program exited with code 1:\n" + notice + "line 1: cannot run ATTACH in safe mode",
		"select readfile('orchard.md')":                             "error the program exited with code 1:\n" + notice + "line 1: cannot use the readfile() function in safe mode",
	} {
		if got := query(sql); got != want {
			t.Errorf("%s:\ngot  %q\nwant %q", sql, got, want)
		}
	}
	if got := text(t, h, "query", `{"database":"../beside/b.db","sql":"select 1"}`); !strings.Contains(got, "unable to open database") {
		t.Errorf("a database that is not granted: got %q", got)
	}
}

func BenchmarkCall(b *testing.B) {
	_, h := open(b)
	for _, c := range []struct{ tool, arguments string }{
		{"ripgrep_search", `{"pattern":"trees"}`}, {"ripgrep_files", `{}`}, {"select", `{"html":"<p>a <a href=x>b</a>","selector":"a"}`}, {"render", `{"markdown":"# A\n\n|a|\n|-|\n|1|\n"}`},
	} {
		b.Run(c.tool, func(b *testing.B) {
			text(b, h, c.tool, c.arguments) // starts the process
			for b.Loop() {
				text(b, h, c.tool, c.arguments)
			}
		})
	}
}
