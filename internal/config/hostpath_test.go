package config_test

import (
	"path/filepath"
	"regexp"
	"strings"
)

// Tests have the paths of Unix systems. On Windows they get a drive where they are passed to the package, and lose it again where
// results are compared.

const isWindows = filepath.Separator == '\\'

// hostPath returns an absolute path of this system.
func hostPath(path string) string {
	if isWindows {
		return `C:` + filepath.FromSlash(path)
	}
	return path
}

var quotedPath = regexp.MustCompile(`(["'])/`)

// onHost replaces the absolute paths of a TOML file, which are in quotes.
func onHost(text string) string {
	if isWindows {
		return quotedPath.ReplaceAllString(text, "${1}C:/")
	}
	return text
}

// plain is the inverse of hostPath, for each path in a text.
func plain(text string) string {
	if isWindows {
		text = strings.NewReplacer(`\\`, "/", `\`, "/").Replace(text)
		return strings.ReplaceAll(text, "C:/", "/")
	}
	return text
}
