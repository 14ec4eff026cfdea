// Package version has versions and constraints on them. Versions are those of Python's PEP 440
// (https://packaging.python.org/specifications/version-specifiers/), as which the system reads what it
// calls semantic versions: 1.0.0-beta.1 is 1.0.0b1, and 1.0.0-1 comes after 1.0.0. Parse and ParseConstraint
// read them, Best picks one.
package version

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/redact"
)

// maxText bounds the length of a version or constraint, in bytes.
const maxText = 256

// Version is a version. Numbers are kept as their digits, without leading zeros, since nothing bounds them.
type Version struct {
	epoch   string
	release []string
	pre     string // a, b or rc; "" for none
	preN    string
	post    string // "" for none
	dev     string // "" for none
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

// Parse reads a version. Blanks around it and the case of letters do not matter.
func Parse(text string) (Version, error) {
	if len(text) > maxText {
		return Version{}, fmt.Errorf("version %.40q… is longer than %d bytes", redact.Text(text), maxText)
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

// number returns digits without leading zeros; none at all are 0.
func number(digits string) string {
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		return "0"
	}
	return digits
}

func isNumber(text string) bool { return strings.Trim(text, "0123456789") == "" }

// String returns the normal form, which is the same for texts that mean the same.
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

// Compare returns -1 if a comes before b, 1 if it comes after, and 0 if they mean the same.
func Compare(a, b Version) int {
	return cmp.Or(
		compareNumbers(a.epoch, b.epoch),
		compareReleases(a.release, b.release),
		cmp.Compare(a.stage(), b.stage()),
		compareNumbers(a.preN, b.preN),
		compareNumbers(a.post, b.post), // none has no digits, which is less than 0 has
		compareDev(a.dev, b.dev),
		compareLocal(a.local, b.local),
	)
}

// stage puts in order what follows the release: only dev, then a, b, rc, then neither.
func (v Version) stage() string {
	switch {
	case v.pre != "":
		return v.pre
	case v.post == "" && v.dev != "":
		return ""
	}
	return "~" // behind all letters
}

func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// compareReleases takes numbers that are not there for zeros.
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

// compareDev puts what is under development before what is done.
func compareDev(a, b string) int {
	if (a == "") != (b == "") {
		if a == "" {
			return 1
		}
		return -1
	}
	return compareNumbers(a, b)
}

// compareLocal puts words before numbers, and none before any.
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
