package workflow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/workflow"
)

func TestVerify(t *testing.T) {
	const head = "## Acceptance Criteria\n"
	tests := []struct {
		name string
		body string
		want workflow.Verification
	}{
		{
			"all ticked", head + "- [x] a\n- [x] b",
			workflow.Verification{Verified: true, Criteria: workflow.Tally{Total: 2, Checked: 2}, Items: []string{}, Notes: "All acceptance criteria met"},
		},
		{
			"some open", head + "- [ ] a\n- [x] b\n- [ ] c\n- [X] d",
			workflow.Verification{Criteria: workflow.Tally{Total: 3, Checked: 1, Unchecked: 2}, Items: []string{"- [ ] a", "- [ ] c"}, Notes: "2 criteria not yet checked"},
		},
		{
			"an open box in a later section", head + "- [x] a\n- [x] b\n## Output\n" + head + "- [ ] c",
			workflow.Verification{Criteria: workflow.Tally{Total: 2, Checked: 1, Unchecked: 1}, Items: []string{}, Notes: "1 criteria not yet checked"},
		},
		{
			"only boxes with a capital X", head + "- [X] a",
			workflow.Verification{Items: []string{}, Notes: "No acceptance criteria found"},
		},
		{
			"more open boxes than the total", head + "- [x] a\n* - [ ] b\n> - [ ] c",
			workflow.Verification{Criteria: workflow.Tally{Total: 1, Unchecked: 2}, Items: []string{}, Notes: "2 criteria not yet checked"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newProject(t, files{"specs/a.md": spec("pending", test.body)})
			got, err := p.Verify("a")
			test.want.ID = "a"
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}
