package env

import (
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// maxKeyLength is the maximum number of bytes that the key of a module takes from the module's sanitized id.
const maxKeyLength = 64

// Sanitize replaces every character in text by an underscore, except for ASCII letters, digits, "-" and "_".
func Sanitize(text string) string {
	return strings.Map(func(r rune) rune {
		if isPlain(r) {
			return r
		}
		return '_'
	}, text)
}

func isPlain(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_'
}

// ModuleKey returns the file name that stands for a module id, for example the name of an overlay's directory.
func ModuleKey(id string) string {
	short := Sanitize(id)
	if len(short) > maxKeyLength {
		short = short[:maxKeyLength]
	}
	if short == "" {
		short = "module"
	}
	return short + "--" + digest.Hex([]byte(id))[:10]
}

// UntruncatedModuleKey returns the file name that stood for a module id in older versions, which did not truncate the
// id.
func UntruncatedModuleKey(id string) string {
	whole := Sanitize(id)
	if whole == "" {
		whole = "module"
	}
	return whole + "--" + digest.Hex([]byte(id))[:10]
}

// FileKey returns the file name of the copy that a snapshot has of the file at an absolute path.
func FileKey(path string) string { return digest.Hex([]byte(filepath.ToSlash(path)))[:16] }

// RemoteKey returns the name of the directory in the git cache that holds the checkouts of the repository at url.
func RemoteKey(url string) string { return digest.Hex([]byte(url)) }

// NormalizeMachineID derives a machine id from a host name. It returns "" if no character of the host name is valid in
// a machine id.
func NormalizeMachineID(text string) string {
	var id strings.Builder
	last := byte(0)
	for _, r := range strings.ToLower(strings.TrimSpace(text)) {
		switch {
		case isPlain(r):
			last = byte(r)
		case last == '-':
			continue
		default:
			last = '-'
		}
		id.WriteByte(last)
	}
	return strings.Trim(id.String(), "-")
}

// IsPathComponent reports whether text is a single path component on every system: not "", "." or "..", and without
// separators and NUL.
func IsPathComponent(text string) bool {
	return text != "" && text != "." && text != ".." && !strings.ContainsAny(text, "/\\\x00")
}

// ModuleName returns the part of a module id after the first colon, or the sanitized id if the id has no colon. The
// result need not be a valid path component.
func ModuleName(id string) string {
	if _, rest, ok := strings.Cut(id, ":"); ok {
		return rest
	}
	return Sanitize(id)
}
