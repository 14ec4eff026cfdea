package pages

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// hostileNames are names of directories, origins and clients that would run code, or mislead, if they were not escaped.
var hostileNames = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</code></td></table><svg onload=alert(1)>`,
	`</title></svg><script>alert(1)</script>`, `javascript:alert(1)`, `{{.Config}}`, "\u202egnp.exe", "a\u200bb", `<!--`, `]]>`, `&lt;b&gt;`,
}

// unexpected returns what only an unescaped name can have put into a page: elements and attributes that no template has.
func unexpected(body string) string {
	elements := " html head br meta title link body a header p nav ul li main h1 h2 h3 dl dt dd table caption thead tbody tr th td code pre mark span strong section details summary svg path text g rect footer div ol "
	for tokens := html.NewTokenizer(strings.NewReader(body)); ; {
		switch tokens.Next() {
		case html.ErrorToken:
			if err := tokens.Err(); err != io.EOF {
				return err.Error()
			}
			return ""
		case html.CommentToken:
			return "a comment"
		case html.StartTagToken, html.SelfClosingTagToken:
			t := tokens.Token()
			if !strings.Contains(elements, " "+t.Data+" ") {
				return t.String()
			}
			for _, a := range t.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "href" && !strings.HasPrefix(a.Val, "./") && !strings.HasPrefix(a.Val, "#") {
					return t.String()
				}
			}
		}
	}
}

func TestNamesAreEscapedOnEveryPage(t *testing.T) {
	w := admintest.NewGranted(t)
	w.Plugin(t, "wide", "[capabilities]\nfs = [{ path = \"${project}\", access = \"rw\", why = '''<script>alert(1)</script>''' }]\n")
	w.Write(t, "plugins/wide/plugin.toml", strings.NewReplacer(`"Made for a test."`, quoteTOML(hostileNames[0]+hostileNames[4]), `"reads"`, quoteTOML(hostileNames[1])).Replace(w.Read(t, "plugins/wide/plugin.toml")))
	var dirs strings.Builder
	for i, name := range hostileNames {
		if strings.Contains(name, "/") { // components of paths
			name = strings.ReplaceAll(name, "/", "∕")
		}
		dir := "dirs/" + string(rune('a'+i)) + name
		w.Write(t, dir+"/file", "")
		dirs.WriteString("  { path = " + quoteTOML(w.Path(dir)) + ", access = \"rw\" },\n")
	}
	w.Config(t, "[[plugins]]\npath = \"../plugins/wide\"\nfs = [\n"+dirs.String()+"]\n[[plugins]]\npath = "+quoteTOML("../plugins/"+hostileNames[1])+"\n")
	b := open(t, Of(w.Options())...)
	file := url.QueryEscape(w.Path("work/bulkhead.toml"))
	paths := []string{"/grants", "/history", "/doctor", "/plugins", "/line?line=4&file=" + file, "/narrow?plugin=wide&key=read_only"}
	for _, name := range hostileNames {
		q := url.QueryEscape(name)
		paths = append(paths, "/grants?client="+q, "/line?line=1&file="+q, "/line?line="+q+"&file="+file, "/narrow?plugin="+q, "/narrow?plugin=wide&key="+q, "/narrow?plugin=wide&key=fs&what="+q, "/narrow?plugin=wide&key=deny_tools&what=wide_read&client="+q, "/"+url.PathEscape(name))
	}
	for _, path := range paths {
		answer, body := b.get(path)
		if found := unexpected(body); found != "" {
			t.Errorf("%s has %s:\n%s", path, found, body)
		}
		if !visible.Only(strings.ReplaceAll(body, "\n", "")) {
			t.Errorf("%s has invisible characters: %q", path, body)
		}
		if got := answer.Header.Get("Content-Type"); got != "text/html; charset=utf-8" {
			t.Errorf("%s has the type %q", path, got)
		}
	}
	if _, body := b.get("/plugins"); !strings.Contains(body, "<p>&lt;script&gt;alert(1)&lt;/script&gt;&lt;/title&gt;") {
		t.Errorf("the page Plugins lacks the description:\n%s", body)
	}
	_, body := b.get("/grants")
	for _, want := range []string{"&lt;script&gt;alert(1)&lt;∕script&gt;", "dirs/h·gnp.exe"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page Grants lacks %q:\n%s", want, body)
		}
	}
}

// TestGrantsOfClientsHaveTheChangeOfTheirTable has a client whose directories are read-only, and a plugin that nothing makes read-only.
func TestGrantsOfClientsHaveTheChangeOfTheirTable(t *testing.T) {
	w := admintest.NewGranted(t)
	w.Plugin(t, "web", "[capabilities]\nhttp = ['https://a.example']\n")
	w.Write(t, "plugins/web/plugin.toml", strings.ReplaceAll(w.Read(t, "plugins/web/plugin.toml"), `access = "write"`, `access = "read"`))
	w.Write(t, "audit.jsonl", `{"time":"`+time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)+`","kind":"call","id":"1","plugin":"first","principal":"local","method":"tools/call","tool":"first_read","outcome":"ok"}`+"\n")
	w.Config(t, "[audit]\nfile = "+quoteTOML(w.Path("audit.jsonl"))+"\n[[clients]]\nname = \"ci\"\nmatch = { tokens = [\"ci-*\"] }\nfs = [{ path = \"${project}\", access = \"r\" }]\n"+
		"[[plugins]]\npath = \"../plugins/first\"\nfs = [{ path = \"${project}\", access = \"rw\" }]\n[[plugins]]\npath = \"../plugins/web\"\nhttp = [\"https://a.example\"]\n")
	b := open(t, Of(w.Options())...)
	const readOnly, withhold = "but its directories are read-only here", "what=first_write&amp;client=ci"
	for path, want := range map[string][]string{
		"/grants":           {"!" + readOnly, "!client=ci\" aria-label=\"Withhold", "key=deny_tools&amp;what=first_write", "Make first read-only", "!Make web read-only", "since the audit log began, by any client<"},
		"/grants?client=ci": {readOnly, withhold, "since the audit log began, by clients of this table<", "key=read_only&amp;client=ci\"", "Make ci read-only…"},
		"/narrow?plugin=first&key=deny_tools&what=first_write&client=ci": {"add to the table at line 3:", "It reaches <strong>ci</strong> by first.", "makes no difference for (this user)", "is granted for ci<", "without a restart"},
		"/narrow?plugin=first&key=deny_tools&what=first_write":           {"<strong>(this user)</strong> by first; <strong>ci</strong> by first."},
		"/narrow?plugin=first&key=read_only&client=ci":                   {"the client ci without write tools and write access", "add to the table at line 3:", "It reaches <strong>ci</strong> by first."},
		"/narrow?plugin=web&key=read_only":                               {"It reaches no client", "The host does not judge what requests change"},
	} {
		_, body := b.get(path)
		for _, text := range want {
			if text, not := strings.CutPrefix(text, "!"); strings.Contains(body, text) == not {
				t.Errorf("%s: %q, unwanted = %v:\n%s", path, text, not, body)
			}
		}
	}
}

// quoteTOML returns a string of TOML.
func quoteTOML(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\u202e", `\u202e`, "\u200b", `\u200b`).Replace(text) + `"`
}

// withoutTarget returns an id to which a link of the page leads, and that no element of it has; empty if there is none.
func withoutTarget(body string) string {
	for _, link := range strings.Split(body, ` href="#`)[1:] {
		if id, _, _ := strings.Cut(link, `"`); !strings.Contains(body, ` id="`+id+`"`) {
			return id
		}
	}
	return ""
}

func TestPagesAreCompleteWithoutScripts(t *testing.T) {
	w := admintest.NewGranted(t)
	b := open(t, Of(w.Options())...)
	for path, want := range map[string][]string{
		"/grants":  {"first_read", "denied by deny_tools", "/line?file=", "/narrow?plugin=first&amp;key=deny_tools&amp;what=first_read", "<title>first reads and writes ", `<a href="#tools-second" aria-label="second: 1 tool writes: x_second_write">`, `id="tools-second"`, "(this user) may use first: bulkhead.toml:3", "first: 1 tool reads: first_read: bulkhead.toml:3", "<caption>Tools of first</caption>", "of which 1 write", "file"},
		"/plugins": {"<caption>Installed plugins</caption>", "bulkhead remove first", "This page asks no server", "for each plugin that was fetched", ">nothing, until sha256 (bulkhead.toml:", ") is set<", "<code>bulkhead add ", "bulkhead add --repin"},
		"/doctor":  {"<strong>", " warning", "plugin broken", "does not ask for this variable", "remove it"},
		"/narrow?plugin=first&key=deny_tools&what=first_read":                {"deny_tools = [&#34;first_write&#34;, &#34;first_read&#34;]", "replace the key at line 5", "tool", "first_read read", "bulkhead policy first"},
		"/line?line=5&file=" + url.QueryEscape(w.Path("work/bulkhead.toml")): {"   5 ▶ deny_tools = [&#34;first_write&#34;]</mark>"},
	} {
		answer, body := b.get(path)
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s is answered with %s: %s", path, answer.Status, body)
		}
		for _, text := range append(want, `<html lang="en">`, `<a class="skip" href="#main">`, `<main id="main"`) {
			if !strings.Contains(body, text) {
				t.Errorf("%s lacks %q:\n%s", path, text, body)
			}
		}
		if id := withoutTarget(body); id != "" {
			t.Errorf("%s links to #%s, which it does not have:\n%s", path, id, body)
		}
		if strings.Contains(body, "<script") {
			t.Errorf("%s has a script, although it has no events", path)
		}
	}
	if b.start.String() != b.url("/grants") {
		t.Errorf("the start page is %s", b.start)
	}
}
