package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPreview(t *testing.T) {
	type data struct {
		Plan planData
		Diff *struct {
			planData
			Files []struct {
				Target, Root, Path string
				BeforeHash         *string `json:"before_hash"`
				AfterHash          *string `json:"after_hash"`
				Unified            *string
			}
		}
	}
	t.Run("without and with diffs", func(t *testing.T) {
		w := newWorld(t, base())
		var plain, diffs data
		if w.OK("preview", ``, &plain); plain.Diff != nil || len(plain.Plan.Changes) != 2 {
			t.Errorf("got %+v", plain)
		}
		w.OK("preview", `{"diff":true}`, &diffs)
		file := diffs.Diff.Files[0]
		if file.Root != w.Codex || file.Path != "AGENTS.md" || file.BeforeHash != nil || !strings.HasPrefix(*file.AfterHash, "sha256:9fd1eb37") ||
			*file.Unified != "--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -0,0 +1 @@\n+# Base instructions\n" {
			t.Errorf("got %+v, %s", file, *file.Unified)
		}
		if diff := cmp.Diff(plain.Plan.Changes, diffs.Diff.Changes); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a new file without content has an empty diff", func(t *testing.T) {
		w := newWorld(t, map[string]string{repoFile: standard("prompt:p"), "home/.agentpack/repo/modules/prompt/p/p.md": ""})
		var got data
		w.OK("preview", `{"diff":true}`, &got)
		if file := got.Diff.Files[0]; file.Unified == nil || *file.Unified != "" {
			t.Errorf("got %+v", file)
		}
	})
	for name, content := range map[string]string{"content that is not UTF-8": "\xff\xfe", "a diff that is too large": strings.Repeat("line\n", 25_000)} {
		t.Run("76 "+name, func(t *testing.T) {
			w := newWorld(t, base())
			w.Write(promptOut, content)
			var got data
			warned(t, w.OK("preview", `{"diff":true}`, &got), w.path(promptOut))
			if got.Diff.Files[1].Unified != nil || got.Diff.Files[0].Unified == nil {
				t.Errorf("got %+v", got.Diff.Files)
			}
		})
	}
}

// TestPreviewBoundsAllDiffs has diffs that exceed the bound of one preview together, but not each on its own.
func TestPreviewBoundsAllDiffs(t *testing.T) {
	w := newWorld(t, map[string]string{repoFile: config("codex: {mode: files, scope: user}", "skill:s"), modules("skill/s/SKILL.md"): skillText})
	const files = 60
	for i := range files {
		w.Write(modules(fmt.Sprintf("skill/s/%02d.md", i)), strings.Repeat("0123456789abcdef\n", 5_000))
	}
	var data struct {
		Plan struct{ Summary struct{ Create int } }
		Diff struct{ Files []struct{ Unified *string } }
	}
	got := w.OK("preview", `{"diff":true}`, &data)
	size, omitted := 0, 0
	for _, file := range data.Diff.Files {
		if file.Unified == nil {
			omitted++
		} else {
			size += len(*file.Unified)
		}
	}
	if len(data.Diff.Files) != files+1 || data.Plan.Summary.Create != files+1 || size > 4<<20 || size < 3<<20 || omitted == 0 {
		t.Errorf("%d files, %d bytes of diffs, %d without", len(data.Diff.Files), size, omitted)
	}
	warned(t, got, fmt.Sprintf("no diff of the last %d files", omitted))
}
