package env

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
)

// maxKeyLength is the number of bytes of a sanitized module id that its key contains.
const maxKeyLength = 64

// Sanitize replaces every character except ASCII letters, digits, "-" and "_" by an underscore.
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

// ModuleKey returns the file name that represents a module id, such as the name of an overlay's directory.
func ModuleKey(id string) string {
	short := Sanitize(id)
	if len(short) > maxKeyLength {
		short = short[:maxKeyLength]
	}
	if short == "" {
		short = "module"
	}
	return short + "--" + digest(id)[:10]
}

// UntruncatedModuleKey returns the key of a module id in older versions, which did not truncate the id.
func UntruncatedModuleKey(id string) string {
	whole := Sanitize(id)
	if whole == "" {
		whole = "module"
	}
	return whole + "--" + digest(id)[:10]
}

// FileKey returns the file name of a snapshot's copy of the file at an absolute path.
func FileKey(path string) string { return digest(filepath.ToSlash(path))[:16] }

// RemoteKey returns the name of the directory in the git cache for a repository.
func RemoteKey(url string) string { return digest(url) }

// NormalizeMachineID derives a machine id from a host name; "" if no character of the host name is valid in an id.
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

// ModuleName returns the part of a module id after the first colon, or the sanitized id if there is no colon. The
// result need not be a valid path component.
func ModuleName(id string) string {
	if _, rest, ok := strings.Cut(id, ":"); ok {
		return rest
	}
	return Sanitize(id)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
