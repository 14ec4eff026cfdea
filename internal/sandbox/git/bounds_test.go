package git

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// The bounds are in digits here, so that a change of a constant fails.

func TestCommitIsBounded(t *testing.T) {
	change := func(n, size int) []abi.GitChange {
		changes := make([]abi.GitChange, n)
		changes[n-1].Content = make([]byte, size)
		return changes
	}
	for name, c := range map[string]struct {
		q    abi.GitNewCommit
		want string // of the error; empty if the request is valid
	}{
		"1000 files of 32 MiB":        {abi.GitNewCommit{Branch: "b", Message: "m", Changes: change(1000, 32<<20)}, ""},
		"a byte more":                 {abi.GitNewCommit{Branch: "b", Message: "m", Changes: change(1, 32<<20+1)}, "changes: 1 files of 33554433 bytes"},
		"a file more":                 {abi.GitNewCommit{Branch: "b", Message: "m", Changes: change(1001, 0)}, "changes: 1001 files"},
		"no file":                     {abi.GitNewCommit{Branch: "b", Message: "m"}, "changes: 0 files"},
		"a message of 64 KiB":         {abi.GitNewCommit{Branch: "b", Message: strings.Repeat("m", 64<<10), Changes: change(1, 0)}, ""},
		"a longer message":            {abi.GitNewCommit{Branch: "b", Message: strings.Repeat("m", 64<<10+1), Changes: change(1, 0)}, "message: it has 65537 bytes"},
		"a message that is not UTF-8": {abi.GitNewCommit{Branch: "b", Message: "\xff", Changes: change(1, 0)}, "message: it has 1 bytes"},
		"a message with NUL":          {abi.GitNewCommit{Branch: "b", Message: "a\x00", Changes: change(1, 0)}, "message: it has 2 bytes"},
		"a message of white space":    {abi.GitNewCommit{Branch: "b", Message: " \n\t", Changes: change(1, 0)}, "message: it is empty"},
		"an invalid branch of a base": {abi.GitNewCommit{Branch: "-b", Base: "a", Message: "m", Changes: change(1, 0)}, "-b"},
		"an invalid branch":           {abi.GitNewCommit{Branch: "-b", Message: "m", Changes: change(1, 0)}, "-b"},
		"an invalid base":             {abi.GitNewCommit{Branch: "b", Base: "-a", Message: "m", Changes: change(1, 0)}, "-a"},
	} {
		if err := normalizeCommit(&c.q); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestLongNamesAreNoIdentity(t *testing.T) {
	for size, want := range map[int]int{1024: 1024, 1025: 0} {
		if got := len(cleanIdentity(strings.Repeat("n", size))); got != want {
			t.Errorf("of a name of %d bytes, %d are used, want %d", size, got, want)
		}
	}
}
