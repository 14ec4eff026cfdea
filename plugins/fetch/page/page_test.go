package page

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	const text = "añb€c𝄞"
	for _, c := range []struct {
		start, length int
		want          string
	}{{0, 1, "a"}, {1, 2, "ñb"}, {3, 3, "€c𝄞"}, {5, 1, "𝄞"}, {5, 99, "𝄞"}, {6, 1, ""}, {99, 1, ""}, {0, 6, text}} {
		if got := Cut(text, c.start, c.length); got != c.want {
			t.Errorf("Cut(%d, %d) = %q, want %q", c.start, c.length, got, c.want)
		}
	}
}

// A page that does not fit into the memory of a call, or is nested more deeply than the parser allows, is answered and not a crash.
func TestPagesThatCannotBeSimplified(t *testing.T) {
	for name, html := range map[string]string{
		"nothing": "", "too many tags": strings.Repeat("<p>a", maxTags+1), "nested too deeply": strings.Repeat("<div>", 5000) + "a",
		"only scripts": "<html><script>var a = '<p>text</p>'</script></html>",
	} {
		if got := markdown(html); got != notSimplified {
			t.Errorf("%s: got %.100q, want %s", name, got, notSimplified)
		}
	}
}

// FuzzMarkdown checks that no page makes the libraries crash, or return what is not text.
func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{"<p>a<b>b<i>c</b>d", "<table><tr><td>a<table><td>b", "<ul><li>a<ol><li>b", "<pre>\n<code>a\n```", "<a href='javascript:x'>a</a>", "<svg><p>a<math><mi>", "<!--", "<template><p>a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, html string) {
		if got := markdown(html); got == "" || utf8.ValidString(html) && !utf8.ValidString(got) {
			t.Errorf("%q becomes %q", html, got)
		}
	})
}

// FuzzDecode checks that every body becomes valid UTF-8, whatever its Content-Type says.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("a\xff\xe2\x82"), "text/html; charset=utf-8")
	f.Add([]byte("\x85\x1b$B"), "text/html; charset=iso-2022-jp")
	f.Add([]byte("\xff\xfea"), "text/plain; charset=utf-16")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		if got := decode(body, contentType); !utf8.ValidString(got) {
			t.Errorf("%q as %q becomes %q", body, contentType, got)
		}
	})
}
