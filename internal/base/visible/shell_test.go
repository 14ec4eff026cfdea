package visible_test

import (
	"os/exec"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

func TestShellWord(t *testing.T) {
	for arg, want := range map[string]string{
		"/home/me/a-b_c.toml": "/home/me/a-b_c.toml", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'", "~": "'~'", "é": "é",
		"a\nb; rm": `$'a\012b; rm'`, "x'; rm -rf ~; '": `'x'\''; rm -rf ~; '\'''`, "*": "'*'", "a=b": "a=b",
		"/a\u202eb/c.toml": `$'/a\342\200\256b/c.toml'`, "\u3164": `$'\343\205\244'`, "\xffé": `$'\377é'`, "\x1b[0m\n": `$'\033[0m\012'`, "\u200b7": `$'\342\200\2137'`,
		"\u200b'; rm -rf ~; '\\": `$'\342\200\213\047; rm -rf ~; \047\134'`, "a\x00b": `$'a·b'`,
	} {
		if got := visible.ShellWord(arg); got != want {
			t.Errorf("%q: %s, want %s", arg, got, want)
		}
	}
}

// TestShellsReadShellWord has shells print words with invisible characters. One without $'…' must read a single word, too.
func TestShellsReadShellWord(t *testing.T) {
	for shell, isExact := range map[string]bool{"bash": true, "zsh": true, "dash": false} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		for _, arg := range []string{"/a\u202eb/c.toml", "\u200b7", "\u200b'; echo more; '\\", "\xff\x1b $(echo more) `echo more` !! \u3164\n"} {
			out, err := exec.CommandContext(t.Context(), path, "-c", `printf '%s|' `+visible.ShellWord(arg)).Output()
			if got := string(out); err != nil || isExact && got != arg+"|" || len(got) == 0 || got[len(got)-1] != '|' {
				t.Errorf("%s reads %q as %q: %v", shell, arg, got, err)
			}
		}
	}
}
