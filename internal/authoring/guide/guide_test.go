package guide

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const page = "# Page\n\nmain.go:\n```go\npackage main\n```\n\nIn the manifest:\n\n```toml\n[limits]\ntime = \"1s\"\n\n[[tools]]\nname = \"a\"\n\n[[tools]]\nname = \"ab\"\n```\n\n" +
	"```toml\n# bulkhead.toml\n[server]\n```\n\n```sh not tested: it takes a day\nsleep 1d\n```\n\n```console\n$ true\n$ echo a; false\na\nexit code 1\n```\n"

func TestBlocks(t *testing.T) {
	var got []string
	for _, b := range Blocks(page) {
		got = append(got, strings.Join([]string{b.Language, b.File, b.Label, b.Untested}, ","))
	}
	want := []string{"go,main.go,main.go,", "toml,,In the manifest,", "toml,,,", "sh,,,it takes a day", "console,,,"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	commands := Blocks(page)[4].Commands()
	if diff := cmp.Diff([]Command{{"true", ""}, {"echo a; false", "a\nexit code 1"}}, commands); diff != "" {
		t.Error(diff)
	}
	if commands[0].Failed() || !commands[1].Failed() {
		t.Errorf("failed: %v, %v", commands[0].Failed(), commands[1].Failed())
	}
}

func TestManifestHasToolsOfSource(t *testing.T) {
	got := Manifest(Blocks(page), "notes.wasm", `go = "."`, `HandleTool("ab")`)
	if !strings.Contains(got, `name = "ab"`) || strings.Contains(got, `name = "a"`) || !strings.Contains(got, "[limits]") || strings.Contains(got, "[server]") {
		t.Errorf("got\n%s", got)
	}
}

func TestManifestOfToolAlone(t *testing.T) {
	got := Manifest([]Block{{Language: "toml", Text: "[[tools]]\nname = \"a\"\n"}}, "notes.wasm", `go = "."`, `"a"`)
	if !strings.HasSuffix(got, "\n\n[[tools]]\nname = \"a\"\n\n") {
		t.Errorf("got %q", got)
	}
}

func TestGoAddsWhatPagesLeaveOut(t *testing.T) {
	blocks := []Block{
		{Language: "go", Text: "func plugin() *sdk.Plugin { return sdk.New() }\n"},
		{Language: "go", Text: "func TestA(t *testing.T) { fmt.Println() }\n"},
		{Language: "go", Text: "func hidden() {}\n", Untested: "a reason"},
	}
	got, err := Go(blocks, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := "package main\n\nimport (\n\t\"github.com/bulkhead-mcp/bulkhead/sdk\"\n)\n\nfunc init()"; !strings.HasPrefix(got["main.go"], want) || strings.Contains(got["main.go"], "hidden") {
		t.Errorf("main.go:\n%s", got["main.go"])
	}
	if want := "import (\n\t\"fmt\"\n\t\"testing\"\n)"; !strings.Contains(got["main_test.go"], want) {
		t.Errorf("main_test.go:\n%s", got["main_test.go"])
	}
}

func TestGoReplacesFunctionsOfBase(t *testing.T) {
	base := "package main\n\nimport \"os\"\n\n// plugin is replaced.\nfunc plugin() { os.Exit(1) }\n\nfunc kept() {}\n"
	got, err := Go([]Block{{Language: "go", Text: "func plugin() { kept() }\n"}}, base)
	if err != nil {
		t.Fatal(err)
	}
	if main := got["main.go"]; strings.Contains(main, "os") || !strings.Contains(main, "func kept()") || strings.Count(main, "func plugin") != 1 {
		t.Errorf("got\n%s", main)
	}
	if _, err := Go([]Block{{Language: "go", Text: "answer, err := ask()\n"}}, ""); err == nil {
		t.Error("statements outside of a function were accepted")
	}
}

func TestShellKeepsDirectoryAndVariables(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	s := Shell{Root: t.TempDir()}
	for _, c := range []Command{
		{"mkdir -p /home/me/a && cd /home/me/a && export BULKHEAD_X=1", ""}, {"pwd; echo $BULKHEAD_X", "/home/me/a\n1"},
		{"unset BULKHEAD_X", ""}, {"echo \"$BULKHEAD_X\"; false", "\nexit code 1"}, {"echo 0x12ab", "0x…"},
	} {
		got, err := s.Run(t.Context(), c.Line)
		if diff := cmp.Diff(c.Output, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", c.Line, err, diff)
		}
	}
}
