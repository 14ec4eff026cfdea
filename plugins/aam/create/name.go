package create

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
)

// maxName is the maximum length of a name, in code points.
const maxName = 64

// latin contains the ASCII transliterations of the code points from U+00DF to U+017F. Name looks up only lower-case
// letters, so it never uses the entries of other code points.
var latin = strings.Fields(`
	ss a a a a a a ae c e e e e i i i i d n o o o o o - o u u u u y th y
	a a a a a a c c c c c c c c d d d d e e e e e e e e e e g g g g g g g g h h h h i i i i i i i i i i ij ij j j k k k
	l l l l l l l l l l n n n n n n n n n o o o o o o oe oe r r r r r r s s s s s s s s t t t t t t
	u u u u u u u u u u u u w w y y y z z z z z z s`)

const firstLatin = 0xdf

// ascii returns the ASCII transliteration of a lower-case letter. It returns "" for a combining mark, and "-" for any
// other character without a transliteration.
func ascii(r rune) string {
	switch {
	case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
		return string(r)
	case r >= firstLatin && int(r) < firstLatin+len(latin):
		return latin[r-firstLatin]
	case unicode.Is(unicode.Mn, r): // the file names of macOS contain combining marks, because they are decomposed
		return ""
	}
	return "-"
}

// Name derives a valid name from text. It converts text to lower case, and replaces accented Latin letters by ASCII
// letters and other characters by hyphens. If text has letters only of other scripts, the name consists of the code
// points of these letters. If text has no letters or digits, Name returns the argument "otherwise".
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

// codePoints returns the code points of the letters and digits in text, for example u65e5-u672c.
func codePoints(text string) string {
	var points []string
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			points = append(points, fmt.Sprintf("u%04x", r))
		}
	}
	return strings.Join(points, "-")
}

// rename changes the names of artifacts so that each name is valid, and unique within its type. It makes a name unique
// by appending a number.
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
