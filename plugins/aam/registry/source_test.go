package registry_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/internal/realdata"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/registry"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/resolve"
)

func TestSource(t *testing.T) {
	root := t.TempDir()
	if _, err := open(root).Publish(project(t, "a", "1.0.0")); err != nil {
		t.Fatal(err)
	}
	source := registry.Source{Registry: open(root), Limits: archive.DefaultLimits()}
	want := []manifest.Dependency{{Name: "other", Constraint: "^1.0.0"}}
	if got, err := source.Dependencies("a", "1.0.0"); err != nil || !cmp.Equal(want, got) {
		t.Errorf("the dependencies in the metadata: got %v, %v", got, err)
	}
	put(t, root, "packages/a/metadata.yaml", "name: a\ndescription: d\nversions: [{version: 1.0.0}]\n")
	if got, err := source.Dependencies("a", "1.0.0"); err != nil || !cmp.Equal(want, got) {
		t.Errorf("the dependencies in the manifest: got %v, %v", got, err)
	}
	put(t, root, "packages/a/metadata.yaml", "name: a\ndescription: d\nversions: [{version: 1.0.0, dependencies: {}}]\n")
	if got, err := source.Dependencies("a", "1.0.0"); err != nil || len(got) != 0 {
		t.Errorf("the empty dependencies in the metadata: got %v, %v", got, err)
	}
	if got, err := source.Releases("none"); err != nil || got != nil {
		t.Errorf("the releases of an unknown package: got %v, %v", got, err)
	}
	gone := registry.Source{Registry: open(filepath.Join(root, "none"))}
	if _, err := gone.Releases("a"); fault.From(err) == nil || fault.From(err).Code != fault.RegistryUnreachable {
		t.Errorf("the releases without a registry: got %v", err)
	}
}

// TestRealResolution resolves package specs with a sample registry.
func TestRealResolution(t *testing.T) {
	source := registry.Source{Registry: open(realdata.Path(t, "constructed", "registries", "team-registry")), Limits: archive.DefaultLimits()}
	tests := []struct{ asked, want string }{
		{"@acme/code-review", "report-templates@1.2.0 @acme/code-review@1.1.0"},
		{"quality-suite", "report-templates: @acme/code-review@1.1.0 requires ^1.0.0 (chose 1.2.0), audit-kit@1.0.0 requires ^2.0.0"},
		{"orphan-needs", "does-not-exist: orphan-needs@1.0.0 requires *: package 'does-not-exist' is in no registry"},
		{"cycle-a", "cycle-b@1.0.0 cycle-a@1.0.0"},
		{"preview-pkg", "preview-pkg@1.0.0-beta.2"},
		{"report-templates@^1.0.0", "report-templates@1.2.0"},
	}
	for _, test := range tests {
		t.Run(test.asked, func(t *testing.T) {
			spec, err := pkgname.ParseSpec(test.asked)
			if err != nil {
				t.Fatal(err)
			}
			result, err := resolve.Resolve(resolve.Request{Specs: []pkgname.Spec{spec}, Sources: []resolve.Source{source}})
			if err == nil {
				var words []string
				for _, group := range result.Groups {
					for _, p := range group.Packages {
						words = append(words, p.Name+"@"+p.Version)
					}
				}
				for _, failure := range result.Failed {
					err = errors.Join(err, failure.Err)
				}
				if err == nil {
					err = errors.New(strings.Join(words, " "))
				}
			}
			if got := err.Error(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
