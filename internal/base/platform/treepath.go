package platform

import "strings"

// fromWindows converts an absolute path with a drive; anything else is returned unchanged.
func fromWindows(path string) string {
	if !hasDrive(path) {
		return path
	}
	return "/" + strings.ToUpper(path[:1]) + strings.ReplaceAll(path[1:], `\`, "/")
}

// toWindows is the inverse of fromWindows.
func toWindows(path string) string {
	if host := strings.TrimPrefix(path, "/"); hasDrive(host) {
		return strings.ReplaceAll(host, "/", `\`)
	}
	return path
}

// hasDrive reports whether a path begins with a drive and a separator.
func hasDrive(path string) bool {
	return len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/') &&
		('A' <= path[0] && path[0] <= 'Z' || 'a' <= path[0] && path[0] <= 'z')
}

// TreePaths converts several paths as TreePath does.
func TreePaths(paths []string) []string {
	var out []string
	for _, p := range paths {
		out = append(out, TreePath(p))
	}
	return out
}
