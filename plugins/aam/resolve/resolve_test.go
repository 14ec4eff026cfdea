package resolve_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/registry"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/resolve"
)

// source is a Source whose releases are in lines. Each line has the form "name version dependency=constraint…".
type source struct{ name, lines string }

func (s source) Name() string { return s.name }

func (s source) Releases(name string) ([]registry.Release, error) {
	var releases []registry.Release
	for line := range strings.Lines(s.lines) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			releases = append(releases, registry.Release{Version: fields[1], Checksum: "sum of " + fields[1]})
		}
	}
	if name == "unreadable" {
		return nil, errors.New("cannot be read")
	}
	return releases, nil
}

func (s source) Dependencies(name, version string) ([]manifest.Dependency, error) {
	for line := range strings.Lines(s.lines) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name && fields[1] == version {
			return dependencies(fields[2:]), nil
		}
	}
	return nil, fmt.Errorf("%s %s was not offered", name, version)
}

func dependencies(words []string) []manifest.Dependency {
	var list []manifest.Dependency
	for _, word := range words {
		name, constraint, _ := strings.Cut(word, "=")
		list = append(list, manifest.Dependency{Name: name, Constraint: constraint})
	}
	return list
}

const team = `
	review 1.0.0 templates=^1.0.0
	review 1.1.0 templates=^1.0.0
	templates 1.0.0
	templates 1.2.0
	templates 2.0.0
	audit 1.0.0 templates=^2.0.0
	suite 1.0.0 review=^1.0.0 audit=^1.0.0
	orphan 1.0.0 none=*
	circle-a 1.0.0 circle-b=^1.0.0
	circle-b 1.0.0 circle-a=^1.0.0
	preview 0.9.0
	preview 1.0.0-beta.2
	deep 1.0.0 review=* orphan=*
	odd 1.0.0 templates=latest
	odd 0.1.0 BAD=*
	self 1.0.0 self=1.0.0
	needs 1.0.0 templates=>=1.1.0
`

const other = `
	review 9.0.0
	only-here 1.0.0 templates=~1.0.0
`

func TestResolve(t *testing.T) {
	tests := []struct {
		name, asked string
		installed   string // the installed packages, in the form of source.lines
		force       bool
		want        string // the expected groups as "spec: package@version…" and failures as "spec! substring of the error", or "conflict: …"
		total       int
	}{
		{"dependencies are installed first", "review", "", false, "review: templates@1.2.0 review@1.1.0", 2},
		{"a requested version", "review@1.0.0", "", false, "review@1.0.0: templates@1.2.0 review@1.0.0", 2},
		{"failures are independent", "templates@^1.0.0 nope audit@latest", "", false, "templates@^1.0.0: templates@1.2.0\nnope! in no registry\naudit@latest! is not a version", 1},
		{"a conflict fails all specs", "suite", "", false, "conflict: templates: review@1.1.0 requires ^1.0.0 (chose 1.2.0), audit@1.0.0 requires ^2.0.0", 0},
		{"a missing dependency", "orphan", "", false, "orphan! none: orphan@1.0.0 requires *: package 'none' is in no registry", 0},
		{"a circle", "circle-a", "", false, "circle-a: circle-b@1.0.0 circle-a@1.0.0", 2},
		{"a version with a hyphen is not normalized", "preview", "", false, "preview: preview@1.0.0-beta.2", 1},
		{"a conflict between requested specs", "templates@^1.0.0 audit", "", false, "conflict: templates: the request for templates@^1.0.0 (chose 1.2.0), audit@1.0.0 requires ^2.0.0", 0},
		{"a shared dependency is in both groups and counted once", "review circle-a templates@~1.2.0", "", false, "review: templates@1.2.0 review@1.1.0\ncircle-a: circle-b@1.0.0 circle-a@1.0.0\ntemplates@~1.2.0: templates@1.2.0", 4},
		{"requested specs are decided before dependencies", "review templates", "", false, "conflict: templates: the request for templates@* (chose 2.0.0), review@1.1.0 requires ^1.0.0", 0},
		{"a failure of an indirect dependency fails the requested spec", "deep preview", "", false, "preview: preview@1.0.0-beta.2\ndeep! none: orphan@1.0.0 requires *", 1},
		{"the first registry has precedence, even with a lower version", "review", "", false, "review: templates@1.2.0 review@1.1.0", 2},
		{"a registry without a matching version is skipped", "review@9.0.0", "", false, "review@9.0.0: review@9.0.0", 1},
		{"a package of the second registry with a dependency from the first", "only-here", "", false, "only-here: templates@1.0.0 only-here@1.0.0", 2},
		{"no matching version", "templates@3.0.0", "", false, "templates@3.0.0! no registry has a version of package 'templates' that satisfies 3.0.0", 0},
		{"a package with an invalid constraint", "odd", "", false, "odd! templates: odd@1.0.0 requires latest: constraint", 0},
		{"a dependency with an invalid name", "odd@0.1.0", "", false, "odd@0.1.0! BAD: odd@0.1.0 requires *: package name", 0},
		{"one package in two versions", "odd odd@0.1.0", "", false, "conflict: odd: the request for odd@* (chose 1.0.0), the request for odd@0.1.0", 0},
		{"a package that depends on itself", "self", "", false, "self: self@1.0.0", 1},
		{"a registry that cannot be read", "unreadable templates", "", false, "templates: templates@2.0.0\nunreadable! cannot be read", 1},
		{"an installed package requires another version", "audit", "mine 1.0.0 templates=^1.0.0\ntemplates 1.2.0", false, "conflict: templates: audit@1.0.0 requires ^2.0.0 (chose 2.0.0), the installed mine@1.0.0 requires ^1.0.0", 0},
		{"an installed package requires another version, by force", "audit", "mine 1.0.0 templates=^1.0.0\ntemplates 1.2.0", true, "audit: templates@2.0.0 audit@1.0.0", 2},
		{"an allowed installed version is kept", "review", "mine 1.0.0 templates=^1.0.0\ntemplates 1.0.0", false, "review: templates@1.0.0 review@1.1.0", 2},
		{"an allowed installed version is kept with force", "review", "templates 1.0.0", true, "review: templates@1.0.0 review@1.1.0", 2},
		{"an installed version that is in no registry", "review", "templates 1.1.1 preview=0.9.0", false, "review: preview@0.9.0 templates@1.1.1 review@1.1.0", 3},
		{"an installed version that is not allowed is replaced", "review", "templates 2.0.0", false, "review: templates@1.2.0 review@1.1.0", 2},
		{"an installed version that another requester does not allow is replaced", "review needs", "templates 1.0.0", false, "review: templates@1.2.0 review@1.1.0\nneeds: templates@1.2.0 needs@1.0.0", 3},
		{"a requested package is replaced", "templates@^1.0.0", "templates 1.0.0", true, "templates@^1.0.0: templates@1.2.0", 1},
		{"an already violated dependency is ignored", "review", "mine 1.0.0 templates=^2.0.0\ntemplates 1.2.0", false, "review: templates@1.2.0 review@1.1.0", 2},
		{"the dependency of a replaced package is ignored", "audit review@9.0.0", "review 1.0.0 templates=^1.0.0\ntemplates 1.2.0", false, "audit: templates@2.0.0 audit@1.0.0\nreview@9.0.0: review@9.0.0", 3},
		{"nothing", "", "", false, "", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			request := resolve.Request{Sources: []resolve.Source{source{"team", team}, source{"other", other}}, Force: test.force}
			for word := range strings.FieldsSeq(test.asked) {
				spec, err := pkgname.ParseSpec(word)
				if err != nil {
					t.Fatal(err)
				}
				request.Specs = append(request.Specs, spec)
			}
			for line := range strings.Lines(test.installed) {
				fields := strings.Fields(line)
				request.Installed = append(request.Installed, lockfile.Entry{Name: fields[0], Version: fields[1], Dependencies: dependencies(fields[2:])})
			}
			result, err := resolve.Resolve(request)
			if want, ok := strings.CutPrefix(test.want, "conflict: "); ok {
				if failure := fault.From(err); failure == nil || failure.Code != fault.DependencyConflict || failure.Message != want {
					t.Errorf("got %+v, %v, want %s", result, err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			check(t, test.want, result)
			if result.Total != test.total {
				t.Errorf("%d packages in all, want %d", result.Total, test.total)
			}
		})
	}
}

func check(t *testing.T, want string, result *resolve.Resolution) {
	t.Helper()
	var groups, failures []string
	for line := range strings.SplitSeq(want, "\n") {
		if strings.Contains(line, "! ") {
			failures = append(failures, line)
		} else if line != "" {
			groups = append(groups, line)
		}
	}
	var got []string
	for _, group := range result.Groups {
		line := written(group.Spec) + ":"
		for _, p := range group.Packages {
			line += " " + p.Name + "@" + p.Version
			if !p.Kept && (p.Checksum != "sum of "+p.Version || p.Registry == "") {
				t.Errorf("got %+v", p)
			}
		}
		got = append(got, line)
	}
	if diff := cmp.Diff(groups, got); diff != "" {
		t.Errorf("groups (-want +got)\n%s", diff)
	}
	if len(result.Failed) != len(failures) {
		t.Errorf("failed: got %v, want %v", result.Failed, failures)
	}
	for _, failure := range result.Failed {
		if !slices.ContainsFunc(failures, func(line string) bool {
			spec, text, _ := strings.Cut(line, "! ")
			return spec == written(failure.Spec) && strings.Contains(failure.Err.Error(), text)
		}) {
			t.Errorf("failed: got %s: %v, want %v", written(failure.Spec), failure.Err, failures)
		}
	}
}

func written(spec pkgname.Spec) string {
	if spec.Constraint == "" {
		return spec.Name
	}
	return spec.Name + "@" + spec.Constraint
}

// TestResolveIsBounded checks that an endless chain of dependencies causes an error.
func TestResolveIsBounded(t *testing.T) {
	result, err := resolve.Resolve(resolve.Request{Specs: []pkgname.Spec{{Name: "n0"}}, Sources: []resolve.Source{endless{}}})
	if err != nil || len(result.Failed) != 1 || !strings.Contains(result.Failed[0].Err.Error(), "more than 1000 packages") {
		t.Errorf("got %+v, %v", result, err)
	}
}

// endless is a Source that has every package. Each package depends on another package.
type endless struct{}

func (endless) Name() string { return "endless" }

func (endless) Releases(string) ([]registry.Release, error) {
	return []registry.Release{{Version: "1.0.0"}}, nil
}

func (endless) Dependencies(name, _ string) ([]manifest.Dependency, error) {
	var n int
	fmt.Sscanf(name, "n%d", &n)
	return []manifest.Dependency{{Name: fmt.Sprintf("n%d", n+1), Constraint: "*"}}, nil
}
