package build

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/engine/modinfo"
)

func TestEveryKindHasRemedyWithExistingPage(t *testing.T) {
	page := regexp.MustCompile(`docs/[A-Za-z-]+\.md`)
	for kind, k := range kinds {
		if k.what == "" {
			t.Errorf("%s has no description", kind)
		}
		for _, language := range []modinfo.Language{"", modinfo.Go, modinfo.TinyGo, modinfo.Rust, modinfo.C, modinfo.AssemblyScript} {
			pages := page.FindAllString(kindRemedy(modinfo.Info{Kind: kind, Language: language}), -1)
			if len(pages) == 0 {
				t.Errorf("%s in the language %q: the remedy names no page", kind, language)
			}
			for _, name := range pages {
				if _, err := os.Stat(filepath.Join("..", "..", name)); err != nil {
					t.Error(err)
				}
			}
		}
	}
	for _, kind := range modinfo.Kinds {
		if _, ok := kinds[kind]; !ok {
			t.Errorf("the kind %s is not described", kind)
		}
	}
}
