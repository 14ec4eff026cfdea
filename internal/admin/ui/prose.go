package ui

import (
	"fmt"
	"html/template"
	"strings"
)

// maxFlag is how long a flag may be that is on one line. A longer one would be wider than a small window.
const maxFlag = 24

// prose returns text as HTML: what is between a pair of backticks is code.
func prose(text any) template.HTML {
	parts := strings.Split(fmt.Sprint(text), "`")
	if len(parts)%2 == 0 { // one has no partner
		parts = []string{strings.Join(parts, "`")}
	}
	var b strings.Builder
	for i, part := range parts {
		if i%2 == 0 {
			b.WriteString(template.HTMLEscapeString(part))
		} else {
			b.WriteString("<code>" + string(flags(part)) + "</code>")
		}
	}
	return template.HTML(b.String())
}

// flags returns a command line as HTML in which no line ends within a flag.
func flags(line string) template.HTML {
	words := strings.Split(template.HTMLEscapeString(line), " ")
	for i, word := range words {
		if strings.HasPrefix(word, "-") && len(word) <= maxFlag {
			words[i] = `<span class="flag">` + word + `</span>`
		}
	}
	return template.HTML(strings.Join(words, " "))
}
