package hunks_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/git/hunks"
)

func TestMain(m *testing.M) {
	testenv.UseMemoryUnlessAll()
	os.Exit(m.Run())
}

func diff(before, after string, context int) string {
	var out bytes.Buffer
	hunks.Write(&out, []byte(before), []byte(after), context)
	return out.String()
}

func TestWrite(t *testing.T) {
	cases := []struct {
		rule, before, after string
		context             int
		want                string
	}{
		{"equal contents have no hunk", "a\n", "a\n", 3, ""},
		{"a new file", "", "a\nb\n", 3, "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"a removed file", "a\n", "", 3, "@@ -1 +0,0 @@\n-a\n"},
		{"no line feed at the end", "a", "a\n", 3, "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"no context", "a\nb\nc\n", "a\nx\nc\n", 0, "@@ -2 +2 @@ a\n-b\n+x\n"},
		{"distant changes have hunks of their own", "a\n1\n2\n3\nb\n", "x\n1\n2\n3\ny\n", 1,
			"@@ -1,2 +1,2 @@\n-a\n+x\n 1\n@@ -4,2 +4,2 @@ a\n 3\n-b\n+y\n"},
		{"the heading is the last line that begins with a letter", "func f() {\n\t1\n\t2\n\t3\n\t4\n}\n", "func f() {\n\t1\n\t2\n\t3\n\t5\n}\n", 1,
			"@@ -4,3 +4,3 @@ func f() {\n \t3\n-\t4\n+\t5\n }\n"},
	}
	for _, c := range cases {
		if got := diff(c.before, c.after, c.context); got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.rule, got, c.want)
		}
	}
}

// TestWriteAgreesWithGit compares random edits of texts whose lines repeat with git diff.
func TestWriteAgreesWithGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT CHECKED against git: the git program is not on PATH")
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range testenv.Count(20, 100, 1000) {
		before := text(random, random.IntN(400)+1, random.IntN(60)+2)
		after := edit(random, before)
		if i%10 == 0 { // little in common: the search reaches its bound
			before, after = text(random, 2500, 12), text(random, 2500, 12)
		}
		context := []int{0, 1, 3, 10}[random.IntN(4)]
		dir := t.TempDir()
		for name, content := range map[string]string{"a": before, "b": after} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("git", "diff", "--no-index", fmt.Sprintf("-U%d", context), "a", "b")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
		out, _ := cmd.Output() // the status is 1 if the files differ
		_, want, _ := strings.Cut(string(out), "+++ b/b\n")
		if got := diff(before, after, context); got != want {
			t.Fatalf("case %d, context %d:\n--- got\n%s\n--- want\n%s", i, context, got, want)
		}
	}
}

// text returns lines of a small vocabulary, with indentation and blank lines.
func text(random *rand.Rand, lines, words int) string {
	var b strings.Builder
	for range lines {
		switch random.IntN(8) {
		case 0:
			b.WriteString("\n")
		case 1:
			b.WriteString("}\n")
		default:
			fmt.Fprintf(&b, "%sword%d\n", strings.Repeat([]string{"\t", "  "}[random.IntN(2)], random.IntN(4)), random.IntN(words))
		}
	}
	return b.String()
}

// edit deletes, inserts, copies and replaces some lines.
func edit(random *rand.Rand, before string) string {
	lines := strings.SplitAfter(before, "\n")
	for range random.IntN(12) {
		at := random.IntN(len(lines))
		switch random.IntN(4) {
		case 0:
			lines = append(lines[:at:at], lines[min(at+random.IntN(6), len(lines)):]...)
		case 1:
			lines = append(lines[:at:at], append([]string{"\tinserted\n", "\n"}, lines[at:]...)...)
		case 2:
			end := min(at+random.IntN(10), len(lines))
			lines = append(lines[:end:end], lines[at:]...)
		default:
			lines[at] = "replaced"
			if random.IntN(3) > 0 {
				lines[at] += "\n"
			}
		}
		if len(lines) == 0 {
			lines = []string{""}
		}
	}
	return strings.Join(lines, "")
}

func FuzzWrite(f *testing.F) {
	f.Add("a\nb\n", "b\na\n", 3)
	f.Add("", "x", 0)
	f.Fuzz(func(t *testing.T, before, after string, context int) {
		if context < 0 || context > 100 || len(before)+len(after) > 1<<14 {
			return
		}
		if got := diff(before, after, context); (got == "") != (before == after) {
			t.Errorf("%q", got)
		}
	})
}
