package catalogue

import (
	"strings"

	"golang.org/x/mod/semver"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Name is a plugin as it is named without a reference: NAME, or NAME@VERSION.
type Name struct {
	Name     string
	Operator string // of the range: "^", "~", or empty for one version
	Version  string // at least, within the range; empty: any version
}

// anyVersion is the range of all versions.
const anyVersion = "*"

// IsName reports whether text names a plugin, and is not a reference.
func IsName(text string) bool {
	name, _, _ := strings.Cut(text, "@")
	return manifest.IsPluginName(name)
}

// ParseName parses NAME, NAME@VERSION, NAME@^VERSION, NAME@~VERSION or NAME@*. A version without patch or minor number stands for all with what
// it has: 1.2 for ~1.2.0, and 1 for ^1.0.0.
func ParseName(text string) (Name, error) {
	name, version, ranged := strings.Cut(text, "@")
	if !manifest.IsPluginName(name) {
		return Name{}, usage.Errorf("%s is not the name of a plugin", tomlfile.Quote(name))
	}
	n := Name{Name: name}
	if !ranged || version == anyVersion {
		return n, nil
	}
	n.Operator, n.Version = config.SplitVersion(version)
	if dots := strings.Count(n.Version, "."); n.Operator == "" && dots < 2 {
		n.Operator = []string{"^", "~"}[dots]
	}
	if v := "v" + n.Version; semver.IsValid(v) && strings.Count(n.Version, ".") < 2 {
		n.Version = strings.TrimPrefix(semver.Canonical(v), "v")
	}
	if !manifest.IsVersion(n.Version) {
		return Name{}, usage.Errorf("%s is not a version: write one such as 1.4.2, or a range, ^1.4 or ~1.4.2", tomlfile.Quote(version))
	}
	return n, nil
}

func (n Name) String() string {
	if n.Version == "" {
		return n.Name
	}
	return n.Name + "@" + n.Operator + n.Version
}

// wants reports whether a version is in the range.
func (n Name) wants(version string) bool {
	return n.Version == "" || version == n.Version || config.Wants(n.Operator+n.Version, version)
}

// appearance returns what is left of a name without the differences that are hard to see. Names are ASCII.
func appearance(name string) string {
	return strings.NewReplacer("rn", "m", "vv", "w", "cl", "d", "0", "o", "1", "l", "i", "l", "5", "s", "2", "z", "-", "").Replace(name)
}
