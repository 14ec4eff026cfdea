package archive_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/internal/realdata"
)

// TestRealDialects reads archives that programs other than this plugin have created.
func TestRealDialects(t *testing.T) {
	x := strings.Repeat
	wants := map[string][]string{
		"tar-dialect-1.0.0.aam": {"aam.yaml", "skills/dlouhý-název/SKILL.md",
			"skills/dlouhý-název/segment-" + x("x", 60) + "/segment-" + x("y", 60) + "/poznámky.md"},
		"tar-gnu-1.0.0.aam":          nil,
		"tar-ustar-1.0.0.aam":        {"aam.yaml", "prompts/p.md"},
		"gzip-two-members-1.0.0.aam": {"aam.yaml", "prompts/p.md"},
	}
	for name, want := range wants {
		t.Run(name, func(t *testing.T) {
			got, err := install(t, realdata.Path(t, "constructed", "archives", name), archive.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for path := range got {
				names = append(names, path)
			}
			slices.Sort(names)
			if want == nil { // the archive has a file with a name of more than 100 bytes
				if len(names) != 3 || len(names[2]) <= 100 || !strings.HasSuffix(names[2], ".md") {
					t.Errorf("got %v", names)
				}
				return
			}
			if diff := cmp.Diff(want, names); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestRealHostile checks the archives of the hostile sample registry. Each of these archives has one defect.
func TestRealHostile(t *testing.T) {
	refused := map[string]fault.Code{"no-manifest": fault.ManifestInvalid, "nested-manifest": fault.ManifestInvalid, "bad-manifest": fault.ManifestInvalid, "archive-missing": fault.ArchiveInvalid}
	for _, name := range strings.Fields("path-traversal inner-dotdot absolute-path symlink-outside symlink-absolute symlink-parent-write hardlink-outside fifo-entry plain-tar truncated not-an-archive zero-bytes") {
		refused[name] = fault.ArchiveInvalid
	}
	folders, err := os.ReadDir(realdata.Path(t, "constructed", "registries", "hostile-registry", "packages"))
	if err != nil || len(folders) < 25 {
		t.Fatalf("%d packages, %v", len(folders), err)
	}
	for _, folder := range folders {
		t.Run(folder.Name(), func(t *testing.T) {
			path := realdata.Path(t, "constructed", "registries", "hostile-registry", "packages", folder.Name(), "versions", "1.0.0.aam")
			got, err := install(t, path, archive.DefaultLimits())
			code, bad := refused[folder.Name()]
			switch {
			case bad && fault.From(err) == nil, bad && fault.From(err).Code != code:
				t.Errorf("got %v, want %s", err, code)
			case !bad && (err != nil || got["aam.yaml"] == ""):
				t.Errorf("got %v, %v", got, err)
			}
			if folder.Name() == "duplicate-entry" && got["prompts/p.md"] != "second copy\n" {
				t.Errorf("got %q", got["prompts/p.md"])
			}
			if folder.Name() == "missing-artifact" {
				listing, err := archive.Check(disk, path, "", archive.DefaultLimits())
				if err != nil || fault.From(listing.CheckArtifacts()).Code != fault.ManifestInvalid {
					t.Errorf("a missing artifact is not reported: %v", err)
				}
			}
			if folder.Name() == "inflates-large" {
				limits := archive.DefaultLimits()
				limits.Inflated = 1 << 20
				if _, err := install(t, path, limits); fault.From(err) == nil || fault.From(err).Code != fault.ArchiveInvalid {
					t.Errorf("Check with a smaller limit: got %v", err)
				}
			}
		})
	}
}

// TestRealPackages packs the sources of the packages in a sample registry. It compares the files extracted from the new
// archives with the files extracted from the registry's archives.
func TestRealPackages(t *testing.T) {
	sources, err := filepath.Glob(realdata.Path(t, "constructed", "package-sources", "*"))
	if err != nil || len(sources) < 10 {
		t.Fatalf("%d packages, %v", len(sources), err)
	}
	for _, source := range sources {
		t.Run(filepath.Base(source), func(t *testing.T) {
			packed := packFolder(t, source)
			checked, err := archive.Check(disk, packed, "", archive.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			m := checked.Manifest
			folder := strings.Replace(strings.TrimPrefix(m.Name, "@"), "/", "--", 1)
			want, err := install(t, realdata.Path(t, "constructed", "registries", "team-registry", "packages", folder, "versions", m.Version+".aam"), archive.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			got, err := install(t, packed, archive.DefaultLimits())
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}
