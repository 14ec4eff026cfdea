package config_test

import (
	"path/filepath"
	"regexp"
	"strings"
)

// The test cases use paths of Unix systems. On Windows, hostPath adds a drive to a path before the package gets it, and plain removes
// that drive before results are compared.

const isWindows = filepath.Separator == '\\'

// hostPath converts a Unix path to an absolute path of this system.
func hostPath(path string) string {
	if isWindows {
		return `C:` + filepath.FromSlash(path)
	}
	return path
}

var quotedPath = regexp.MustCompile(`(["'])/`)

// onHost applies hostPath to the absolute paths of a TOML file. They are in quotes.
func onHost(text string) string {
	if isWindows {
		return quotedPath.ReplaceAllString(text, "${1}C:/")
	}
	return text
}

// plain is the inverse of hostPath. It converts every path in the given string.
func plain(text string) string {
	if isWindows {
		text = strings.NewReplacer(`\\`, "/", `\`, "/").Replace(text)
		return strings.ReplaceAll(text, "C:/", "/")
	}
	return text
}
