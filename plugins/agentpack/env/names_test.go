package env_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
)

func TestModuleKey(t *testing.T) {
	for id, want := range map[string]string{
		"instructions:base":      "instructions_base--d39861fff1",
		"a:b":                    "a_b--6783a31eab",
		"a/b":                    "a_b--c14cddc033",
		"":                       "module--e3b0c44298",
		"héllo":                  "h_llo--3c48591d8d",
		strings.Repeat("a", 100): strings.Repeat("a", 64) + "--2816597888",
	} {
		if got := env.ModuleKey(id); got != want {
			t.Errorf("the key of %.20q: got %s, want %s", id, got, want)
		}
	}
	long := strings.Repeat("a", 65)
	if got := env.UntruncatedModuleKey(long); !strings.HasPrefix(got, long+"--") || got == env.ModuleKey(long) {
		t.Errorf("UntruncatedModuleKey does not contain the whole id: got %s", got)
	}
	if env.UntruncatedModuleKey("a:b") != env.ModuleKey("a:b") {
		t.Error("ModuleKey and UntruncatedModuleKey differ for a short id")
	}
}

func TestSanitize(t *testing.T) {
	for text, want := range map[string]string{"skill:x": "skill_x", `a/b\c`: "a_b_c", "é": "_", "A-_9": "A-_9", "..": "__"} {
		if got := env.Sanitize(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestNormalizeMachineID(t *testing.T) {
	for text, want := range map[string]string{
		"My MacBook.local": "my-macbook-local", "  WORK__Laptop  ": "work__laptop", "a..b": "a-b", "--x--": "x",
		"a.-b": "a--b", ".-.a": "a", "...": "", "": "",
	} {
		if got := env.NormalizeMachineID(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestIsPathComponent(t *testing.T) {
	for text, want := range map[string]bool{
		"a": true, "a.b": true, "...": true, "": false, ".": false, "..": false, "a/b": false, `a\b`: false, "a\x00": false,
	} {
		if got := env.IsPathComponent(text); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}

func TestModuleName(t *testing.T) {
	for id, want := range map[string]string{"skill:a": "a", "skill:a:b": "a:b", "skill:../x": "../x", "a b": "a_b", "skill:": ""} {
		if got := env.ModuleName(id); got != want {
			t.Errorf("%q: got %q, want %q", id, got, want)
		}
	}
}

func TestFileKey(t *testing.T) {
	if got, want := env.FileKey("/home/dev/.codex/AGENTS.md"), "5e70ee38d4721295"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
