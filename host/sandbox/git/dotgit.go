package git

import (
	"strings"
	"unicode/utf8"
)

// checkNewPath demands a path that may be written into a tree: it must not become part of a .git folder
// on any file system that it is checked out on, nor name submodules, which make git fetch and run things.
func checkNewPath(name string) error {
	if err := checkPath(name); err != nil {
		return err
	}
	if !utf8.ValidString(name) {
		return invalid("path: %q: not UTF-8", shorten(name))
	}
	switch reserved(name) {
	case "":
		return nil
	case ".gitmodules":
		return invalid("path: %q: submodules cannot be changed", shorten(name))
	}
	return invalid("path: %q: on some file system it lies in git's own folder, or leads upward", shorten(name))
}

// reserved gives the name with a meaning of its own that a part of a path is on some file system: ".git",
// ".gitmodules", "." or ".."; empty if there is none. Where a backslash separates, what stands between two
// of them is a part too.
func reserved(name string) string {
	for part := range strings.FieldsFuncSeq(name, func(c rune) bool { return c == '/' || c == '\\' }) {
		switch plain := foldName(part); plain {
		case ".git", ".gitmodules", ".", "..":
			return plain
		}
	}
	return ""
}

// foldName gives the name that some file system takes a name for, as far as it begins with ".git": NTFS
// cuts off a stream behind a colon, spaces and dots at the end, and knows short names; HFS+ passes by
// some characters; both take upper case for lower case.
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
	if trimmed == "" { // dots and spaces
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
