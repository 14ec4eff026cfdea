package config

import (
	"strings"

	"golang.org/x/mod/semver"
)

// SplitVersion splits the value of version in a plugin's table into the operator of its range and the pinned version. The operator is
// "^", for updates without incompatible changes, "~", for patches, or empty, for none.
func SplitVersion(version string) (operator, pinned string) {
	if version != "" && strings.Contains("^~", version[:1]) {
		return version[:1], version[1:]
	}
	return "", version
}

// Wants reports whether the value wanted of version in a plugin's table wants an update to another version. Of versions 0.x, each x is
// incompatible with the others, as for other package managers. Pre-releases are wanted after a pre-release of the same version only.
func Wants(wanted, version string) bool {
	operator, pinned := SplitVersion(wanted)
	from, to := "v"+pinned, "v"+version
	if semver.Compare(to, from) <= 0 {
		return false
	}
	if semver.Prerelease(to) != "" && (semver.Prerelease(from) == "" || release(from) != release(to)) {
		return false
	}
	switch {
	case operator == "":
		return false
	case operator == "~" || semver.Major(from) == "v0" && semver.MajorMinor(from) != "v0.0":
		return semver.MajorMinor(from) == semver.MajorMinor(to)
	case semver.Major(from) == "v0":
		return release(from) == release(to) // 0.0.x
	}
	return semver.Major(from) == semver.Major(to)
}

// release returns a version without pre-release and build.
func release(version string) string {
	version = semver.Canonical(version)
	return strings.TrimSuffix(version, semver.Prerelease(version))
}
