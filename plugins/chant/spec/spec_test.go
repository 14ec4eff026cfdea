package spec_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name string
		file string
		want spec.Spec
	}{
		{
			"type, status and title",
			"---\ntype: code\nstatus: pending\n---\n\n# Fix the bug\n",
			spec.Spec{Type: "code", Status: spec.Pending, Body: "# Fix the bug"},
		},
		{"the default type is code", "---\nstatus: failed\n---\nx", spec.Spec{Type: "code", Status: spec.Failed, Body: "x"}},
		{"a file without frontmatter is all body", "# Note\n\nText\n", spec.Spec{Type: "code", Status: spec.Pending, Body: "# Note\n\nText"}},
		{"an empty file", "", spec.Spec{Type: "code", Status: spec.Pending}},
		{"unterminated frontmatter is body", "---\ntype: code\n", spec.Spec{Type: "code", Status: spec.Pending, Body: "---\ntype: code"}},
		{"empty frontmatter", "---\n---\nx", spec.Spec{Type: "code", Status: spec.Pending, Body: "x"}},
		{"frontmatter of comments only", "---\n# nothing\n---\nx", spec.Spec{Type: "code", Status: spec.Pending, Body: "x"}},
		{"white space around the file", "\n\n---\ntype: task\n---\n\n\nx\n\n", spec.Spec{Type: "task", Status: spec.Pending, Body: "x"}},
		{"a byte order mark hides the frontmatter", "\ufeff---\ntype: task\n---\nx", spec.Spec{Type: "code", Status: spec.Pending, Body: "\ufeff---\ntype: task\n---\nx"}},
		{"carriage returns alone", "---\rtype: task\rlabels: [a]\r---\r# T\r", spec.Spec{Type: "task", Status: spec.Pending, Labels: []string{"a"}, Body: "# T"}},
		{"carriage returns", "---\r\ntype: task\r\nlabels: [a]\r\n---\r\n# T\r\n", spec.Spec{Type: "task", Status: spec.Pending, Labels: []string{"a"}, Body: "# T"}},
		{
			"dashes inside a value do not end the frontmatter",
			"---\nprompt: a---b\nlabels:\n- --- x\n---\nx",
			spec.Spec{Type: "code", Status: spec.Pending, Prompt: new("a---b"), Labels: []string{"--- x"}, Body: "x"},
		},
		{"verification_status may be any string", "---\nverification_status: in_progress\n---\n", spec.Spec{Type: "code", Status: spec.Pending}},
		{"a single dependency is a list of one", "---\ndepends_on: some-id\n---\n", spec.Spec{Type: "code", Status: spec.Pending, DependsOn: []string{"some-id"}}},
		{"a single label is a list of one", "---\nlabels: ui\n---\n", spec.Spec{Type: "code", Status: spec.Pending, Labels: []string{"ui"}}},
		{"an empty list is not an absent list", "---\ndepends_on: []\n---\n", spec.Spec{Type: "code", Status: spec.Pending, DependsOn: []string{}}},
		{"null means absent", "---\ndepends_on: null\nprompt:\nbranch: !!null ~\nmodel: ~\napproval:\npublic: NULL\n---\n", spec.Spec{Type: "code", Status: spec.Pending}},
		{"a type is never null", "---\ntype: ~\n---\n", spec.Spec{Type: "~", Status: spec.Pending}},
		{"an empty type", "---\ntype:\n---\n", spec.Spec{Status: spec.Pending}},
		{"empty strings are not null", "---\nprompt: ''\nlabels: ['', ~,]\n---\n", spec.Spec{Type: "code", Status: spec.Pending, Prompt: new(""), Labels: []string{"", "~"}}},
		{"tags of strings do not count", "---\nprompt: !!str ~\nbranch: !mine 5\nmodel: ! ~\n---\n", spec.Spec{Type: "code", Status: spec.Pending, Prompt: new("~"), Branch: new("5"), Model: new("~")}},
		{"a tag names a status", "---\nstatus: !in_progress\napproval: {required: !!str true, status: !approved ~}\n---\n", spec.Spec{Type: "code", Status: spec.InProgress, Approval: spec.Approval{Required: true, Approved: true}}},
		{"a tag without a value is an empty list", "---\nlabels: !mine\n---\n", spec.Spec{Type: "code", Status: spec.Pending, Labels: []string{}}},
		{"duplicates of unknown keys", "---\npr: 1\npr: 2\napproval: {x: 1, x: 2}\n---\n", spec.Spec{Type: "code", Status: spec.Pending}},
		{
			"aliases",
			"---\nteam: &t [a, &b b]\nlabels: *t\ncontext: [*b, c]\nprompt: &p hint\n*p : 1\nstate: &s completed\nstatus: *s\n&k branch: &n ~\nmodel: *n\n---\n",
			spec.Spec{Type: "code", Status: spec.Completed, Labels: []string{"a", "b"}, Context: []string{"b", "c"}, Prompt: new("hint")},
		},
		{"merge keys merge nothing", "---\nbase: &b {prompt: x}\n<<: *b\n---\n", spec.Spec{Type: "code", Status: spec.Pending}},
		{"an alias to itself, and nested aliases, in unknown keys", "---\na: &a [*a]\n" + bomb() + "---\n", spec.Spec{Type: "code", Status: spec.Pending}},
		{
			"scalars keep their text",
			"---\ncommits: [2149135, 12e4567, 0012345, 0x1f, yes]\ncompleted_at: 2026-01-24T15:30:00Z\nbranch: 1.10\n---\n",
			spec.Spec{
				Type: "code", Status: spec.Pending, Commits: []string{"2149135", "12e4567", "0012345", "0x1f", "yes"},
				CompletedAt: new("2026-01-24T15:30:00Z"), Branch: new("1.10"),
			},
		},
		{
			"a pending approval",
			"---\napproval:\n  required: true\n  status: rejected\n  by: eve\n---\n",
			spec.Spec{Type: "code", Status: spec.Pending, Approval: spec.Approval{Required: true}},
		},
		{
			"a granted approval",
			"---\napproval: {required: true, status: approved, at: 2026-01-01}\n---\n",
			spec.Spec{Type: "code", Status: spec.Pending, Approval: spec.Approval{Required: true, Approved: true}},
		},
		{"a paused spec", "---\nstatus: paused\n---\n", spec.Spec{Type: "code", Status: spec.Paused}},
		{"a complete retry state", "---\nretry_state:\n  attempts: 1\n  last_retry_time: 2\n  next_retry_time: 3\n---\n", spec.Spec{Type: "code", Status: spec.Pending}},
		{"unknown keys", "---\nteam: core\n1: x\npr: {number: 42}\n---\n", spec.Spec{Type: "code", Status: spec.Pending}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := spec.Parse(test.file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestParseShortensModel(t *testing.T) {
	for long, want := range map[string]string{
		"claude-opus-4-5-20251101": "opus", "claude-sonnet-4-20250514": "sonnet",
		"claude-haiku-3-5-20241022": "haiku", "gpt-4": "gpt-4", "OPUS": "opus", "haİku": "haİku",
	} {
		t.Run(long+" is "+want, func(t *testing.T) {
			got, err := spec.Parse("---\nmodel: " + long + "\n---\n")
			if err != nil || *got.Model != want {
				t.Errorf("got %v, %v, want %s", got, err, want)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	const file = "---\ntype: code\nstatus: in_progress\ndepends_on:\n- 2026-01-24-001-abc\nlabels: [core, cache]\n" +
		"target_files:\n- internal/cache/cache.go\n- internal/cache/cache_test.go\nbranch: chant/2026-01-24-002-def\n" +
		"commits:\n- 12ab34c\n- '5551234'\ncompleted_at: 2026-01-24T15:30:00Z\nmodel: claude-opus-4-5-20251101\n" +
		"approval:\n  required: true\n  status: approved\nteam: core\n---\n\n# Add a cache\n\n## Acceptance Criteria\n\n- [x] It is fast\n"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := spec.Parse(file); err != nil {
			b.Fatal(err)
		}
	}
}

// TestCount compares whether checkCount accepts a value with recorded results of the chant CLI.
func TestCount(t *testing.T) {
	tests := map[string]bool{
		"0": true, "5": true, "+5": true, "+0": true, "0x1F": true, "+0x1f": true, "0o17": true, "+0o17": true, "0b11": true,
		"4294967295": true, "!!str 5": true, "!!float 1": true, "!mine 5": true, "! 5": true, "!!int |-\n  5": true, "~": true, "": true,
		"-0": false, "-1": false, "++5": false, "+-5": false, "05": false, "+07": false, "00": false, "0X1F": false, "0O17": false,
		"0x": false, "0o8": false, "0b2": false, "0x_1": false, "0x+1": false, "1_000": false, "1,000": false, "1e3": false, "5.": false,
		"4294967296": false, "0x100000000": false, ".inf": false, "2026-01-02": false, "12:30": false, "true": false,
		"'5'": false, "!!int '5'": false, "!!int >-\n  5": false, "|-\n  5": false, "[5]": false, "!!null": false,
	}
	for value, want := range tests {
		if _, err := spec.Parse("---\nreplay_count: " + value + "\n---\n"); (err == nil) != want {
			t.Errorf("%q: got %v, want accepted: %t", value, err, want)
		}
	}
	for value, want := range map[string]bool{"18446744073709551615": true, "18446744073709551616": false, "~": false} {
		if _, err := spec.Parse("---\nretry_state: {attempts: +1, last_retry_time: 0b1, next_retry_time: " + value + "}\n---\n"); (err == nil) != want {
			t.Errorf("in 64 bits, %q: got %v, want accepted: %t", value, err, want)
		}
	}
}

func TestTitle(t *testing.T) {
	for name, test := range map[string]struct{ body, want string }{
		"the first heading":                   {"intro\n# One\n# Two", "One"},
		"a line in fenced code counts":        {"```sh\n# install\n```\n# Real", "install"},
		"an indented heading":                 {"  # One  ", "One"},
		"other levels do not count":           {"## One\n#Two\n#", ""},
		"a carriage return is not part of it": {"# One\r\nx", "One"},
	} {
		t.Run(name, func(t *testing.T) {
			got := (&spec.Spec{Body: test.body}).Title()
			if test.want == "" && got != nil || test.want != "" && (got == nil || *got != test.want) {
				t.Errorf("got %v, want %q", got, test.want)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		name string
		file string
		line int
		want string // a part of the expected LoadError.Reason
	}{
		{"an unknown status", "---\ntype: code\nstatus: done\n---\n", 3, `unknown status "done"`},
		{"a duplicate key", "---\ndepends_on: [a]\nlabels: [b]\ndepends_on: [c]\n---\n", 4, `duplicate key "depends_on"`},
		{"lines above the front matter count", "\n\n---\nstatus: done\n---\n", 4, "status"},
		{"broken YAML", "---\ntype: code\nlabels: a: b\n---\n", 3, "invalid YAML: mapping values are not allowed"},
		{"an open bracket", "---\nlabels: [a\n---\n", 0, "invalid YAML"},
		{"a tab", "---\n\tstatus: x\n---\n", 2, "invalid YAML"},
		{"a control character", "---\ntype: a\x01\n---\n", 0, "control characters"},
		{"not UTF-8", "---\ntype: code\n---\nfine\n\xff\n", 5, "not valid UTF-8"},
		{"a list instead of a string", "---\nbranch: [a]\n---\n", 2, "branch: must be a string"},
		{"a mapping instead of a list", "---\nlabels: {a: b}\n---\n", 2, "labels: must be a list of strings"},
		{"a list in a list", "---\nlabels: [[a]]\n---\n", 2, "labels: must be a list of strings"},
		{"a list as frontmatter", "---\n- a\n---\n", 2, "not a mapping"},
		{"a string as frontmatter", "---\nhello\n---\n", 2, "not a mapping"},
		{"a list as key", "---\n? [a]\n: b\n---\n", 2, "a key of a mapping is not a scalar"},
		{"a negative count", "---\nreplay_count: -1\n---\n", 2, "replay_count: must be a non-negative integer"},
		{"a fraction as count", "---\nreplay_count: 1.5\n---\n", 2, "replay_count: must be a non-negative integer"},
		{"a quoted boolean", "---\npublic: 'true'\n---\n", 2, "public: must be true or false"},
		{"a boolean of YAML 1.1", "---\npublic: yes\n---\n", 2, "public: must be true or false"},
		{"an unknown approval", "---\napproval:\n  status: maybe\n---\n", 3, "approval: status: must be one of pending, approved, rejected"},
		{"an approval that is not a mapping", "---\napproval: yes\n---\n", 2, "approval: must be a map"},
		{"an incomplete retry state", "---\nretry_state:\n  attempts: 1\n---\n", 3, "retry_state: last_retry_time is missing"},
		{"a status of null", "---\nstatus:\n---\n", 2, `unknown status ""`},
		{"a status with a tag and a value", "---\nstatus: !failed x\n---\n", 2, "has a value after the tag !failed"},
		{"a tag of null without null", "---\nprompt: !!null x\n---\n", 2, "prompt: has the tag !!null, but is not null"},
		{"an approval that requires null", "---\napproval: {required: ~}\n---\n", 2, "approval: required: must be true or false"},
		{"an unknown alias", "---\nlabels: *a\n---\n", 2, "unknown anchor"},
		{"an alias to another type", "---\nteam: &t {a: b}\nlabels: *t\n---\n", 3, "labels: must be a list of strings"},
		{"an alias to itself", "---\nlabels: &a [*a]\n---\n", 2, "labels: must be a list of strings"},
		{"a key that is an alias", "---\na: &a status\n*a : failed\nstatus: failed\n---\n", 4, `duplicate key "status"`},
		{"nested aliases", "---\n" + bomb() + "labels: *a30\n---\n", 0, "labels: must be a list of strings"},
		{"many aliases", "---\na: &a " + strings.Repeat("x", 60<<10) + "\nlabels: [*a" + strings.Repeat(", *a", 10_000) + "]\n---\n", 1, "larger than 256 KiB with its aliases expanded"},
		{"deep nesting", "---\na: " + strings.Repeat("[", 5000) + "\n---\n", 2, "max depth"},
		{"deep nesting by indent", "---\n" + stairs(200) + "---\n", 0, "max depth"},
		{"large frontmatter", "---\na: " + strings.Repeat("x", 200<<10) + "\n---\n", 1, "larger than 128 KiB"},
		{"a duplicate key in approval", "---\napproval:\n  by: a\n  by: b\n---\n", 4, `approval: duplicate key "by"`},
		{"a list with a tag instead of a boolean", "---\npublic: !!bool []\n---\n", 2, "public: must be true or false"},
		{"a second document", "---\na: b\n...\nc: d\n---\n", 4, "a second document begins here; only one is allowed"},
		{"a large file", strings.Repeat("x", 5<<20), 0, "larger than 4 MiB"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			start := time.Now()
			_, err := spec.Parse(test.file)
			var failed *spec.LoadError
			if !errors.As(err, &failed) {
				t.Fatalf("got %v, want a *LoadError", err)
			}
			if !strings.Contains(failed.Reason, test.want) || test.line != 0 && failed.Line != test.line {
				t.Errorf("got line %d: %s\nwant line %d: %s", failed.Line, failed.Reason, test.line, test.want)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("parsing took %s", took)
			}
		})
	}
}

func bomb() string {
	var out strings.Builder
	out.WriteString("a0: &a0 [x, x]\n")
	for i := range 30 {
		fmt.Fprintf(&out, "a%d: &a%d [*a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i)
	}
	return out.String()
}

func stairs(steps int) string {
	var out strings.Builder
	for i := range steps {
		fmt.Fprintf(&out, "%sa:\n", strings.Repeat(" ", i))
	}
	return out.String()
}

func TestLoadErrorNamesFileAndLine(t *testing.T) {
	for want, failed := range map[string]spec.LoadError{
		"specs/a.md:3: odd": {Path: "specs/a.md", Line: 3, Reason: "odd"},
		"specs/a.md: odd":   {Path: "specs/a.md", Reason: "odd"},
		"odd":               {Line: 3, Reason: "odd"},
	} {
		if got := failed.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
