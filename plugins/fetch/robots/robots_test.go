package robots_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/fetch/robots"
)

const agent = "ModelContextProtocol/1.0 (Autonomous; +https://github.com/modelcontextprotocol/servers)"

// TestAllowed has rules that the recorded answers of the plugin's own tests do not cover.
func TestAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		content, path string
		want          bool
	}{
		"no rules":                             {"", "/a", true},
		"a group without rules":                {"user-agent: *", "/a", true},
		"a named group precedes all":           {"user-agent: *\ndisallow: /\nuser-agent: modelcontextprotocol\ndisallow: /b", "/a", true},
		"a named group precedes earlier ones":  {"user-agent: modelcontextprotocol\ndisallow: /a\nuser-agent: *\nallow: /", "/a", false},
		"an empty name":                        {"user-agent:\ndisallow: /", "/a", true},
		"only wildcards as name":               {"user-agent: **\ndisallow: /", "/a", true},
		"the fragment is no part":              {"user-agent: *\ndisallow: /a$", "/a#b", false},
		"the end after a wildcard":             {"user-agent: *\ndisallow: /a*$", "/ab", false},
		"an overlapping end":                   {"user-agent: *\ndisallow: /aba*ba$", "/aba", true},
		"a dollar within":                      {"user-agent: *\ndisallow: /a$b", "/a$b", false},
		"a star in the path":                   {"user-agent: *\ndisallow: /a%2Ab", "/a*b", false},
		"a path without slash matches nothing": {"user-agent: *\ndisallow: a", "/a", true},
		"an escape that is none":               {"user-agent: *\ndisallow: /%zz", "/a", true},
		"a byte order mark":                    {"\ufeffuser-agent: *\ndisallow: /a", "/a", true},
	} {
		u, err := url.Parse("http://site.example" + c.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := robots.Allowed(c.content, agent, u); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}

// FuzzAllowed checks that a rule for the path itself decides, whatever is before it in other groups.
func FuzzAllowed(f *testing.F) {
	f.Add("user-agent: *\ndisallow: /a*b$\nallow: /", "/a/b")
	f.Add("user-agent: Model\nuser-agent: x\ndisallow: /%zz", "/é?q=*")
	f.Fuzz(func(t *testing.T, content, path string) {
		u, err := url.Parse("http://site.example/" + strings.TrimLeft(path, "/"))
		if err != nil || u.EscapedPath() == "/robots.txt" {
			return
		}
		robots.Allowed(content, agent, u)
		const own = "\nuser-agent: modelcontextprotocol/1.0 (autonomous; +https://github.com/modelcontextprotocol/servers)\n"
		if robots.Allowed(own+"disallow: /\n", agent, u) {
			t.Errorf("%s is allowed, although everything is disallowed", u)
		}
	})
}
