package config

import "strings"

// SplitVersion splits the value of version in a plugin's table into the operator of its range and the pinned version. The operator is
// "^", for updates without incompatible changes, "~", for patches, or empty, for none.
func SplitVersion(version string) (operator, pinned string) {
	if version != "" && strings.Contains("^~", version[:1]) {
		return version[:1], version[1:]
	}
	return "", version
}
