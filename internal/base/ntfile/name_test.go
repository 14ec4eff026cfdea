package ntfile

import "testing"

func TestCheckNameRefusesAliases(t *testing.T) {
	for _, name := range []string{
		"", ".", "..", "a/b", `a\b`, "a:b", "a::$DATA", "C:", ":", "a*", "a?", "a<", "a>", `a"`, "a|b", "a\x00", "a\n", "\x1f",
		".git.", ".git ", ".git. .", "bulkhead.toml.", "bulkhead.toml ", "a...", " ", ".git::$INDEX_ALLOCATION", ".git:x",
		"NUL", "nul", "NUL.txt", "nul .txt", "con", "CON.tar.gz", "aux.c", "prn", "COM1", "com9.log", "COM0", "LPT3", "COM¹", "lpt².x",
		"CONIN$", "conout$", "CLOCK$",
		"GIT~1", "git~1", "BULKHE~1.TOM", "a~1", "PROGRA~2", "X~1.A", "a\xff", "\xed\xa0\x80", "ABCD12~9", "~1", "é~1.txt",
		"_GIT~IBP", "BULK~Y5J.TOM", "GBQ4T9~V", "a~b",
	} {
		if err := CheckName(name); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

func TestCheckNameAcceptsFileNames(t *testing.T) {
	for _, name := range []string{
		"a", ".git", "bulkhead.toml", ".env", "a b", "a.b.c", "COM", "COM10", "COMA", "LPT", "NULL", "console", "con1", "auxiliary.c",
		"file~", "draft~b.html", "long-name~b", "a~-", "longname1~1", "a~1.html", "x~1.a.b", "~", "~x-1", "ünïcode", "日本語", "a+b", "a,b;c=d", "[x]", "{x}", "$x", "#x#", "x~",
	} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
}

// FuzzCheckName checks the rule that matters most: no accepted name changes when Windows normalizes it.
func FuzzCheckName(f *testing.F) {
	for _, name := range []string{"a", "a.", "NUL", "a:b", "GIT~1"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if CheckName(name) != nil {
			return
		}
		for i := range len(name) {
			switch c := name[i]; {
			case c < ' ', c == ':', c == '\\', c == '/':
				t.Fatalf("%q has the character %q", name, c)
			}
		}
		if last := name[len(name)-1]; last == '.' || last == ' ' {
			t.Fatalf("%q ends in %q", name, last)
		}
	})
}
