package visible

import (
	"strings"
	"unicode"
)

// ShellWord quotes an argument of a command line that people copy into a shell, if necessary. Invisible characters are replaced, so that
// the line is not the right one then, rather than a different one than it seems.
func ShellWord(arg string) string {
	if arg != "" && !strings.ContainsFunc(arg, needsQuotes) {
		return arg
	}
	return "'" + strings.ReplaceAll(Text(arg), "'", `'\''`) + "'"
}

// needsQuotes reports whether a shell may interpret a character.
func needsQuotes(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+@%,:=", r)
}
