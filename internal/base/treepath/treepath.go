// Package treepath converts paths of the host to paths in the file tree of a module. They are equal except on Windows, where
// C:\Users\x is /C:/Users/x in the file tree, as in a file URI.
package treepath

import "strings"

// fromWindows converts an absolute path with a drive; anything else is returned unchanged.
func fromWindows(path string) string {
	if !hasDrive(path) {
		return path
	}
	return "/" + strings.ToUpper(path[:1]) + strings.ReplaceAll(path[1:], `\`, "/")
}

// hasDrive reports whether a path begins with a drive and a separator.
func hasDrive(path string) bool {
	return len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/') &&
		('A' <= path[0] && path[0] <= 'Z' || 'a' <= path[0] && path[0] <= 'z')
}

// OfAll converts several paths as Of does.
func OfAll(paths []string) []string {
	var out []string
	for _, p := range paths {
		out = append(out, Of(p))
	}
	return out
}
