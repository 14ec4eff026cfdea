package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ShellWord quotes an argument of a command line that people copy into a shell, if necessary. Invisible characters and line feeds are escaped,
// as bash, zsh and POSIX.1-2024 have it, so that the line names what it shows; other shells read a different argument.
func ShellWord(arg string) string {
	switch {
	case !Only(arg):
		return escapedWord(arg)
	case arg != "" && !strings.ContainsFunc(arg, needsQuotes):
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// escapedWord quotes an argument with the octal escapes of bytes, which do not depend on the locale. Quotes and backslashes are escaped too: the word
// contains no quote, so that a shell without $'…' reads a single one, too. NUL would end the argument, so it is replaced.
func escapedWord(arg string) string {
	var b strings.Builder
	b.WriteString("$'")
	for arg != "" {
		r, size := utf8.DecodeRuneInString(arg)
		switch {
		case r == 0:
			b.WriteRune(replacement)
		case r == '\'', r == '\\', !Rune(r), r == utf8.RuneError && size == 1:
			for _, c := range []byte(arg[:size]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		default:
			b.WriteRune(r)
		}
		arg = arg[size:]
	}
	b.WriteByte('\'')
	return b.String()
}

// needsQuotes reports whether a shell may interpret a character.
func needsQuotes(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+@%,:=", r)
}
