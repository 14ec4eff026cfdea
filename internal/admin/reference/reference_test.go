package reference

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

var systems = map[string]System{
	"linux":   {},
	"windows": {Windows: true},
	"vscode": {
		Variables: map[string]string{"${workspaceFolder}": "${project}", "${userHome}": "${home}", "${env:HOME}": "${home}"},
		Expands:   []string{"${"}, Base: "${project}",
	},
}

// summary returns the lines of testdata/entries.txt for a server.
func summary(s *Server) []string {
	if s == nil {
		return []string{"nothing"}
	}
	lines := []string{"server " + s.Plugin + " for " + s.Replaces}
	for _, f := range s.FS {
		lines = append(lines, fmt.Sprintf("fs %s %s", f.Path, f.Access))
	}
	if s.PublicWeb {
		lines = append(lines, "web public")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		lines = append(lines, "env "+name+"="+s.Env[name])
	}
	for _, lost := range s.Lost {
		lines = append(lines, "lost "+lost)
	}
	for _, left := range s.Left {
		lines = append(lines, "left "+left)
	}
	return lines
}

// parseEntry parses an entry of testdata/entries.txt.
func parseEntry(t *testing.T, line string) Entry {
	t.Helper()
	e := Entry{Env: map[string]string{}}
	for _, field := range strings.Fields(line) {
		text, err := url.PathUnescape(field)
		if err != nil {
			t.Fatal(err)
		}
		name, value, assigned := strings.Cut(text, "=")
		switch {
		case e.Command != "":
			e.Args = append(e.Args, text)
		case assigned && !strings.Contains(name, "/"):
			e.Env[name] = value
		default:
			e.Command = text
		}
	}
	return e
}

func TestEntriesAreRecognized(t *testing.T) {
	data, err := os.ReadFile("testdata/entries.txt")
	if err != nil {
		t.Fatal(err)
	}
	system, entry, count := "", "", 0
	var want []string
	check := func() {
		if entry == "" {
			return
		}
		count++
		got := summary(Recognize(parseEntry(t, entry), systems[system]))
		for _, kind := range []string{"server ", "lost "} {
			is := func(line string) bool { return strings.HasPrefix(line, kind) }
			if !slices.ContainsFunc(want, is) {
				got = slices.DeleteFunc(got, is)
			}
		}
		if len(want) == 0 {
			t.Errorf("%s: the table has no result", entry)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %s\ngot  %s\nwant %s", system, entry, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			check()
			system, entry, want = strings.Trim(line, "[]"), "", nil
			if _, ok := systems[system]; !ok {
				t.Fatalf("there is no system %q", system)
			}
		case line[0] == ' ':
			want = append(want, strings.TrimSpace(line))
		default:
			check()
			entry, want = line, nil
		}
	}
	check()
	if count < 60 {
		t.Errorf("the table has only %d entries", count)
	}
}

func TestReasonsContainNoValueOfAVariable(t *testing.T) {
	const secret = "s3cr3t"
	for _, command := range []string{
		"npx -y @modelcontextprotocol/server-filesystem /srv", "npx -y @modelcontextprotocol/server-memory", "uvx mcp-server-git --repository /a",
		"uvx mcp-server-fetch", "uvx mcp-server-time", "docker run -e MEMORY_FILE_PATH -e LOCAL_TIMEZONE -e TOKEN mcp/memory",
	} {
		e := parseEntry(t, command)
		for _, name := range []string{"MEMORY_FILE_PATH", "LOCAL_TIMEZONE", "TZ", "TOKEN", "PATH", "HTTP_PROXY"} {
			e.Env[name] = "../" + secret + "\x1b"
		}
		s := Recognize(e, System{})
		if s == nil || len(s.Left) == 0 || strings.Contains(fmt.Sprint(*s), secret) {
			t.Errorf("%s: got %+v", command, s)
		}
	}
}

func TestRecognizeIsBounded(t *testing.T) {
	long := Entry{Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "/" + strings.Repeat("a", maxArgs)}}
	many := Entry{Command: "npx", Args: append([]string{"@modelcontextprotocol/server-filesystem"}, slices.Repeat([]string{""}, maxArgs)...)}
	nested := Entry{Command: "cmd", Args: append(slices.Repeat([]string{"/c", "cmd"}, maxArgs), "/c", "npx", "@modelcontextprotocol/server-filesystem", "/a")}
	for _, e := range []Entry{long, many, nested} {
		if s := Recognize(e, System{}); s == nil || len(s.Left) != 1 || len(s.FS) > 0 {
			t.Errorf("an entry that is too large is not left: %+v", s)
		}
	}
}

// FuzzRecognize checks that every grant is a path that a config accepts, and that an entry that is left grants nothing.
func FuzzRecognize(f *testing.F) {
	data, err := os.ReadFile("testdata/entries.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 1 && line[0] != ' ' && line[0] != '#' {
			f.Add(fields[0], strings.Join(fields[1:], "\x00"), "MEMORY_FILE_PATH", "/a/b")
		}
	}
	f.Fuzz(func(t *testing.T, command, args, name, value string) {
		for _, on := range systems {
			s := Recognize(Entry{Command: command, Args: strings.Split(args, "\x00"), Env: map[string]string{name: value}}, on)
			if s == nil {
				continue
			}
			if len(s.Left) > 0 && (len(s.FS)+len(s.Env) > 0 || s.PublicWeb) {
				t.Errorf("an entry that is left has grants: %+v", s)
			}
			for _, g := range s.FS {
				if err := manifest.CheckPath(g.Path); err != nil && !on.Windows {
					t.Errorf("%q: %v", g.Path, err)
				}
			}
			for _, text := range append(s.Left, s.Lost...) {
				if !visible.Only(text) {
					t.Errorf("the reason %q has invisible characters", text)
				}
			}
		}
	})
}
