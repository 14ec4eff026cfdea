package build

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/modinfo"
)

func TestEveryKindHasRemedyWithExistingPage(t *testing.T) {
	page := regexp.MustCompile(`docs/[A-Za-z-]+\.md`)
	for kind, k := range kinds {
		if k.what == "" {
			t.Errorf("%s has no description", kind)
		}
		for _, language := range []modinfo.Language{"", modinfo.Go, modinfo.TinyGo, modinfo.Rust, modinfo.C, modinfo.AssemblyScript, modinfo.JavaScript} {
			pages := page.FindAllString(kindRemedy(modinfo.Info{Kind: kind, Language: language}), -1)
			if len(pages) == 0 {
				t.Errorf("%s in the language %q: the remedy names no page", kind, language)
			}
			for _, name := range pages {
				if _, err := os.Stat(filepath.Join("..", "..", "..", name)); err != nil {
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

func TestRemedySpeaksToLanguageOfModule(t *testing.T) {
	pages := map[modinfo.Language]string{
		modinfo.Go: "docs/getting-started.md", modinfo.TinyGo: "docs/getting-started.md", modinfo.Rust: "docs/rust.md", modinfo.C: "docs/c.md",
		modinfo.AssemblyScript: "docs/assemblyscript.md", modinfo.JavaScript: "docs/javascript.md",
	}
	for _, kind := range []modinfo.Kind{
		modinfo.Command, modinfo.Library, modinfo.Component, modinfo.WASIX, modinfo.OldWASI, modinfo.WAPC, modinfo.ProxyWasm, modinfo.HTTPWasm,
	} {
		for language, page := range pages {
			remedy := kindRemedy(modinfo.Info{Kind: kind, Language: language})
			for _, other := range pages {
				if strings.Contains(remedy, other) != (other == page) {
					t.Errorf("%s in %s: the remedy should name %s and no page of another language: %s", kind, language, page, remedy)
				}
			}
		}
	}
}
