// Package version implements versions and constraints. The aam program calls versions semantic, but parses them by
// Python's PEP 440 (https://packaging.python.org/specifications/version-specifiers/): 1.0.0-beta.1 is 1.0.0b1, and
// 1.0.0-1 sorts after 1.0.0. Parse parses versions, ParseConstraint parses constraints, and Best selects a version.
//
// This package does not use github.com/aquasecurity/go-pep440-version. Version v0.0.1 of that module gives the same
// results as aam for all versions in the recordings. But it refuses numbers of more than 64 bits, keeps the separators
// of local versions (1+a-1 is not 1+a.1), has none of aam's constraints, and makes the WebAssembly module 0.2 MB
// larger.
package version

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/redact"
)

// maxText is the maximum length of a version or constraint, in bytes.
const maxText = 256

// Version is a parsed version. Numbers are strings of digits without leading zeros, because PEP 440 does not bound them.
type Version struct {
	epoch   string
	release []string
	pre     string // one of a, b and rc; "" if the version is no pre-release
	preN    string
	post    string // "" if the version is no post-release
	dev     string // "" if the version is no development release
	local   []string
}

var versionPattern = regexp.MustCompile(`^v?` +
	`(?:([0-9]+)!)?` +
	`([0-9]+(?:\.[0-9]+)*)` +
	`(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?([0-9]+)?)?` +
	`(?:-([0-9]+)|[-_.]?(post|rev|r)[-_.]?([0-9]+)?)?` +
	`(?:[-_.]?(dev)[-_.]?([0-9]+)?)?` +
	`(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?$`)

var preNames = map[string]string{"alpha": "a", "a": "a", "beta": "b", "b": "b", "preview": "rc", "pre": "rc", "c": "rc", "rc": "rc"}

// Parse parses a version. It ignores the case of text and surrounding white space.
func Parse(text string) (Version, error) {
	if len(text) > maxText {
		return Version{}, fmt.Errorf("version %.40q… is longer than %d bytes", redact.Text(text), maxText)
	}
	if release, ok := plainRelease(text); ok {
		return Version{epoch: "0", release: release}, nil
	}
	m := versionPattern.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if m == nil {
		return Version{}, fmt.Errorf("%q is not a version: write MAJOR.MINOR.PATCH, such as 1.2.3 or 1.2.3-rc.1", text)
	}
	v := Version{epoch: number(m[1]), pre: preNames[m[3]]}
	for _, part := range strings.Split(m[2], ".") {
		v.release = append(v.release, number(part))
	}
	if v.pre != "" {
		v.preN = number(m[4])
	}
	if m[5] != "" || m[6] != "" {
		v.post = number(m[5] + m[7])
	}
	if m[8] != "" {
		v.dev = number(m[9])
	}
	if m[10] != "" {
		v.local = strings.FieldsFunc(m[10], func(r rune) bool { return strings.ContainsRune("-_.", r) })
		for i, part := range v.local {
			if isNumber(part) {
				v.local[i] = number(part)
			}
		}
	}
	return v, nil
}

// plainRelease parses a version that consists only of numbers and dots; it returns false for any other version. Most
// versions have this form, and the regular expression in Parse is much slower.
func plainRelease(text string) ([]string, bool) {
	release := make([]string, 0, 4)
	for part := range strings.SplitSeq(text, ".") {
		if part == "" || !isNumber(part) {
			return nil, false
		}
		release = append(release, number(part))
	}
	return release, true
}

// number returns digits without leading zeros. An empty string counts as 0.
func number(digits string) string {
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		return "0"
	}
	return digits
}

func isNumber(text string) bool { return strings.Trim(text, "0123456789") == "" }

// String returns the normal form of the version. Equal versions with the same number of release parts have the same
// normal form.
func (v Version) String() string {
	var out strings.Builder
	if v.epoch != "0" {
		out.WriteString(v.epoch + "!")
	}
	out.WriteString(strings.Join(v.release, "."))
	if v.pre != "" {
		out.WriteString(v.pre + v.preN)
	}
	if v.post != "" {
		out.WriteString(".post" + v.post)
	}
	if v.dev != "" {
		out.WriteString(".dev" + v.dev)
	}
	if v.local != nil {
		out.WriteString("+" + strings.Join(v.local, "."))
	}
	return out.String()
}

// Compare returns -1 if a sorts before b, 1 if a sorts after b, and 0 if the two are equal.
func Compare(a, b Version) int {
	return cmp.Or(
		compareNumbers(a.epoch, b.epoch),
		compareReleases(a.release, b.release),
		cmp.Compare(a.stage(), b.stage()),
		compareNumbers(a.preN, b.preN),
		compareNumbers(a.post, b.post), // an absent post-release has no digits, so it sorts before post-release 0
		compareDev(a.dev, b.dev),
		compareLocal(a.local, b.local),
	)
}

// stage returns a key by which the stages of versions are sorted. The order of the stages is: development releases that
// are no pre-release, a, b, rc, final releases and post-releases.
func (v Version) stage() string {
	switch {
	case v.pre != "":
		return v.pre
	case v.post == "" && v.dev != "":
		return ""
	}
	return "~" // "~" sorts after all letters
}

func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// compareReleases compares two releases. It pads the shorter release with zeros.
func compareReleases(a, b []string) int {
	for i := range max(len(a), len(b)) {
		x, y := "0", "0"
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if c := compareNumbers(x, y); c != 0 {
			return c
		}
	}
	return 0
}

// compareDev compares the numbers of two development releases. A development release sorts before other releases.
func compareDev(a, b string) int {
	if (a == "") != (b == "") {
		if a == "" {
			return 1
		}
		return -1
	}
	return compareNumbers(a, b)
}

// compareLocal compares two local versions part by part. An absent part sorts first, then words sort, then numbers.
func compareLocal(a, b []string) int {
	return slices.CompareFunc(a, b, func(x, y string) int {
		switch xn, yn := isNumber(x), isNumber(y); {
		case xn && yn:
			return compareNumbers(x, y)
		case xn:
			return 1
		case yn:
			return -1
		}
		return cmp.Compare(x, y)
	})
}
