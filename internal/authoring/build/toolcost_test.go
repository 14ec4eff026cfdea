package build

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

func TestWarnOfCost(t *testing.T) {
	property := func(i, words int) string {
		return fmt.Sprintf(`"p%d":{"type":"string","description":"%s"}`, i, strings.Repeat("word ", words))
	}
	titled := func(n int) string {
		all := []string{}
		for i := range n {
			all = append(all, fmt.Sprintf(`"p%d":{"type":"string","title":"P%d"}`, i, i))
		}
		return strings.Join(all, ",")
	}
	for name, c := range map[string]struct {
		description, properties string
		want                    string
	}{
		"small":               {"Does it.", property(1, 10), ""},
		"long description":    {strings.Repeat("word ", 300), property(1, 10), "more than 150 for a tool and 50 for each of its 1 parameters"},
		"many parameters":     {"Does it.", strings.Join([]string{property(1, 30), property(2, 30), property(3, 30), property(4, 30)}, ","), ""},
		"long parameter":      {"Does it.", property(1, 300), "more than 150"},
		"nested parameters":   {strings.Repeat("word ", 150), `"o":{"type":"array","items":{"type":"object","properties":{` + property(1, 20) + `}}}`, ""},
		"few titles":          {"Does it.", titled(3), ""},
		"many titles":         {"Does it.", titled(8), "on title and $schema inside of its schema"},
		"property title":      {"Does it.", `"title":{"type":"string"}`, ""},
		"title in an example": {"Does it.", `"p":{"default":{"title":"` + strings.Repeat("word ", 50) + `"}}`, ""},
	} {
		m := &manifest.Manifest{Tools: []manifest.Tool{{Name: "it", Description: c.description, Line: 7,
			Input: []byte(`{"type":"object","properties":{` + c.properties + `}}`)}}}
		got := (&source{m: m, file: "plugin.toml"}).warnOfCost()
		switch {
		case c.want == "" && len(got) > 0, c.want != "" && (len(got) != 1 || got[0].Line != 7 || !got[0].Warning || !strings.Contains(got[0].What, c.want)):
			t.Errorf("%s: got %v, want %q", name, got, c.want)
		}
	}
}

func TestBundledPluginsAreNotLargeForWhatTheySay(t *testing.T) {
	files, err := filepath.Glob("../../../plugins/*/" + manifest.FileName)
	if err != nil || len(files) < 10 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, file := range files {
		s, ps := load(filepath.Dir(file))
		if s == nil {
			t.Fatal(ps)
		}
		for _, p := range s.warnOfCost() {
			t.Error(p)
		}
	}
}
