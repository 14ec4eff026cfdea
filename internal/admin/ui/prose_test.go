package ui

import (
	"strings"
	"testing"
)

func TestProseMarksCodeAndFlagsOnly(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"run `bulkhead a --b c`, or `bulkhead d`":          `run <code>bulkhead a <span class="flag">--b</span> c</code>, or <code>bulkhead d</code>`,
		"`bulkhead a` `bulkhead b`":                        "<code>bulkhead a</code> <code>bulkhead b</code>",
		"one `bulkhead of none":                            "one `bulkhead of none",
		"/a`b is not trusted: run `bulkhead trust '/a`b'`": "/a`b is not trusted: run <code>bulkhead trust &#39;/a`b&#39;</code>",
		"/x/`evil --yes`/y":                                "/x/`evil --yes`/y",
		"`bulkhead <script> -<img>`":                       `<code>bulkhead &lt;script&gt; <span class="flag">-&lt;img&gt;</span></code>`,
		"`bulkhead -" + strings.Repeat("a", 24) + "`":      "<code>bulkhead -" + strings.Repeat("a", 24) + "</code>",
	} {
		if got := string(prose(text)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
