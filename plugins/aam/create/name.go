package create

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
)

// maxName bounds a name, in code points.
const maxName = 64

// latin has the ASCII letters of the code points from U+00DF to U+017F in lower case. Others keep their upper case, and are
// not looked up.
var latin = strings.Fields(`
	ss a a a a a a ae c e e e e i i i i d n o o o o o - o u u u u y th y
	a a a a a a c c c c c c c c d d d d e e e e e e e e e e g g g g g g g g h h h h i i i i i i i i i i ij ij j j k k k
	l l l l l l l l l l n n n n n n n n n o o o o o o oe oe r r r r r r s s s s s s s s t t t t t t
	u u u u u u u u u u u u w w y y y z z z z z z s`)

const firstLatin = 0xdf

// ascii returns the ASCII letters and digits for a lower-case letter; "" for a combining mark, "-" if there are none.
func ascii(r rune) string {
	switch {
	case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
		return string(r)
	case r >= firstLatin && int(r) < firstLatin+len(latin):
		return latin[r-firstLatin]
	case unicode.Is(unicode.Mn, r): // as in file names that macOS has decomposed
		return ""
	}
	return "-"
}

// Name turns a string into a valid name: lower case, with ASCII letters for accented Latin ones, and hyphens for other
// characters. Of letters of other scripts only, it is made of their code points; otherwise if there are no letters at all.
func Name(text, otherwise string) string {
	var out strings.Builder
	for _, r := range strings.ToLower(text) {
		out.WriteString(ascii(r))
	}
	name := strings.Trim(out.String(), "-")
	if name == "" {
		name = codePoints(text)
	}
	if len(name) > maxName {
		name = strings.TrimRight(name[:maxName], "-")
	}
	if name == "" {
		return otherwise
	}
	return name
}

// codePoints returns the code points of the letters and digits in a string, such as u65e5-u672c.
func codePoints(text string) string {
	var points []string
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			points = append(points, fmt.Sprintf("u%04x", r))
		}
	}
	return strings.Join(points, "-")
}

// rename makes the names of artifacts valid, and unique within a type by appending a number.
func rename(artifacts []manifest.Artifact) {
	taken := map[manifest.Type]map[string]bool{}
	for i := range artifacts {
		a := &artifacts[i]
		if taken[a.Type] == nil {
			taken[a.Type] = map[string]bool{}
		}
		base := Name(a.Name, string(a.Type))
		a.Name = base
		for n := 2; taken[a.Type][a.Name]; n++ {
			suffix := "-" + strconv.Itoa(n)
			a.Name = strings.TrimRight(base[:min(len(base), maxName-len(suffix))], "-") + suffix
		}
		taken[a.Type][a.Name] = true
	}
}
