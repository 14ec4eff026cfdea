package objects

import (
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
)

// MaxPath is the maximum length of a path in a tree or an index, in bytes.
const MaxPath = 4 << 10

// CheckPath refuses a path that no tree can contain.
func CheckPath(name string) error {
	ok := name != "" && len(name) <= MaxPath && !strings.ContainsRune(name, 0)
	for part := range strings.SplitSeq(name, "/") {
		ok = ok && part != "" && part != "." && part != ".."
	}
	if !ok {
		return hosterror.Invalid("path: %q: give a file relative to the repository's top level, with slashes and without \".\" and \"..\"",
			hosterror.Truncate(name))
	}
	return nil
}

// checkNewPath refuses a path that must not be written into a tree. On some file systems, a checkout of such a path would write into .git,
// where hooks and configuration can run programs, or would replace .gitmodules, which makes git fetch and run other repositories.
func checkNewPath(name string) error {
	if err := CheckPath(name); err != nil {
		return err
	}
	if !utf8.ValidString(name) {
		return hosterror.Invalid("path: %q: not UTF-8", hosterror.Truncate(name))
	}
	switch ReservedName(name) {
	case "":
		return nil
	case ".gitmodules":
		return hosterror.Invalid("path: %q: submodules cannot be changed", hosterror.Truncate(name))
	}
	return hosterror.Invalid("path: %q: some file systems resolve it into .git or a parent directory", hosterror.Truncate(name))
}

// ReservedName returns the reserved name (".git", ".gitmodules", "." or "..") that some file system would open instead of a component of
// the path name. It returns an empty string if there is none. Backslashes count as separators, as on Windows.
func ReservedName(name string) string {
	for part := range strings.FieldsFuncSeq(name, func(c rune) bool { return c == '/' || c == '\\' }) {
		switch plain := foldName(part); plain {
		case ".git", ".gitmodules", ".", "..":
			return plain
		}
	}
	return ""
}

// foldName maps a file name to the reserved name to which a case-insensitive or normalizing file system resolves it. NTFS ignores
// trailing spaces and dots, ignores a colon with what follows it (an alternate data stream), and has short names (GIT~1). HFS+ ignores
// some code points. Both ignore case. A name that resolves to no reserved name is returned in a folded form.
func foldName(name string) string {
	name, _, _ = strings.Cut(name, ":")
	name = strings.Map(func(c rune) rune {
		switch {
		case 0x200c <= c && c <= 0x200f, 0x202a <= c && c <= 0x202e, 0x206a <= c && c <= 0x206f, c == 0xfeff:
			return -1
		}
		return c
	}, name)
	trimmed := strings.ToLower(strings.TrimRight(name, " ."))
	if trimmed == "" { // the name consists of dots and spaces only
		return strings.ReplaceAll(name, " ", "")[:min(strings.Count(name, "."), 2)]
	}
	stem, number, short := strings.Cut(trimmed, "~")
	if short && number != "" && strings.Trim(number, "0123456789") == "" {
		switch stem {
		case "git":
			return ".git"
		case "gitmod", "gi7eba":
			return ".gitmodules"
		}
	}
	return trimmed
}
