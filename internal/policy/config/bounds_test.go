package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// TestBoundsOfValues pins each bound of a value: the last accepted value, and the first refused one on the other side of the bound.
func TestBoundsOfValues(t *testing.T) {
	times := strings.Repeat
	list := func(n int) string { // of n distinct names
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("'n%d'", i))
		}
		return "[" + strings.Join(names, ", ") + "]"
	}
	origins := func(n int) string { return strings.ReplaceAll(list(n), "'n", "'https://n") }
	alternatives := func(n int) string { return "{" + times("a,", n-1) + "a}" }
	for name, c := range map[string]struct{ accepted, refused, key string }{
		"the audit's smallest size": {"[audit]\nfile = '/x'\nmax_size = '64KiB'", "[audit]\nfile = '/x'\nmax_size = '65535B'", "audit.max_size"},
		"the audit's largest size":  {"[audit]\nfile = '/x'\nmax_size = '1024GiB'", "[audit]\nfile = '/x'\nmax_size = '1025GiB'", "audit.max_size"},
		"the audit's fewest files":  {"[audit]\nfile = '/x'\nkeep = 1", "[audit]\nfile = '/x'\nkeep = 0", "audit.keep"},
		"the audit's most files":    {"[audit]\nfile = '/x'\nkeep = 1000", "[audit]\nfile = '/x'\nkeep = 1001", "audit.keep"},
		"the server's least memory": {"[server]\nmemory = '64MiB'", "[server]\nmemory = '63MiB'", "server.memory"},
		"the server's most memory":  {"[server]\nmemory = '1048576GiB'", "[server]\nmemory = '1048577GiB'", "server.memory"},
		"the server's title":        {"[server]\nname = 'x'\ntitle = '" + times("x", 200) + "'", "[server]\nname = 'x'\ntitle = '" + times("x", 201) + "'", "server.title"},
		"a credential's name":       {"[credentials." + times("x", 64) + "]\nenv = 'X'", "[credentials." + times("x", 65) + "]\nenv = 'X'", "credentials." + times("x", 65)},
		"a credential's header": {"[credentials.x]\nenv = 'X'\nheader = '" + times("x", 128) + "'", "[credentials.x]\nenv = 'X'\nheader = '" + times("x", 129) + "'",
			"credentials.x.header"},
		"a credential's prefix": {"[credentials.x]\nenv = 'X'\nprefix = '" + times("x", 128) + "'", "[credentials.x]\nenv = 'X'\nprefix = '" + times("x", 129) + "'",
			"credentials.x.prefix"},
		"a control character in a prefix": {"[credentials.x]\nenv = 'X'\nprefix = \" ~\"", "[credentials.x]\nenv = 'X'\nprefix = \"\\u001f\"", "credentials.x.prefix"},
		"a delete character in a prefix":  {"[credentials.x]\nenv = 'X'\nprefix = \" ~\"", "[credentials.x]\nenv = 'X'\nprefix = \"\\u007f\"", "credentials.x.prefix"},
		"a deny pattern":                  {conf("deny = ['" + times("x", 512) + "']"), conf("deny = ['" + times("x", 513) + "']"), "plugins[0].deny[0]"},
		"a deny pattern's alternatives":   {conf("deny = ['" + alternatives(64) + "']"), conf("deny = ['" + alternatives(65) + "']"), "plugins[0].deny[0]"},
		"products of alternatives":        {conf("deny = ['{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}']"), conf("deny = ['{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}']"), "plugins[0].deny[0]"},
		"a server's host":                 {"[http]\nhosts = ['" + times("x", 253) + "']", "[http]\nhosts = ['" + times("x", 254) + "']", "http.hosts[0]"},
		"a server's hosts":                {"[http]\nhosts = " + list(64), "[http]\nhosts = " + list(65), "http.hosts"},
		"a server's origins":              {"[http]\norigins = " + origins(64), "[http]\norigins = " + origins(65), "http.origins"},
		"a server's fewest connections":   {"[http]\nmax_connections = 8", "[http]\nmax_connections = 7", "http.max_connections"},
		"a server's most connections":     {"[http]\nmax_connections = 65536", "[http]\nmax_connections = 65537", "http.max_connections"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, ps := config.Parse("/etc/bulkhead.toml", []byte(onHost(c.accepted))); ps.Err() != nil {
				t.Errorf("refused: %v", ps)
			}
			_, ps := config.Parse("/etc/bulkhead.toml", []byte(onHost(c.refused)))
			if errs := ps.Errors(); len(errs) != 1 || errs[0].Key != c.key {
				t.Errorf("got the problems %v, want one at %s", ps, c.key)
			}
		})
	}
}

// TestCharactersOfNames pins the first and last character of each range that a name may contain, and their neighbours.
func TestCharactersOfNames(t *testing.T) {
	for format, valid := range map[string]string{
		"[credentials.'%s']\nenv = 'X'":             "azAZ09_-",
		"[credentials.x]\nenv = 'X'\nheader = '%s'": "azAZ09!#$%&*+.^_`|~-",
		"[http]\nhosts = ['%s']":                    "azAZ09.-_",
	} {
		for c := ' '; c <= '~'; c++ {
			want := strings.ContainsRune(valid, c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
			if c == '\'' {
				continue // ends the TOML string
			}
			text := strings.Replace(format, "%s", string(c), 1)
			if _, ps := config.Parse("/etc/bulkhead.toml", []byte(text)); (ps.Err() == nil) != want {
				t.Errorf("%q: %v", text, ps)
			}
		}
	}
}

func TestBoundsOfIncludedFiles(t *testing.T) {
	files := tree{"/c/main.toml": "include = ["}
	for i := range 64 {
		files["/c/main.toml"] += fmt.Sprintf("'%d.toml',", i)
		files[fmt.Sprintf("/c/%d.toml", i)] = strings.Repeat("#", 64<<10)
	}
	files["/c/main.toml"] += "]\n"
	if c, problems := files.parse(); len(problems) > 0 || len(c.Files) != 65 {
		t.Errorf("64 files of 4 MiB in total: %q", problems)
	}
	files["/c/0.toml"] += "#"
	if _, problems := files.parse(); len(problems) != 1 || !strings.Contains(problems[0], "more than 4 MiB in total") {
		t.Errorf("a byte more: %q", problems)
	}
}

func TestBoundOfExpandedValues(t *testing.T) {
	for size, want := range map[int]bool{16 << 20: true, 16<<20 + 1: false} {
		c, ps := config.Parse("/etc/bulkhead.toml", []byte(conf("env = { A = '${env:V}${env:V}', B = '${env:W}' }")))
		if ps.Err() != nil {
			t.Fatal(ps)
		}
		ps = config.Expand(c, environ{"V": strings.Repeat("x", 8<<20-8), "W": strings.Repeat("y", size-(16<<20-16))}.lookup)
		if (ps.Err() == nil) != want {
			t.Errorf("%d bytes in total: %.200v", size, ps)
		}
	}
}

func TestDefaultsOfServer(t *testing.T) {
	if config.DefaultMemory != 2147483648 {
		t.Errorf("the workers of all plugins may use %d bytes together, want 2 GiB", config.DefaultMemory)
	}
}

func TestProblemsNameAtMost30Tools(t *testing.T) {
	for count, want := range map[int]string{30: "t29", 31: "t29, and 1 more"} {
		var tools []manifest.Tool
		for i := range count {
			tools = append(tools, manifest.Tool{Name: fmt.Sprintf("t%d", i)})
		}
		_, ps := config.Decide(&manifest.Manifest{Name: "notes", Tools: tools}, config.Plugin{DenyTools: []string{"x"}}, config.Defaults{}, places, config.Flags{})
		if len(ps) != 1 || !strings.HasSuffix(ps[0].What, want) {
			t.Errorf("of %d tools: %v", count, ps)
		}
	}
}
