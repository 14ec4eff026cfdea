package tomlfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// hideEnv hides what may be a secret in a config.
func hideEnv(path []string) bool { return len(path) > 1 && path[0] == "plugins" && path[1] == "env" }

func TestOutlineHidesValuesAndComments(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"a table":               {"[[plugins]]\npath = \"/a\"\n[plugins.env] # x\nTOKEN = \"secret\"\n", "[[plugins]]\npath = \"/a\"\n[plugins.env]\nTOKEN = …"},
		"an inline table":       {"[[plugins]]\nenv = { TOKEN = \"secret\" }\n", "[[plugins]]\nenv = …"},
		"dotted keys":           {"[[plugins]]\nenv.TOKEN = \"secret\"\nread_only = true", "[[plugins]]\nenv.TOKEN = …\nread_only = true"},
		"tables in an array":    {"plugins = [{ path = \"/a\", env = { TOKEN = \"secret\" } }]\n", "plugins = …"},
		"quoted keys":           {"[[\"plugins\"]]\n\"env\".\"TOKEN\" = 'secret'\n", "[[\"plugins\"]]\n\"env\".\"TOKEN\" = …"},
		"several lines":         {"[[plugins]]\n[plugins.env]\nA = \"\"\"\nsecret\n\"\"\"\nB = '''secret'''\n[x]\ny = 1\n", "[[plugins]]\n[plugins.env]\nA = …\n\n\nB = …\n[x]\ny = 1"},
		"comments":              {"# secret\n\n[a] # secret\nb = 1 # secret\n  # secret\nc = \"#1\"\n", "\n\n[a]\nb = 1\n\nc = \"#1\""},
		"a comment in an array": {"a = [ # secret\n  \"b\", # secret\n  # secret\n  \"c\"\n]\nd = 1\n", "a = [ …\n  \"b\", …\n  …\n  \"c\"\n]\nd = 1"},
		"empty":                 {"", ""},
	} {
		got, err := tomlfile.Outline([]byte(c.file), hideEnv)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(strings.Split(c.want, "\n"), got); diff != "" {
			t.Errorf("%s (want -, got +)\n%s", name, diff)
		}
	}
	if _, err := tomlfile.Outline([]byte("a = ["), hideEnv); err == nil {
		t.Error("an invalid file has an outline")
	}
}

// FuzzOutline checks that the values of hidden keys occur in no outline, and that lines stay where they are.
func FuzzOutline(f *testing.F) {
	f.Add("a = 1\n", "[x]\ny = 2 # z\n", "TOKEN")
	f.Add("# a\r\n[b]\r\n", "c = ['#', \"\"\"\n#\"\"\"]\r\n", "A.B")
	f.Fuzz(func(t *testing.T, before, after, key string) {
		const secret = "s3cr3t-value"
		if strings.Contains(before+after+key, secret) {
			t.Skip()
		}
		for _, value := range []string{`"` + secret + `"`, "'''\n" + secret + "'''", "[\n\"" + secret + "\", # " + secret + "\n]", "{ a = '" + secret + "' } # " + secret} {
			data := []byte(before + "\n[[plugins]]\nenv." + tomlfile.Key(key) + " = " + value + "\n" + after)
			lines, err := tomlfile.Outline(data, hideEnv)
			if err != nil {
				continue
			}
			for line := 1; line <= len(lines); line++ {
				if last := tomlfile.LastLine(data, line); last < line || last > strings.Count(string(data), "\n")+1 {
					t.Errorf("the last line of line %d of %q is %d", line, data, last)
				}
			}
			if text := strings.Join(lines, "\n"); strings.Contains(text, secret) {
				t.Errorf("the outline of %q is %q", data, text)
			}
			if want := strings.Count(strings.TrimSuffix(string(data), "\n"), "\n") + 1; len(lines) > want {
				t.Errorf("the outline of %q has %d lines, want at most %d", data, len(lines), want)
			}
		}
	})
}
