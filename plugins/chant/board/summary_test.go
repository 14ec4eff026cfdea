package board

import (
	"reflect"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
)

func TestSummaryHasWhatListsNeedOfASpec(t *testing.T) {
	for name, content := range map[string]string{
		"no keys":       "# Title\n",
		"empty":         "",
		"empty lists":   "---\ndepends_on: []\nlabels: []\n---\n",
		"null lists":    "---\ndepends_on: null\nlabels:\n---\n",
		"all keys":      "---\ntype: group\nstatus: in_progress\ndepends_on: [a, b]\nlabels: [x]\nbranch: feature/x\napproval:\n  required: true\n  status: approved\n---\n\n# T\n\n## Acceptance Criteria\n- [ ] x\n",
		"empty strings": "---\nbranch: ''\n---\n\n# \n",
	} {
		t.Run(name, func(t *testing.T) {
			want, err := spec.Parse(content)
			if err != nil {
				t.Fatal(err)
			}
			got := summaries.Compute([]byte(content))
			if got.failed != nil {
				t.Fatal(got.failed)
			}
			listed := &Entry{Spec: &got.shown, summary: &got}
			read := &Entry{Spec: want}
			if !reflect.DeepEqual(listed.Title(), read.Title()) || listed.hasCriteria() != read.hasCriteria() {
				t.Errorf("got %+v", got)
			}
			want.Body, want.TargetFiles, want.Context, want.Prompt, want.Commits, want.CompletedAt, want.Model = "", nil, nil, nil, nil, nil, nil
			if !reflect.DeepEqual(listed.Spec, want) {
				t.Errorf("got %+v, want %+v", listed.Spec, want)
			}
		})
	}
}

func TestSummaryKeepsTheReasonOfAnInvalidFile(t *testing.T) {
	for _, content := range []string{"---\nstatus: done\n---\n", "\xff", "---\na: [\n---\n"} {
		_, want := spec.Parse(content)
		if got := summaries.Compute([]byte(content)).failed; !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, want %v", content, got, want)
		}
	}
}
