package diff_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/diff"
)

// gitApplies runs git apply on the file F.md, in a directory outside of any repository. It returns the patched file and
// whether git applied the patch.
func gitApplies(t testing.TB, base, text []byte) (result []byte, applied bool) {
	t.Helper()
	dir := t.TempDir()
	target, file := filepath.Join(dir, "F.md"), filepath.Join(dir, "p.patch")
	for path, content := range map[string][]byte{target: base, file: text} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", file)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if output, err := command.CombinedOutput(); err != nil {
		t.Logf("git: %s", output)
		return nil, false
	}
	result, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	return result, true
}

// sameAsGit fails the test if git apply and Apply have different results. It ignores patches for which Apply returns an
// InvalidError.
func sameAsGit(t testing.TB, base, text []byte) {
	t.Helper()
	got, err := diff.Apply("F.md", base, text)
	if outcome(err) == "invalid" {
		return
	}
	want, applied := gitApplies(t, base, text)
	if applied != (err == nil) || string(got) != string(want) {
		t.Errorf("for %q and %q\ngot  %q, %v\ngit  %q, applied: %v", base, text, got, err, want, applied)
	}
}

func needGit(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT TESTED against git apply: git is not installed")
	}
}

func TestApplyAgreesWithGitOnRandomPatches(t *testing.T) {
	needGit(t)
	applied, patches := 0, testenv.Count(45, 150, 150)
	for seed := range uint64(patches) {
		base, text := randomPatch(seed)
		sameAsGit(t, base, text)
		if _, err := diff.Apply("F.md", base, text); err == nil {
			applied++
		}
	}
	if applied < patches*2/15 || applied > patches*13/15 {
		t.Errorf("%d of %d patches applied, so the comparison with git has little coverage", applied, patches)
	}
}

// TestApplyAgreesWithGitOnHeaders checks that Apply, like git, refuses invalid file modes, and refuses any text after a
// path that is not a time stamp.
func TestApplyAgreesWithGitOnHeaders(t *testing.T) {
	needGit(t)
	const names, extended = "--- a/F.md\n+++ b/F.md\n", "diff --git a/F.md b/F.md\n"
	for _, head := range []string{
		names, "--- F.md\n+++ F.md\n", "--- a/F.md\t2020-01-01\n+++ b/F.md\tx\n", "--- a/F.md 2020-01-01 00:00:00\n+++ b/F.md 2020-01-01 00:00:00.5 +0100\n",
		"--- a/F.md x\n+++ b/F.md x\n", "--- a/F.md \n+++ b/F.md \n", "--- a/F.md\v\n+++ b/F.md\v\n", "--- a/F.md\r\n+++ b/F.md\r\n",
		extended + names, extended + "--- a/F.md x\n+++ b/F.md x\n", extended + "index 1234567..89abcde\n" + names, extended + "index 1234567..89abcde 100644\n" + names,
		extended + "index 1234567..89abcde 1x\n" + names, extended + "old mode x\n" + names, extended + "new mode 999\n" + names,
		extended + "old mode 100644\nnew mode 100755\n" + names, extended + "bogus\n" + names, "Index: F.md\n====\n" + names,
	} {
		sameAsGit(t, []byte("a\n"), []byte(head+"@@ -1 +1 @@\n-a\n+A\n"))
	}
}

func FuzzApplyAgainstGit(f *testing.F) {
	needGit(f)
	for seed := range uint64(20) {
		base, text := randomPatch(seed)
		f.Add(base, strings.TrimPrefix(string(text), header))
	}
	f.Fuzz(func(t *testing.T, base []byte, hunks string) {
		if strings.Contains(hunks, "diff --git ") || strings.IndexByte(hunks, 0) >= 0 {
			// The comparison is skipped, because git apply also patches further files, and truncates file names at a
			// NUL byte.
			return
		}
		if oddMarker(hunks) || hunks == "@@ -" {
			return // "@@ -" is a patch without hunks, which git accepts or refuses depending on the preceding text
		}
		sameAsGit(t, base, []byte(header+hunks))
	})
}

// oddMarker reports whether an old line of a hunk follows a no-newline marker. No program writes such hunks. Git
// compares the two lines as one string but counts two lines, so it can remove a line too many. Apply never accepts that
// such lines match.
func oddMarker(hunks string) bool {
	marked := false
	for line := range strings.Lines(hunks) {
		switch {
		case strings.HasPrefix(line, "@"):
			marked = false
		case strings.HasPrefix(line, `\`):
			marked = true
		case marked && !strings.HasPrefix(line, "+"):
			return true
		}
	}
	return false
}

// FuzzApply checks that Apply terminates for any patch, and returns no content together with an error.
func FuzzApply(f *testing.F) {
	f.Add("F.md", []byte("a\n"), []byte(header+"@@ -1 +1 @@\n-a\n+A\n"))
	f.Add("d/F.md", []byte(""), []byte("diff --git a/d/F.md b/d/F.md\n--- a/d/F.md\n+++ b/d/F.md\n@@ -0,0 +1 @@\n+A\n\\ No newline at end of file\n"))
	f.Fuzz(func(t *testing.T, name string, base, text []byte) {
		got, err := diff.Apply(name, base, text)
		if (got == nil) != (err != nil) || strings.HasPrefix(outcome(err), "another") {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// randomPatch returns a random text and a patch of that text. The patch is often valid and often slightly wrong. The
// text has few different lines, so that hunks match in several places.
func randomPatch(seed uint64) (base, text []byte) {
	r := rand.New(rand.NewPCG(seed, 0))
	line := func() string { return []string{"a", "b", "c", "", "a b", "a\r"}[r.IntN(6)] }
	lines := make([]string, r.IntN(12))
	for i := range lines {
		lines[i] = line()
	}
	joined := strings.Join(lines, "\n")
	finalNewline := len(lines) > 0 && r.IntN(4) > 0
	if finalNewline {
		joined += "\n"
	}
	out := header
	shift := 0
	for at := 0; at < len(lines) || at == 0; {
		at += r.IntN(3)
		context, removed, after := min(r.IntN(3), max(len(lines)-at, 0)), r.IntN(3), r.IntN(3)
		body, old, added := hunkOf(r, lines, at, context, removed, after, finalNewline, line)
		wrong := func() int { return []int{0, 0, 0, 0, 0, 1, -1, 3}[r.IntN(8)] }
		miscount := []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 1}[r.IntN(10)]
		out += fmt.Sprintf("@@ -%d,%d +%d,%d @@\n%s", max(at+1+wrong(), 0), old+miscount, max(at+1+shift+wrong(), 0), old-min(removed, max(old, 0))+added, body)
		shift += added - removed
		at += old + r.IntN(3)
		if r.IntN(2) == 0 {
			break
		}
	}
	return []byte(joined), []byte(out)
}

// hunkOf returns the lines of a hunk, the number of old lines and the number of added lines.
func hunkOf(r *rand.Rand, lines []string, at, context, removed, after int, finalNewline bool, line func() string) (body string, old, added int) {
	write := func(sign string, i int) {
		text := lines[i]
		if r.IntN(25) == 0 {
			text = line()
		}
		body += sign + text + "\n"
		if i == len(lines)-1 && !finalNewline && r.IntN(5) > 0 {
			body += "\\ No newline at end of file\n"
		}
		old++
	}
	i := at
	for end := at + context; i < end && i < len(lines); i++ {
		write(" ", i)
	}
	for end := i + removed; i < end && i < len(lines); i++ {
		write("-", i)
	}
	for range r.IntN(3) {
		body += "+" + line() + "\n"
		added++
	}
	for end := i + after; i < end && i < len(lines); i++ {
		write(" ", i)
	}
	return body, old, added
}
