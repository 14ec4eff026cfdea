package term

import (
	"cmp"
	"io"
	"os"
	"runtime"
	"strings"
)

// CanShowUnicode reports whether w displays characters outside of ASCII, as far as the locale tells. Windows has no locale in variables:
// there it is a terminal that does so.
func CanShowUnicode(w io.Writer) bool {
	locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	if locale == "" {
		return runtime.GOOS == "windows" && interprets(w)
	}
	encoding := strings.ToLower(locale)
	return strings.Contains(encoding, "utf-8") || strings.Contains(encoding, "utf8")
}
