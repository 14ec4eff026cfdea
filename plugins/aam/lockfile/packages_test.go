package lockfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
)

// TestLoadPackagesEqualsLoad checks that LoadPackages returns the same packages and errors as Load, without
// dependencies and file checksums.
func TestLoadPackagesEqualsLoad(t *testing.T) {
	tests := []struct{ name, text, link string }{
		{"a lock file", sample, ""},
		{"no packages", "packages: {}\n", ""},
		{"empty", "", ""},
		{"not YAML", "packages: [", ""},
		{"invalid", "packages: {BAD: {version: 1.0}}", ""},
		{"a large one", sample + strings.Repeat("# x\n", 1<<18), ""},
		{"a link inside of the project", sample, "project/.aam/aam-lock.yaml > ../lock"},
		{"a link out of the project", sample, "project/.aam/aam-lock.yaml > ../../lock"},
		{"the directory is a link inside of the project", sample, "project/.aam > dir"},
		{"the directory is a link out of the project", sample, "project/.aam > ../dir"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			project := filepath.Join(root, "project")
			path := lockfile.Path(project)
			from, to, isLink := strings.Cut(test.link, " > ")
			if isLink {
				link := filepath.Join(root, from)
				target := filepath.Join(filepath.Dir(link), to)
				if path = target; link != lockfile.Path(project) {
					path = filepath.Join(target, filepath.Base(lockfile.Path(project)))
				}
				if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(to, link)); err != nil {
					t.Fatal(err)
				}
			}
			testenv.WriteFile(t, path, test.text)
			want, wantErr := lockfile.Load(files.Disk{}, project)
			got, err := lockfile.LoadPackages(files.Disk{}, project)
			if wantErr != nil {
				if diff := cmp.Diff(fault.From(wantErr).Text(), fault.From(err).Text()); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, lock := range []*lockfile.Lock{want, got} {
				for i := range lock.Packages {
					lock.Packages[i].Dependencies, lock.Packages[i].FileChecksums = nil, nil
				}
			}
			if diff := cmp.Diff(want.Packages, got.Packages); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
