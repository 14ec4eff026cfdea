package gitconfig_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/gitconfig"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
)

func parse(t *testing.T, text string) gitconfig.File {
	t.Helper()
	file, err := gitconfig.Parse([]byte(text))
	gittest.Must(t, err)
	return file
}

// TestSettingsAreBounded has the bound in digits.
func TestSettingsAreBounded(t *testing.T) {
	if got := len(parse(t, "[a]\n"+strings.Repeat("b\n", 10_000))); got != 10_000 {
		t.Errorf("got %d settings", got)
	}
	if _, err := gitconfig.Parse([]byte("[a]\n" + strings.Repeat("b\n", 10_001))); err == nil || !strings.Contains(err.Error(), "line 10002: the file has more than 10000 settings") {
		t.Errorf("got %v", err)
	}
}

// TestParseRefusesMalformedFiles needs no git.
func TestParseRefusesMalformedFiles(t *testing.T) {
	for text, want := range map[string]string{
		"[a]\nb=\x00": "contains a NUL byte", "[a": "no closing bracket", "[a\n": "no closing bracket", "[a b]": "malformed", "[a\"b\"]": "malformed",
		"[a \"b\n": "no closing quote", "[a \"b\\\n": "no closing quote", "[a \"b\"x]": "no closing bracket", "[a]\n1=2": "line 2: the line is neither",
		"[a]\nb c": "neither \"=\" nor the end", "[a]\nb = \"c\n": "a quote is not closed", "[a]\nb = \\x": "the escape \\x is unknown", "=": "line 1: the line is neither",
		"[a]\nb_c=d": "neither \"=\" nor", "[a]\n\n\nb_c=d\n": "line 4: ",
	} {
		if file, err := gitconfig.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || file != nil {
			t.Errorf("%q: got %v, %v; want %q", text, file, err, want)
		}
	}
}

func TestValues(t *testing.T) {
	file := parse(t, "[a]\nb = 1\nB = 2\nn\n[a \"S\"]\nb = 3\n[A]\nb = \nb = 4 # c\nb = \" 5 \" ; d\nb = 6\\\n 7\n[x]\nk = v\n")
	for key, want := range map[[3]string][]string{
		{"a", "", "b"}: {"4", " 5 ", "6 7"}, {"a", "S", "b"}: {"3"}, {"a", "s", "b"}: nil, {"a", "", "c"}: nil, {"b", "", "b"}: nil, {"a", "", "n"}: nil,
	} {
		if diff := cmp.Diff(want, file.All(key[0], key[1], key[2])); diff != "" {
			t.Errorf("%q: %s", key, diff)
		}
		last, ok := file.Last(key[0], key[1], key[2])
		if ok != (len(want) > 0) || ok && last != want[len(want)-1] {
			t.Errorf("%q: the last one is %q, %t", key, last, ok)
		}
	}
}

func TestBool(t *testing.T) {
	for text, want := range map[string]bool{
		"k": true, "k = true": true, "k = YES": true, "k = on": true, "k = 1": true, "k = false": false, "k = no": false, "k = off": false, "k = 0": false, "k =": false,
		"k = maybe": false, "k = false\nk = true": true, "k = true\nk = false": false, "k = false\n[a \"s\"]\nk = true": false, "k = false\n[b]\nk = true": false,
		"k = true\nother = false": true,
	} {
		for _, fallback := range []bool{false, true} {
			if got := parse(t, "[a]\n"+text+"\n").Bool("a", "k", fallback); got != want {
				t.Errorf("%q: got %t", text, got)
			}
		}
	}
	if file := parse(t, "[a]\nb\n"); file.Bool("a", "k", false) || !file.Bool("a", "k", true) {
		t.Error("the fallback is not used")
	}
}

func TestCheckFormat(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "[core]\nrepositoryformatversion = 0\n": "", "[core]\nrepositoryformatversion = 1\n": "",
		"[core]\nrepositoryformatversion = 2\n": `version "2" is not supported`, "[core]\nrepositoryformatversion = x\n": `version "x" is not supported`,
		"[extensions]\nnoop\npreciousObjects = true\npartialClone = o\nworktreeConfig = true\nrelativeWorktrees = true\nobjectFormat = SHA1\nrefStorage = files\n": "",
		"[extensions]\nobjectFormat = sha256\n": "SHA-256", "[extensions]\nobjectFormat = x\n": `uses extensions.objectformat = "x"`,
		"[extensions]\nrefStorage = reftable\n": `uses extensions.refstorage = "reftable"`, "[extensions]\nunknown = 1\n": `uses extensions.unknown = "1"`,
		"[other]\nobjectFormat = sha256\n": "", "[extensions]\nnoop = sha256\n": "", "[extensions]\nx = files\n": "extensions.x", "[extensions]\nx = sha1\n": "extensions.x",
	} {
		if err := parse(t, text).CheckFormat(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
