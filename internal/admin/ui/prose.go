package ui

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"
)

// maxFlag is how long a flag may be that is on one line. A longer one would be wider than a small window.
const maxFlag = 24

// commandPattern matches a command of the program between backticks. Names of files and of clients may have backticks, too.
var commandPattern = regexp.MustCompile("`(bulkhead .*?)`([ .,;:)]|$)")

// prose returns text as HTML in which the commands are code.
func prose(text any) template.HTML {
	plain, end := fmt.Sprint(text), 0
	var b strings.Builder
	for _, at := range commandPattern.FindAllStringSubmatchIndex(plain, -1) {
		b.WriteString(template.HTMLEscapeString(plain[end:at[0]]) + "<code>" + string(flags(plain[at[2]:at[3]])) + "</code>")
		end = at[4]
	}
	return template.HTML(b.String() + template.HTMLEscapeString(plain[end:]))
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
