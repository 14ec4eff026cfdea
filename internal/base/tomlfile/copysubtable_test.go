package tomlfile

import (
	"strings"
	"testing"
)

func TestCopySubtableKeepsItsText(t *testing.T) {
	const rest = "model = \"x\"\n\n[s.other]\na = 1\n"
	const table = "# the files\n[s.files]\ncommand = \"npx\" # mine\n\n[s.files.env]\nA = \"b\"\n"
	parsed := func(text string) *Doc {
		d, ps := Parse("f", []byte(text))
		if err := ps.Err(); err != nil {
			t.Fatal(err)
		}
		return d
	}
	from := parsed("model = \"x\"\n\n# the files\n[s.files]\ncommand = \"npx\" # mine\n\n[s.other]\na = 1\n\n[s.files.env]\nA = \"b\"\n")
	path := [2]string{"s", "files"}
	for _, test := range []struct{ to, want string }{
		{"", table},
		{rest, rest + "\n" + table},
		{strings.ReplaceAll(rest, "\n", "\r\n"), strings.ReplaceAll(rest+"\n"+table, "\n", "\r\n")},
	} {
		got, err := parsed(test.to).CopySubtable(from, path)
		if err != nil || string(got.Bytes()) != test.want {
			t.Errorf("copied to %q: got %v, %q, want %q", test.to, err, got.Bytes(), test.want)
		}
	}
	if _, err := from.CopySubtable(from, path); err == nil {
		t.Error("a table that exists is copied")
	}
	for name, inline := range map[string]*Doc{"absent": from, "files": parsed("[s]\nfiles = { command = \"npx\" }\n")} {
		if _, err := parsed("").CopySubtable(inline, [2]string{"s", name}); err == nil {
			t.Errorf("%s, which is not written as [s.%[1]s], is copied", name)
		}
	}
}
