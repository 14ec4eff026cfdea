package gitconfig_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/gitconfig"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
)

// seeds are valid and malformed configuration files.
var seeds = []string{
	"", "[core]\n\tbare = false\n", "[remote \"origin\"]\n\turl = https://example.com/r.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
	"[A]\nB=c", "[a]b=c", "[a]\nb", "[a]\nb = \"x y\" ; comment\n", "[a]\nb = x y # c\n", "[a]\nb = one \\\n two\n", "[a]\nb = \"a\\\"b\\\\c\\td\\n\"\n",
	"[a \"B\\\"c\"]\nd=e\n", "[a.B]\nc=d\n", "[a.b \"c\"]\nd=e\n", "# only\n; comments\n", "\ufeff[a]\nb=c\n", "[a]\r\nb = c\r\n", "[a]\nb = c\r", "[a]\nb==c\n",
	"[a]\nb = \n", "[a]\nb=\"\"\n", "[a]\nb = \" c \" \n", "[a] ; x\nb=c\n", "[a]\nb=c\\\n", "[a-1]\nb-2=c\n", "[a]\nb = x\\\n", "[a \"\"]\nb=c\n",
	"[a]\nb = c ;\"\n", "[a]\nb = c\" ;d\"\n", "[a]\nb =\"c\" \"\"  \n", "[]\nb=c\n",
	"[a", "[a]\n1=2\n", "[a]\nb c\n", "[a]\nb = \"c\n", "[a]\nb = \\x\n", "[a \"b]\n", "[a \"b\nc\"]\n", "[a b]\n", "a\n", "=\n", "[a]\nb_c=d\n", "[a \"b\"x]\n", "[\"\"]", "[a\"b\"]\n",
}

func TestParseAgreesWithGit(t *testing.T) {
	for _, seed := range seeds {
		t.Run(seed, func(t *testing.T) { compareWithGit(t, []byte(seed)) })
	}
}

// FuzzParse checks that Parse returns the same entries as git, and refuses the same files.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(compareWithGit)
}

func compareWithGit(t *testing.T, data []byte) {
	got, err := parseLines(data)
	if _, lookErr := exec.LookPath("git"); lookErr != nil {
		t.Skip("NOT CHECKED against git: the git program is not on PATH")
	}
	// git before 2.45 replaces a tab in a value with a space.
	if reason := knownDifference(string(data)); reason != "" {
		t.Skip("NOT CHECKED against git: " + reason)
	}
	name := filepath.Join(t.TempDir(), "config")
	gittest.Must(t, os.WriteFile(name, data, 0o600))
	cmd := exec.Command("git", "config", "--file", name, "--no-includes", "--list", "--null")
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, gitErr := cmd.Output()
	if (err != nil) != (gitErr != nil) {
		t.Fatalf("%q: got %v, git says %v", data, err, gitErr)
	}
	if err != nil {
		return
	}
	var want []string
	if len(out) > 0 {
		want = strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q: %s", data, diff)
	}
}

// knownDifference returns why git may read a file differently; empty if it must not.
func knownDifference(text string) string {
	// Not a tab that indents a line, unless the line continues a value.
	text = strings.NewReplacer("\\\n\t", "\t", "\n\t", "\n", "\r\n", "\n").Replace(text)
	switch {
	case strings.Contains(text, "\x00"):
		return "git accepts NUL bytes"
	case strings.ContainsAny(text, "\t\r\v\f"):
		return "git before 2.45 replaces a tab and other white space in a value with a space"
	}
	for _, unnamed := range []string{"[]", "[.", ".]", "..", "[ ", "[\n", ` ""]`, `"."`} {
		if strings.Contains(text, unnamed) {
			return "git accepts sections without a name"
		}
	}
	return ""
}

// parseLines parses data and formats the entries as git config --list --null does.
func parseLines(data []byte) ([]string, error) {
	file, err := gitconfig.Parse(data)
	var lines []string
	for _, e := range file {
		line := e.Section + "."
		if line == "." {
			line = ""
		}
		if e.Subsection != "" {
			line += e.Subsection + "."
		}
		line += e.Key
		if !e.NoValue {
			line += "\n" + e.Value
		}
		lines = append(lines, line)
	}
	return lines, err
}
