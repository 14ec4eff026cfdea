// Package pkgname validates the names of packages and artifacts (Check, CheckArtifact) and parses package specs
// (ParseSpec).
package pkgname

import (
	"strings"
	"unicode"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/redact"
)

const (
	nameRule  = `^[a-z0-9][a-z0-9-]{0,63}$`
	scopeRule = `^[a-z0-9][a-z0-9_-]{0,63}$`
)

const maxName = 64 // the maximum length of a name or scope, in bytes

// isName reports whether text matches nameRule or, if scope is set, scopeRule.
func isName(text string, scope bool) bool {
	if text == "" || len(text) > maxName || text[0] == '-' || text[0] == '_' {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && (c != '_' || !scope) {
			return false
		}
	}
	return true
}

// Check returns an error with the code InvalidArgument unless name is a package name of the form name or @scope/name.
func Check(name string) error {
	if shown := redact.Text(name); shown != name {
		return invalid("package name %.100q contains a password", shown) // the messages of other errors would quote parts of the password
	}
	bare := name
	if scoped, ok := strings.CutPrefix(name, "@"); ok {
		scope, rest, ok := strings.Cut(scoped, "/")
		switch {
		case !ok:
			return invalid("package name %.100q has a scope without a name: write @scope/name", name)
		case !isName(scope, true):
			return invalid("package name %.100q: scope %.100q must match %s", name, scope, scopeRule)
		}
		bare = rest
	}
	if isName(bare, false) {
		return nil
	}
	err := invalid("package name %.100q: name %.100q must match %s", name, bare, nameRule)
	if better := Suggest(name); better != "" {
		return err.WithHint("Did you mean " + better + "?")
	}
	return err
}

// CheckArtifact returns an error with the code InvalidArgument unless name is a valid artifact name. Artifact names
// have no scope.
func CheckArtifact(name string) error {
	if isName(name, false) {
		return nil
	}
	return invalid("artifact name %.100q must match %s", name, nameRule)
}

// Suggest returns name with hyphens instead of underscores, or "" if the result is not a valid name.
func Suggest(name string) string {
	scope, bare := "", name
	if at := strings.LastIndexByte(name, '/'); at >= 0 {
		scope, bare = name[:at+1], name[at+1:]
	}
	better := strings.ReplaceAll(bare, "_", "-")
	if better == bare || !isName(better, false) {
		return ""
	}
	if scope != "" && !(strings.HasPrefix(scope, "@") && isName(scope[1:len(scope)-1], true)) {
		return ""
	}
	return scope + better
}

// Folder returns the name of the directory for a package. This is scope--name, or the name itself if the package has no
// scope. Different packages can have the same directory name, for example @a/b and a--b.
func Folder(name string) string {
	scoped, ok := strings.CutPrefix(name, "@")
	if !ok {
		return name
	}
	return strings.Replace(scoped, "/", "--", 1)
}

// Spec is a request for a package with a version constraint.
type Spec struct {
	Name       string
	Constraint string // not validated; "" allows any version
}

// ParseSpec parses text of the form name, name@constraint, @scope/name or @scope/name@constraint. Errors have the code
// InvalidArgument.
func ParseSpec(text string) (Spec, error) {
	if text == "" {
		return Spec{}, invalid("package spec must not be empty")
	}
	if shown := redact.Text(text); shown != text {
		return Spec{}, invalid("package spec %.100q is a URL: only packages in registries can be installed", shown)
	}
	if isPath(text) {
		return Spec{}, invalid("package spec %.100q is a path: only packages in registries can be installed", text).
			WithHint("Publish the directory with aam_publish to a registry, which can be a local directory (aam_registry_add), or install it with the command line: aam install " + shown(text))
	}
	spec := Spec{Name: text}
	if at := strings.LastIndexByte(text, '@'); at > 0 {
		spec = Spec{Name: text[:at], Constraint: text[at+1:]}
		if spec.Constraint == "" {
			return Spec{}, invalid("package spec %.100q has no version after the last '@'", text)
		}
	}
	if err := Check(spec.Name); err != nil {
		return Spec{}, err
	}
	return spec, nil
}

// isPath reports whether text is the path of a directory or an archive, which only the command line of aam can install.
func isPath(text string) bool {
	return strings.HasPrefix(text, ".") || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || strings.HasSuffix(text, ".aam") ||
		strings.Contains(text, `\`) || strings.Contains(text, "/") && !strings.Contains(text, "@")
}

// shown returns path, truncated if it is too long for a hint.
func shown(path string) string {
	const most = 100
	if len(path) > most || strings.ContainsFunc(path, unicode.IsControl) {
		return "PATH"
	}
	return path
}

func invalid(format string, args ...any) *fault.Error {
	return fault.New(fault.InvalidArgument, format, args...)
}
