package criteria_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/criteria"
)

// counts holds the results of Unchecked, Total, Items and Present for one body.
type counts struct {
	Unchecked, Total int
	Items            []string
	Present          bool
}

func count(body string) counts {
	return counts{criteria.Unchecked(body), criteria.Total(body), criteria.Items(body), criteria.Present(body)}
}

func TestCounts(t *testing.T) {
	const head = "# Task\n\n## Acceptance Criteria\n\n"
	tests := []struct {
		name string
		body string
		want counts
	}{
		{
			"a capital X is neither open nor counted",
			head + "- [ ] a\n- [x] b\n- [ ] c\n- [X] d\n",
			counts{2, 3, []string{"- [ ] a", "- [ ] c"}, true},
		},
		{
			"only ticked boxes leave nothing open",
			head + "- [x] a\n- [X] b\n",
			counts{0, 1, nil, true},
		},
		{
			"a section without boxes has no criteria",
			head + "Nothing yet.\n- a plain item\n",
			counts{},
		},
		{
			"a section inside a fence has no criteria",
			"```\n## Acceptance Criteria\n- [ ] a\n```\n",
			counts{},
		},
		{
			"one box is enough to have criteria",
			head + "- [ ] a\n",
			counts{1, 1, []string{"- [ ] a"}, true},
		},
		{
			"a fenced sample before the real section does not count",
			"```markdown\n## Acceptance Criteria\n- [ ] sample\n- [ ] sample\n```\n\n" + head + "- [ ] real\n- [x] done\n",
			counts{1, 2, []string{"- [ ] real"}, true},
		},
		{
			"nested fences toggle, so an inner sample is in Total, but Unchecked counts the last section",
			"````markdown\n## Acceptance Criteria\n- [ ] outer\n```\n## Acceptance Criteria\n- [ ] inner\n```\n````\n\n" +
				"## Acceptance Criteria\n- [ ] real\n- [x] done\n",
			counts{1, 3, []string{"- [ ] inner", "- [ ] real"}, true},
		},
		{
			"Total counts the first section, Unchecked the last",
			head + "- [x] a\n- [x] b\n\n## Output\n\nDone.\n\n## Acceptance Criteria\n- [ ] c\n",
			counts{1, 2, nil, true},
		},
		{
			"boxes with a capital X are not in Total",
			head + "- [X] a\n- [X] b\n",
			counts{0, 0, nil, true},
		},
		{
			"an unclosed fence above hides the section",
			"```\ncode\n\n## Acceptance Criteria\n- [ ] a\n",
			counts{},
		},
		{
			"open boxes count anywhere in a line, items only at its start",
			head + "- [x] a\n### sub\n* - [ ] b\n> - [ ] c\n  - [ ] d\n- [ ] e - [ ] f\n",
			counts{5, 3, []string{"- [ ] d", "- [ ] e - [ ] f"}, true},
		},
		{
			"a heading with more words counts, one of another level does not",
			"## Acceptance Criteria (draft)\n- [ ] a\n### Acceptance Criteria\n- [ ] b\n",
			counts{2, 2, []string{"- [ ] a", "- [ ] b"}, true},
		},
		{
			"a title in the section does not end it",
			head + "- [ ] a\n# Title\n- [ ] b\n",
			counts{2, 2, []string{"- [ ] a", "- [ ] b"}, true},
		},
		{
			"boxes after the section do not count",
			head + "- [x] a\n## Notes\n- [ ] b\n",
			counts{0, 1, nil, true},
		},
		{
			"a second criteria heading continues the total and restarts the open count",
			head + "- [ ] a\n## Acceptance Criteria\n- [ ] b\n",
			counts{1, 2, []string{"- [ ] a", "- [ ] b"}, true},
		},
		{
			"a fenced box is not counted, but is a criterion for Present",
			head + "```\n- [ ] a\n```\n",
			counts{0, 0, nil, true},
		},
		{
			"a fenced heading ends the section for Present",
			head + "```\n## Section\n```\n- [ ] a\n",
			counts{1, 1, []string{"- [ ] a"}, false},
		},
		{
			"carriage returns do not matter",
			"## Acceptance Criteria\r\n- [ ] a\r\n- [x] b\r\n",
			counts{1, 2, []string{"- [ ] a"}, true},
		},
		{"an empty body has no criteria", "", counts{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, count(test.body)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func ExampleUnchecked() {
	body := "# Add a cache\n\n## Acceptance Criteria\n\n- [x] Hits are counted\n- [ ] Documented\n"
	fmt.Println(criteria.Unchecked(body), "of", criteria.Total(body))
	// Output: 1 of 2
}

func FuzzCounts(f *testing.F) {
	f.Add("## Acceptance Criteria\n- [ ] a\n- [x] b\n```\n- [ ] c\n```\n## Output\n")
	f.Add("````\n```\n## Acceptance Criteria - [ ]\n > - [ ] - [ ]")
	f.Fuzz(func(t *testing.T, body string) {
		got := count(body)
		if all := strings.Count(body, "- [ ]"); got.Unchecked > all || len(got.Items) > all {
			t.Errorf("%d unchecked, %d items, but the body has %d open boxes", got.Unchecked, len(got.Items), all)
		}
		if len(got.Items) > got.Total {
			t.Errorf("%d open items of %d in total", len(got.Items), got.Total)
		}
		if crlf := count(strings.ReplaceAll(strings.ReplaceAll(body, "\r", ""), "\n", "\r\n")); crlf.Unchecked != count(strings.ReplaceAll(body, "\r", "")).Unchecked {
			t.Error("line endings change the count")
		}
	})
}
