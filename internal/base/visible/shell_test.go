package visible_test

import (
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

func TestShellWord(t *testing.T) {
	for arg, want := range map[string]string{
		"/home/me/a-b_c.toml": "/home/me/a-b_c.toml", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'", "~": "'~'", "é": "é",
		"a\nb; rm": "'a\nb; rm'", "x'; rm -rf ~; '": `'x'\''; rm -rf ~; '\'''`, "*": "'*'", "a=b": "a=b",
	} {
		if got := visible.ShellWord(arg); got != want {
			t.Errorf("%q: %s, want %s", arg, got, want)
		}
	}
}
