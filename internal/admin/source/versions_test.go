package source

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
)

func TestVersionsOfDirectory(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"it-1.0.0.tar", "it-1.10.0-rc.1.tar", "it-1.2.0.tar", "it-latest.tar", "it-1.2.tar", "it-x-1.3.0.tar", "it-1.0.0.tar.minisig", "other-9.0.0.tar", "it-.tar"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := Reference{Kind: File, Path: filepath.Join(dir, "it-1.0.0.tar")}
	versions, err := (&Fetcher{}).Versions(t.Context(), r, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range versions {
		got = append(got, v.Version)
		if v.Reference.Path != filepath.Join(dir, "it-"+v.Version+".tar") || v.Reference.Series(v.Version) != r.Series("1.0.0") {
			t.Errorf("%s has the reference %s", v.Version, v.Reference)
		}
	}
	slices.Sort(got)
	hosttest.WantEqual(t, got, []string{"1.0.0", "1.10.0-rc.1", "1.2.0"})

	if _, err := (&Fetcher{}).Versions(t.Context(), r, "3.0.0"); !errors.Is(err, ErrNotListed) || !strings.Contains(err.Error(), "it-1.0.0.tar does not contain the version 3.0.0") {
		t.Errorf("got %v", err)
	}
	web, err := Parse("https://h.example/v1.0.0/it-1.0.0.tar#sha256="+sum, "/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&Fetcher{}).Versions(t.Context(), web, "1.0.0"); !errors.Is(err, ErrNotListed) {
		t.Errorf("got %v", err)
	}
	if got := web.Series("1.0.0"); got != "https://h.example/v*/it-*.tar" {
		t.Errorf("the series is %s", got)
	}
	r.Path = filepath.Join(dir, "none", "it-1.0.0.tar")
	_, err = (&Fetcher{}).Versions(t.Context(), r, "1.0.0")
	hosttest.WantUsage(t, err, "no such file")
}
