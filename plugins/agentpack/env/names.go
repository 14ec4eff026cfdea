// Package name makes the names that agentpack gives to modules, machines and files on the disk.
package env

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
)

// maxKey is how much of a module's id its key keeps, in characters.
const maxKeyLength = 64

// Sanitize puts an underscore in the place of everything that is not a letter or digit of ASCII, "-" or "_".
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

// Key is the name under which a module has its folders on the disk.
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

// UncutKey is the name that older versions gave: Key, but of the whole id.
func UntruncatedModuleKey(id string) string {
	whole := Sanitize(id)
	if whole == "" {
		whole = "module"
	}
	return whole + "--" + digest(id)[:10]
}

// FileKey is the name under which a copy of the file at an absolute path is kept.
func FileKey(path string) string { return digest(filepath.ToSlash(path))[:16] }

// Remote is the name under which the files of a repository at a URL are kept.
func RemoteKey(url string) string { return digest(url) }

// Machine makes a machine's id of a name for it; "" if nothing of the name can be in an id.
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

// Component tells whether a text can be one name in a path: it is not empty, not "." or "..", and holds no
// separator of any system and no zero byte.
func IsPathComponent(text string) bool {
	return text != "" && text != "." && text != ".." && !strings.ContainsAny(text, "/\\\x00")
}

// Plain is the name of a module without its type: what stands behind the first colon of its id. An id
// without colon is sanitized. It need not be a Component.
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
