package spec_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
)

func TestEncode(t *testing.T) {
	complete := func(s *spec.Spec) { s.Status, s.CompletedAt = spec.Completed, new("2026-03-01T09:15:00Z") }
	tests := []struct {
		name   string
		file   string
		change func(*spec.Spec)
		want   string
	}{
		{
			"absent keys stay absent, empty ones stay",
			"---\ntype: code\nstatus: pending\nreplay_count: 0\nverification_failures: []\n---\nx",
			func(*spec.Spec) {},
			"---\ntype: code\nstatus: pending\nverification_failures: []\nreplay_count: 0\n---\nx",
		},
		{
			"unknown keys follow the known ones in their order",
			"---\nteam: core\nstatus: pending\njira_key: 'A-1'\npr: 42\namendments:\n  - by: ann\n    note: |\n      two\n      lines\ntype: task\n---\nx",
			complete,
			"---\ntype: task\nstatus: completed\ncompleted_at: 2026-03-01T09:15:00Z\nteam: core\njira_key: 'A-1'\npr: 42\namendments:\n- by: ann\n  note: |\n    two\n    lines\n---\nx",
		},
		{
			"a single string becomes a list of one",
			"---\ndepends_on: some-id\norigin: a\n---\nx",
			func(*spec.Spec) {},
			"---\ntype: code\nstatus: pending\ndepends_on:\n- some-id\norigin:\n- a\n---\nx",
		},
		{
			"strings that look like numbers are quoted, times are not",
			"---\ncommits:\n  - '2149135'\n  - 12e4567\n  - 0012345\n  - abc1234\ncompleted_at: 2026-01-24T15:30:00Z\nlast_verified: '2026-01-24T15:30:00Z'\nprompt: yes\nbranch: \"on\"\n---\nx",
			func(*spec.Spec) {},
			"---\ntype: code\nstatus: pending\nprompt: yes\nbranch: \"on\"\ncommits:\n- '2149135'\n- '12e4567'\n- '0012345'\n- abc1234\ncompleted_at: 2026-01-24T15:30:00Z\nlast_verified: '2026-01-24T15:30:00Z'\n---\nx",
		},
		{
			"blank lines around the body are removed",
			"---\nstatus: pending\n---\n\n# T\n\nText\n",
			func(*spec.Spec) {},
			"---\ntype: code\nstatus: pending\n---\n# T\n\nText",
		},
		{
			"the model is shortened, nulls and comments of known keys are dropped",
			"---\nmodel: claude-opus-4-5-20251101 # big\nprompt: ~\n# note\n---\nx",
			func(*spec.Spec) {},
			"---\ntype: code\nstatus: pending\nmodel: opus\n---\nx",
		},
		{
			"frontmatter is added to a file without it",
			"# T\n",
			complete,
			"---\ntype: code\nstatus: completed\ncompleted_at: 2026-03-01T09:15:00Z\n---\n# T",
		},
		{
			"mappings and comments of unknown keys are preserved",
			"---\napproval: {required: true, status: pending, extra: 1}\nretry_state:\n    attempts: 1\n    last_retry_time: 2\n    next_retry_time: 3\npublic: true\n# why\nteam: {b: 1, a: 2} # who\n---\nx",
			func(*spec.Spec) {},
			"---\ntype: code\nstatus: pending\napproval: {required: true, status: pending, extra: 1}\npublic: true\nretry_state:\n  attempts: 1\n  last_retry_time: 2\n  next_retry_time: 3\n# why\nteam: {b: 1, a: 2} # who\n---\nx",
		},
		{
			"the status replaces its value and no other",
			"---\nstatus: ready\nprompt: |\n  status: ready\n  x\nbranch: !!str 12\nblocked_specs: [~, '', 2026-1-2]\n---\nx",
			func(s *spec.Spec) { s.Status = spec.Paused },
			"---\ntype: code\nstatus: paused\nprompt: |\n  status: ready\n  x\nbranch: '12'\nblocked_specs:\n- '~'\n- ''\n- '2026-1-2'\n---\nx",
		},
		{
			"with anchors, keys keep their order, and values their links",
			"---\nteam: &t {a: &a 5} # who\nprompt: ~\nstatus: pending\nlabels: &l [*a, x]\ncommits: [0012345]\ncontext: *l\n<<: *t\n*a : 1\n---\nx",
			complete,
			"---\nteam: &t {a: &a 5} # who\nprompt: ~\nstatus: completed\nlabels: &l [*a, x]\ncommits:\n- '0012345'\ncontext: *l\n<<: *t\n*a : 1\ntype: code\ncompleted_at: 2026-03-01T09:15:00Z\n---\nx",
		},
		{
			"the anchor of a changed value moves to its first alias",
			"---\nstatus: &s pending\nwas: *s\nand: [*s]\n---\nx",
			complete,
			"---\nstatus: completed\nwas: &s pending\nand: [*s]\ntype: code\ncompleted_at: 2026-03-01T09:15:00Z\n---\nx",
		},
		{
			"an alias never gets another target",
			"---\na: &s 1\nmodel: &s claude-opus-4\nb: *s\ncompleted_at: &s ~\nc: *s\nd: *s\n---\nx",
			complete,
			"---\na: &s 1\nmodel: opus\nb: &s claude-opus-4\ncompleted_at: 2026-03-01T09:15:00Z\nc: &s ~\nd: *s\ntype: code\nstatus: completed\n---\nx",
		},
		{
			"an alias that changes is replaced",
			"---\nstate: &s pending\nstatus: *s\nbranch: *s\n---\nx",
			complete,
			"---\nstate: &s pending\nstatus: completed\nbranch: *s\ntype: code\ncompleted_at: 2026-03-01T09:15:00Z\n---\nx",
		},
		{
			"absent values in flow collections are null",
			"---\nteam: {a: &c z, b: }\nx: [[&b , y], *b]\n---\nx",
			func(*spec.Spec) {},
			"---\nteam: {a: &c z, b: null}\nx: [[&b null, y], *b]\ntype: code\nstatus: pending\n---\nx",
		},
		{
			"absent items of a list stay empty strings",
			"---\nteam: &s 1\nlabels: !mine [*s, &a , x]\nmembers: *a\n---\nx",
			complete,
			"---\nteam: &s 1\nlabels: !mine\n- *s\n- &a\n- x\nmembers: *a\ntype: code\nstatus: completed\ncompleted_at: 2026-03-01T09:15:00Z\n---\nx",
		},
		{
			"absent values of unknown keys are null there, and empty strings in a list",
			"---\nteam: {a: [&a , y], b: []}\nlabels: [*a, x]\n---\nx",
			complete,
			"---\nteam:\n  a:\n  - &a\n  - y\n  b: []\nlabels:\n- *a\n- x\ntype: code\nstatus: completed\ncompleted_at: 2026-03-01T09:15:00Z\n---\nx",
		},
		{
			"an absent value of an unknown key is an empty type",
			"---\nteam: [&a , y]\ntype: *a\n---\nx",
			complete,
			"---\nteam:\n- &a\n- y\ntype: *a\nstatus: completed\ncompleted_at: 2026-03-01T09:15:00Z\n---\nx",
		},
		{
			"tags of known keys are dropped",
			"---\nstatus: !failed\ntype: !!str 5\nbranch: ! ~\nlabels: !mine\nreplay_count: +5\n---\nx",
			func(*spec.Spec) {},
			"---\ntype: '5'\nstatus: failed\nlabels: []\nbranch: '~'\nreplay_count: +5\n---\nx",
		},
		{
			"a removed value does not stay in front matter with aliases, and null does",
			"---\nmodel: &m opus\ncompleted_at: ~\nx: *m\n---\nx",
			func(s *spec.Spec) { s.Model = nil },
			"---\ncompleted_at: ~\nx: &m opus\ntype: code\nstatus: pending\n---\nx",
		},
		{
			"each output is another section",
			"# T\n\nText\n",
			func(s *spec.Spec) { s.AppendOutput("Done."); s.AppendOutput("Again.\n") },
			"---\ntype: code\nstatus: pending\n---\n# T\n\nText\n\n## Output\n\nDone.\n\n## Output\n\nAgain.\n\n",
		},
		{
			"output on an empty body",
			"---\ntype: code\n---\n",
			func(s *spec.Spec) { s.AppendOutput("Done.") },
			"---\ntype: code\nstatus: pending\n---\n\n## Output\n\nDone.\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			document, err := spec.Open(test.file)
			if err != nil {
				t.Fatal(err)
			}
			test.change(&document.Spec)
			got, err := document.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestEncodeRefusesContentThatCannotBeParsed(t *testing.T) {
	document, err := spec.Open("# T")
	if err != nil {
		t.Fatal(err)
	}
	document.AppendOutput(strings.Repeat("x", spec.MaxSize))
	if _, err := document.Encode(); err == nil || !strings.Contains(err.Error(), "larger than 4 MiB") {
		t.Errorf("Encode of a file above the size limit: got the error %v", err)
	}
	document.Body = "\xff"
	if _, err := document.Encode(); err == nil || !strings.Contains(err.Error(), "not valid UTF-8") {
		t.Errorf("Encode of a body that is not valid UTF-8: got the error %v", err)
	}
}

func TestNew(t *testing.T) {
	tests := []struct {
		name        string
		description string
		prompt      *string
		want        string // the expected content of the file, or a part of the expected error
	}{
		{"a description", "Add a cache", nil, "---\ntype: code\nstatus: pending\n---\n\n# Add a cache\n"},
		{"a second line becomes the body", "A\nB", nil, "---\ntype: code\nstatus: pending\n---\n\n# A\nB\n"},
		{"a prompt with YAML syntax is quoted", "A", new("x: y"), "---\ntype: code\nstatus: pending\nprompt: 'x: y'\n---\n\n# A\n"},
		{"an empty prompt is a key without a value", "A", new(""), "---\ntype: code\nstatus: pending\nprompt: \n---\n\n# A\n"},
		{"an empty description", "", nil, "---\ntype: code\nstatus: pending\n---\n\n# \n"},
		{"a prompt of two lines is refused", "A", new("x\nstatus: completed"), "on one line"},
		{"a description above the size limit is refused", strings.Repeat("x", spec.MaxSize), nil, "larger than 4 MiB"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := spec.New(test.description, test.prompt)
			if err != nil {
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("got error %v, want %q", err, test.want)
				}
				return
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func ExampleDocument_Encode() {
	document, _ := spec.Open("---\nstatus: in_progress\nteam: core\n---\n# Rotate keys\n")
	document.Status = spec.Completed
	file, _ := document.Encode()
	fmt.Println(file)
	// Output:
	// ---
	// type: code
	// status: completed
	// team: core
	// ---
	// # Rotate keys
}

func FuzzOpen(f *testing.F) {
	for _, seed := range []string{
		"---\ntype: code\nstatus: pending\ncommits:\n- '2149135'\n---\n\n# T\n",
		"---\nlabels: [a, 'b', \"c\\n\"]\nteam: {a: [1, ~]}\n? x\n: |\n  y\n---\n---\nz",
		"---\napproval: {required: true, status: approved}\n2: !!str 3\n<<: {a: b}\n---\r\n",
		"---\nprompt: >-\n  a\n  b\n\n  c\nmodel: Claude-OPUS\n---",
		"---\nlabels:\n- |+\n  x\n\n- ''\n-\n- ~\n---\nx",
		"\n ---\n...\n---\n",
		"---\nstatus: &s !failed\na: *s\nlabels: &l [*s, &x y]\ncontext: *l\n*x : {<<: *s}\nb: &s [*s]\nc: *s\n---\n",
		"---0000000: &s 0000000\n0: 00\nlabels: !0 [*s, &0]\n---",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		document, err := spec.Open(content)
		if err != nil {
			var failed *spec.LoadError
			if !errors.As(err, &failed) {
				t.Fatalf("%v is not a *LoadError", err)
			}
			return
		}
		first, err := document.Encode()
		if err != nil {
			t.Skip("the parsed document cannot be written")
		}
		second := encodeAgain(t, document.Spec, first)
		// The first Encode may have removed the last alias, and then the second Encode orders the keys by fields. So
		// only the results of the second and the third Encode must be equal.
		if third := encodeAgain(t, document.Spec, second); third != second {
			t.Fatalf("a third Encode differs:\n%s\n%s", second, third)
		}
	})
}

// encodeAgain opens the content of a file, checks that its spec equals want, and encodes the spec again.
func encodeAgain(t *testing.T, want spec.Spec, file string) string {
	t.Helper()
	document, err := spec.Open(file)
	if err != nil {
		t.Fatalf("Encode's result cannot be opened: %v\n%s", err, file)
	}
	if diff := cmp.Diff(want, document.Spec); diff != "" {
		t.Fatalf("Encode changed the spec (-before +after)\n%s", diff)
	}
	file, err = document.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return file
}
