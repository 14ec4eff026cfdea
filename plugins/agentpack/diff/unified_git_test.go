package diff_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/diff"
)

// pairCount returns the number of random pairs of texts that the tests compare with git. It is the value of the
// environment variable AGENTPACK_DIFF_PAIRS, or 500.
func pairCount(t *testing.T) int {
	t.Helper()
	text := os.Getenv("AGENTPACK_DIFF_PAIRS")
	if text == "" {
		return testenv.Count(100, 500, 500)
	}
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 {
		t.Fatalf("AGENTPACK_DIFF_PAIRS is %q, not a number of pairs", text)
	}
	return count
}

// randomPair returns a random text and an edited version of that text. Some texts have few distinct lines, so that
// lines repeat. Some texts have CRLF, no final newline, NUL bytes, or no lines at all.
func randomPair(seed uint64) (before, after string) {
	r := rand.New(rand.NewPCG(seed, 1))
	words := [][]string{
		{"a", "b", "", "a b"}, strings.Split("abcdefghijklmnopqrstuvwxyz", ""), {"a", "a\r", "\r", "é", "\u2028", "-- a", "++ b", "@@ -1 +1 @@", `\ No newline at end of file`}, {"\x00", "a\x00", "b"},
	}[[]int{0, 0, 0, 1, 1, 1, 1, 2, 2, 3}[r.IntN(10)]]
	end := "\n"
	if r.IntN(6) == 0 {
		end = "\r\n"
	}
	line := func() string { return words[r.IntN(len(words))] + end }
	changes := 2 + r.IntN(30)
	for range []int{0, 1, r.IntN(8), r.IntN(60), r.IntN(300)}[r.IntN(5)] {
		old := line()
		before += old
		switch r.IntN(changes) {
		case 0:
			for range r.IntN(4) {
				after += line()
			}
		case 1:
			after += old
			for range r.IntN(4) {
				after += line()
			}
		default:
			after += old
		}
	}
	for range r.IntN(3) / 2 {
		after += line()
	}
	if r.IntN(4) == 0 {
		before = strings.TrimSuffix(before, "\n")
	}
	if r.IntN(4) == 0 {
		after = strings.TrimSuffix(after, "\n")
	}
	return before, after
}

// git runs a git command in the directory dir, which is outside of any repository, and returns the output.
func git(t *testing.T, dir string, arguments ...string) string {
	t.Helper()
	command := exec.Command("git", append([]string{"-c", "core.autocrlf=false", "-c", "core.quotePath=false"}, arguments...)...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C")
	output, err := command.CombinedOutput()
	if err != nil && (arguments[0] != "diff" || command.ProcessState.ExitCode() != 1) { // git diff exits with 1 if the files differ
		t.Fatalf("git %s: %v\n%.2000s", strings.Join(arguments, " "), err, output)
	}
	return string(output)
}

// TestUnifiedAgreesWithGit checks that git apply and git apply --reverse turn each text of a pair into the other text,
// and find each hunk at the line that the diff states. The diff must have as many changed lines as git diff --minimal.
func TestUnifiedAgreesWithGit(t *testing.T) {
	needGit(t)
	dir, count := t.TempDir(), pairCount(t)
	var patch bytes.Buffer
	before, after := make([]string, count), make([]string, count)
	changed := map[string]string{} // numbers of added and removed lines in the form of git diff --numstat; the key is the file name
	for i := range count {
		before[i], after[i] = randomPair(uint64(i))
		name := fmt.Sprintf("f%d", i)
		text, err := diff.Unified(name, []byte(before[i]), []byte(after[i]))
		if err != nil || (text == "") != (before[i] == after[i]) {
			t.Fatalf("pair %d: got %q, %v", i, text, err)
		}
		added, removed := requireExact(t, text, before[i], after[i])
		if text != "" {
			changed[name] = fmt.Sprintf("%d\t%d", added, removed)
			fmt.Fprintf(&patch, "diff --git a/%s b/%s\n%s", name, name, text) // without this line, git deletes files that become empty
		}
		writeFile(t, filepath.Join(dir, "old", name), before[i])
		writeFile(t, filepath.Join(dir, "new", name), after[i])
	}
	writeFile(t, filepath.Join(dir, "patch"), patch.String())
	for line := range strings.Lines(git(t, dir, "diff", "--no-index", "--numstat", "--minimal", "--no-renames", "old", "new")) {
		counts, name, _ := strings.Cut(strings.TrimSpace(line), "\told")
		if name == "" {
			counts, name, _ = strings.Cut(strings.TrimSpace(line), "\t{old")
		}
		name = name[strings.LastIndexByte(name, '/')+1:]
		if counts != "-\t-" && counts != changed[name] { // git diff does not compare files with NUL bytes
			t.Errorf("%s: git diff has %q added and removed lines, Unified has %q", name, changed[name], counts)
		}
		delete(changed, name)
	}
	for name := range changed {
		t.Errorf("%s: git finds no difference", name)
	}
	for _, step := range []struct {
		dir       string
		arguments []string
		want      []string
	}{{"old", []string{"apply", "-v", "--whitespace=nowarn", "../patch"}, after}, {"new", []string{"apply", "-v", "-R", "--whitespace=nowarn", "../patch"}, before}} {
		if log := git(t, filepath.Join(dir, step.dir), step.arguments...); strings.Contains(log, "offset") || strings.Contains(log, "fuzz") {
			t.Errorf("git apply found hunks elsewhere: %.2000s", log)
		}
		for i, want := range step.want {
			got, err := os.ReadFile(filepath.Join(dir, step.dir, fmt.Sprintf("f%d", i)))
			if err != nil || string(got) != want {
				t.Errorf("pair %d, %v: got %q, %v, want %q", i, step.arguments, got, err, want)
			}
		}
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	testenv.WriteFile(t, path, content)
}

// requireExact fails the test unless each hunk of the diff in text applies at exactly the line that the hunk states. It
// returns the numbers of added and removed lines.
func requireExact(t *testing.T, text, before, after string) (added, removed int) {
	t.Helper()
	if text == "" {
		return 0, 0
	}
	old, got := strings.SplitAfter(before, "\n"), ""
	at, line, lines := 0, 0, strings.SplitAfter(text, "\n")
	stated := func(start, count int) int { // stated returns the index of the first line of the range that a hunk header states
		if count == 0 {
			return start
		}
		return start - 1
	}
	for i := 2; i < len(lines)-1; {
		oldStart, oldCount, newStart, newCount := parseHunkHeader(t, lines[i])
		for ; at < stated(oldStart, oldCount) && at < len(old); at++ {
			got += old[at]
			line++
		}
		if at != stated(oldStart, oldCount) || line != stated(newStart, newCount) {
			t.Fatalf("the hunk %q begins at line %d of the old and line %d of the new text, which differs from its header; %q to %q\n%s", lines[i], at, line, before, after, text)
		}
		for i++; oldCount > 0 || newCount > 0; i++ {
			body := lines[i][1:]
			if strings.HasPrefix(lines[i+1], `\ No newline`) {
				body = strings.TrimSuffix(body, "\n")
			}
			if lines[i][0] != '+' {
				if at >= len(old) || old[at] != body {
					t.Fatalf("line %d of the diff does not match; %q to %q\n%s", i+1, before, after, text)
				}
				at++
				oldCount--
			}
			if lines[i][0] != '-' {
				got += body
				line++
				newCount--
			}
			added += strings.Count(lines[i][:1], "+")
			removed += strings.Count(lines[i][:1], "-")
			if strings.HasPrefix(lines[i+1], `\ No newline`) {
				i++
			}
		}
	}
	if got += strings.Join(old[at:], ""); got != after {
		t.Fatalf("%q to %q: got %q by\n%s", before, after, got, text)
	}
	return added, removed
}

func parseHunkHeader(t *testing.T, line string) (oldStart, oldCount, newStart, newCount int) {
	t.Helper()
	var old, new string
	if n, err := fmt.Sscanf(line, "@@ -%s +%s @@\n", &old, &new); n != 2 || err != nil {
		t.Fatalf("%q is not the header of a hunk", line)
	}
	part := func(text string) (start, count int) {
		first, second, _ := strings.Cut(text+",1", ",")
		second, _, _ = strings.Cut(second, ",")
		start, err1 := strconv.Atoi(first)
		count, err2 := strconv.Atoi(second)
		if err1 != nil || err2 != nil {
			t.Fatalf("%q is not the header of a hunk", line)
		}
		return start, count
	}
	oldStart, oldCount = part(old)
	newStart, newCount = part(new)
	return oldStart, oldCount, newStart, newCount
}
