package ui

import (
	"strings"
	"testing"
)

func TestProseMarksCodeAndFlagsOnly(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"run `a --b c`, or `d`":              `run <code>a <span class="flag">--b</span> c</code>, or <code>d</code>`,
		"one ` of none":                      "one ` of none",
		"`<b>` & `a` ` --c":                  "`&lt;b&gt;` &amp; `a` ` --c",
		"`<script> -<img>`":                  `<code>&lt;script&gt; <span class="flag">-&lt;img&gt;</span></code>`,
		"`-" + strings.Repeat("a", 24):       "`-" + strings.Repeat("a", 24),
		"`-" + strings.Repeat("a", 24) + "`": "<code>-" + strings.Repeat("a", 24) + "</code>",
	} {
		if got := string(prose(text)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
