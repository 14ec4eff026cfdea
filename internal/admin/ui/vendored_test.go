package ui

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// vendored has the files of other projects, with the SHA-256 of each in its npm release.
var vendored = map[string]map[string]string{
	"htmx.org 2.0.11":    {"htmx.org/htmx.min.js": "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717", "htmx.org/LICENSE": "d3d2456f76414f2456104660ebd65aff1c04cd7966b942bdabd63f3cdb316a38"},
	"htmx-ext-sse 2.2.4": {"htmx-ext-sse/sse.min.js": "98a46496de0c3605fbffdce9167ba427bdd9553184f83f149c261891a92c0136", "htmx-ext-sse/LICENSE": "a17d224ce9afdc21ec9491b76a2f5d036d19aa641ac4f85ca29c21f9f7e54fdf"},
}

func TestVendoredFilesAreThoseOfTheReleases(t *testing.T) {
	known := 0
	for release, files := range vendored {
		for file, want := range files {
			content, err := os.ReadFile(filepath.Join("vendored", filepath.FromSlash(file)))
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != want {
				t.Errorf("%s has the SHA-256 %s, but that of %s is %s", file, got, release, want)
			}
			known++
		}
	}
	all, err := filepath.Glob("vendored/*/*")
	if err != nil || len(all) != known {
		t.Errorf("vendored has the files %q, want %d (%v)", all, known, err)
	}
}
