package module_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
)

func TestPrefetchedModulesAreThoseOnDisk(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(base, "repo")
	put := func(path, content string) {
		at := filepath.Join(base, path)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(content), 0o644))
	}
	var modules []config.Module
	add := func(path string) {
		modules = append(modules, config.Module{ID: path, Type: config.Prompt, Local: &config.Local{Path: path}})
	}
	for i := range 8 {
		put(fmt.Sprintf("repo/m/%d/a.md", i), fmt.Sprint("a", i))
		put(fmt.Sprintf("repo/m/%d/sub/b.md", i), "")
		add(fmt.Sprintf("m/%d", i))
	}
	put("repo/m/file.md", "file")
	put("repo/m/bad/a\xff.md", "")
	put("repo/n/x/a.md", "x")
	put("outside/secret/a.md", "secret")
	for link, target := range map[string]string{
		"m/linked": "0", "m/out": "../../outside", "m/1/link.md": "a.md", "m/2/out.md": "../../../outside/secret/a.md", "m/3/dir": "sub",
		"m/4/gone.md": "none", "l": "../outside",
	} {
		err = errors.Join(err, os.Symlink(target, filepath.Join(repo, link)))
	}
	if err != nil {
		t.Skipf("this file system lacks links, or has no such names: %v", err)
	}
	for _, path := range []string{"m/file.md", "m/linked", "m/out", "m/bad", "m/none", "n/x", "m/0/a.md/x", "l/secret", "l/a", "l/b", "l/c", ".", "../outside/secret", repo + "/m/0"} {
		add(path)
	}
	for _, withBadName := range []bool{true, false} {
		if !withBadName {
			if err := os.RemoveAll(filepath.Join(repo, "m/bad")); err != nil {
				t.Fatal(err)
			}
		}
		prefetched, plain := module.Sources{Repo: repo}, module.Sources{Repo: repo}
		prefetched.Prefetch(modules)
		for _, m := range modules {
			want, wantWarnings, wantErr := plain.Read(m)
			got, warnings, err := prefetched.Read(m)
			if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) || !slices.Equal(warnings, wantWarnings) {
				t.Errorf("%s: %v, want %v (-want +got)\n%s", m.ID, err, wantErr, diff)
			}
		}
		if withBadName {
			continue
		}
		// Read must return the prefetched content instead of this later content.
		if err := os.WriteFile(filepath.Join(repo, "m/0/a.md"), []byte("later"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, _, err := prefetched.Read(modules[0]); err != nil || string(got["a.md"]) != "a0" {
			t.Errorf("got %q, %v", got["a.md"], err)
		}
	}
}
