package diff_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/diff"
)

const header = "--- a/F.md\n+++ b/F.md\n"

// outcome returns the class of an error of Apply: "ok", "invalid" or "failed".
func outcome(err error) string {
	var invalid *diff.InvalidError
	var failed *diff.ApplyError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &invalid):
		return "invalid"
	case errors.As(err, &failed):
		return "failed"
	}
	return "another error: " + err.Error()
}

func TestApply(t *testing.T) {
	cases := []struct {
		name, base, patch, want string
		outcome                 string // the expected outcome; "" means "ok"
	}{
		{name: "a line changes", base: "a\nb\nc\n", patch: header + "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", want: "a\nB\nc\n"},
		{name: "a wrong context fails", base: "a\nb\nX\n", patch: header + "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", outcome: "failed"},
		{name: "the nearer of two matches", base: "k\na\nb\nc\n1\n2\na\nb\nc\nk\n", patch: header + "@@ -6,3 +6,3 @@\n a\n-b\n+B\n c\n", want: "k\na\nb\nc\n1\n2\na\nB\nc\nk\n"},
		{name: "the later of two equally near matches", base: "k\na\nb\nc\nx\na\nb\nc\nk\n", patch: header + "@@ -4,3 +4,3 @@\n a\n-b\n+B\n c\n", want: "k\na\nb\nc\nx\na\nB\nc\nk\n"},
		{name: "hunks are searched from the new line numbers", base: "k\na\nb\nc\n1\n2\na\nb\nc\nk\n", patch: header + "@@ -2,3 +7,3 @@\n a\n-b\n+B\n c\n", want: "k\na\nb\nc\n1\n2\na\nB\nc\nk\n"},
		{name: "a hunk does not match lines of an earlier hunk", base: "0\na\nb\n", patch: header + "@@ -2,2 +2,2 @@\n a\n-b\n+a\n@@ -9,1 +9,1 @@\n-a\n+z\n", outcome: "failed"},
		{name: "lines added without context are appended", base: "a\nb\n", patch: header + "@@ -2,0 +3 @@\n+c\n", want: "a\nb\nc\n"},
		{name: "lines added to an empty file", base: "", patch: header + "@@ -0,0 +1,2 @@\n+a\n+b\n", want: "a\nb\n"},
		{name: "line 0 is valid only in an empty file", base: "x\n", patch: header + "@@ -0,0 +1 @@\n+a\n", outcome: "failed"},
		{name: "all lines removed", base: "a\n", patch: header + "@@ -1 +0,0 @@\n-a\n", want: ""},
		{name: "a final newline is added", base: "a", patch: header + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", want: "a\n"},
		{name: "a final newline is removed", base: "a\n", patch: header + "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", want: "a"},
		{name: "a localized no-newline marker", base: "a\n", patch: header + "@@ -1 +1 @@\n-a\n+a\n\\ Kein Zeilenumbruch am Dateiende.\n", want: "a"},
		{name: "a patch of CRLF lines for a file of CRLF lines", base: "a\r\nb\r\n", patch: header + "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n", want: "a\r\nB\r\n"},
		{name: "git's own header", base: "a\n", patch: "diff --git a/F.md b/F.md\nindex 7898192..da0f8ed 100644\n" + header + "@@ -1 +1 @@ heading\n-a\n+A\n", want: "A\n"},
		{name: "an e-mail around the patch", base: "a\n", patch: "From: x\n\nHello\n---\n" + header + "@@ -1 +1 @@\n-a\n+A\n-- \n2.39\n", want: "A\n"},
		{name: "a truncated last line", base: "a\n", patch: header + "@@ -1 +1 @@\n-a\n+A", outcome: "failed"},
		{name: "a hunk that changes nothing", base: "a\n", patch: header + "@@ -1 +1 @@\n a\n", outcome: "failed"},
		{name: "a hunk after a line outside of hunks", base: "a\nb\n", patch: header + "@@ -1,2 +1,2 @@\n-a\n+A\n b\nx\n@@ -2 +2 @@\n-b\n+B\n", outcome: "failed"},
		{name: "a hunk before the names", base: "a\n", patch: "@@ -1 +1 @@\n" + header + "@@ -1 +1 @@\n-a\n+A\n", outcome: "failed"},
		{name: "a deleted file in git's header", base: "a\n", patch: "diff --git a/F.md b/F.md\ndeleted file mode 100644\n" + header + "@@ -1 +0,0 @@\n-a\n", outcome: "failed"},
		{name: "a second file in git's header", base: "a\n", patch: header + "@@ -1 +1 @@\n-a\n+A\ndiff --git a/G b/G\nold mode 100644\nnew mode 100755\n", outcome: "failed"},
		{name: "a patch that deletes the file", base: "a\n", patch: "--- a/F.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", outcome: "invalid"},
		{name: "a patch that is not UTF-8", base: "a\n", patch: header + "@@ -1 +1 @@\n-a\n+\xff\n", outcome: "invalid"},
		{name: "a target that is not UTF-8", base: "\xff\n", patch: header + "@@ -1 +1 @@\n-a\n+A\n", outcome: "invalid"},
		{name: "no name", base: "a\n", patch: "@@ -1 +1 @@\n-a\n+A\n", outcome: "invalid"},
		{name: "an empty patch", base: "a\n", patch: "", outcome: "invalid"},
		{name: "counts above the range of int", base: "a\n", patch: header + "@@ -1,99999999999999999999999 +1,99999999999999999999999 @@\n-a\n+A\n", outcome: "failed"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			got, err := diff.Apply("F.md", []byte(test.base), []byte(test.patch))
			if want := cmp.Or(test.outcome, "ok"); outcome(err) != want {
				t.Fatalf("%s (%v), want %s", outcome(err), err, want)
			}
			if string(got) != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestApplyBoundsWork(t *testing.T) {
	base := strings.Repeat("\n", 60_000)
	text := header + "@@ -2,20002 +30000,20002 @@\n" + strings.Repeat("\n", 20_000) + "-x\n+y\n \n"
	if _, err := diff.Apply("F.md", []byte(base), []byte(text)); outcome(err) != "failed" {
		t.Errorf("got %v", err)
	}
}

// TestApplySampleCases applies every recorded pair of a file and a patch. It is skipped without the sample data.
func TestApplySampleCases(t *testing.T) {
	file := testenv.Fixture(t, "agentpack", "composed", "patch_cases.json")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Case, Base, Patch string
		PatchName         string `json:"patch_name"`
		Result, Error     *string
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatal("the sample data has no cases")
	}
	codes := map[string]string{"E_CONFIG_INVALID": "invalid", "E_OVERLAY_PATCH_APPLY_FAILED": "failed"}
	for _, test := range cases {
		t.Run("31 "+test.Case, func(t *testing.T) {
			if test.Case == "target_missing" {
				t.Skip("a missing target is reported before the patch is applied")
			}
			got, err := diff.Apply(strings.TrimSuffix(test.PatchName, ".patch"), []byte(test.Base), []byte(test.Patch))
			switch {
			case test.Error != nil && outcome(err) != codes[*test.Error]:
				t.Errorf("%s (%v), want %s", outcome(err), err, *test.Error)
			case test.Result != nil && (err != nil || string(got) != *test.Result):
				t.Errorf("got %q, %v, want %q", got, err, *test.Result)
			}
		})
	}
}
