package tests

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// change edits a file.
func editFile(t *testing.T, file string, edit func(string) string) {
	t.Helper()
	before := readFile(t, file)
	after := edit(before)
	if after == before {
		t.Fatalf("%s was not changed", file)
	}
	putFile(t, file, after)
}

func replaceOnce(from, to string) func(string) string {
	return func(text string) string { return strings.Replace(text, from, to, 1) }
}

var sha256Line = regexp.MustCompile(`(?m)^sha256 *=.*$`)

// seal writes the digest of the plugin's module into its manifest.
func updateDigest(t *testing.T, dir string) {
	t.Helper()
	sum := sha256.Sum256([]byte(readFile(t, filepath.Join(dir, "chant.wasm"))))
	editFile(t, filepath.Join(dir, "plugin.toml"), func(text string) string {
		return sha256Line.ReplaceAllString(text, fmt.Sprintf("sha256 = %q", hex.EncodeToString(sum[:])))
	})
}

// TestBrokenPluginIsLeftOut: chant is broken in a way that is seen before its module is loaded. Its tools are
// neither listed nor known, the log and the refusal of a call say why, and hello is served.
func TestBrokenPluginIsLeftOut(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir string) // dir is the plugin's folder
		says  []string                       // %s stands for dir
		// unread is set where not even the tools' names can be read.
		unread bool
	}{
		{"a manifest with an unknown key", func(t *testing.T, dir string) {
			editFile(t, filepath.Join(dir, "plugin.toml"), replaceOnce("[plugin]\n", "[plugin]\ncolour = \"red\"\n"))
		}, []string{"%s/plugin.toml:4: plugin.colour: is not a known key"}, false},
		{"a manifest of a later version", func(t *testing.T, dir string) {
			editFile(t, filepath.Join(dir, "plugin.toml"), replaceOnce("manifest = 1", "manifest = 2"))
		}, []string{"%s/plugin.toml:1: manifest: "}, false},
		{"a manifest that is not TOML", func(t *testing.T, dir string) {
			editFile(t, filepath.Join(dir, "plugin.toml"), replaceOnce("[plugin]", "[plugin"))
		}, []string{"%s/plugin.toml:3"}, true},
		{"an empty manifest", func(t *testing.T, dir string) {
			putFile(t, filepath.Join(dir, "plugin.toml"), "")
		}, []string{"%s/plugin.toml: manifest: "}, true},
		{"a manifest that names a module elsewhere", func(t *testing.T, dir string) {
			editFile(t, filepath.Join(dir, "plugin.toml"), replaceOnce(`"chant.wasm"`, `"../hello/hello.wasm"`))
		}, []string{"%s/plugin.toml:", "module.file"}, false},
		{"a missing module", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "chant.wasm")); err != nil {
				t.Fatal(err)
			}
		}, []string{"there is no module at %s/chant.wasm: build the plugin with `bulkhead plugin build`"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			all := copyPlugins(t, "chant", "hello")
			dir := filepath.Join(all, "chant")
			test.spoil(t, dir)
			var says []string
			for _, text := range test.says {
				says = append(says, strings.ReplaceAll(text, "%s", dir))
			}
			s := servePlugins(t, all)
			if names := s.names(); !slices.Equal(names, []string{"hello_greet"}) {
				t.Errorf("offered: %q", names)
			}
			s.waitForLog(append(says, "the plugin is left out")...)
			if test.unread {
				s.wantUnknown("chant_status")
			} else {
				s.wantUnknown("chant_status", append(says, `plugin "chant" is left out`)...)
			}
			if text := s.mustCall("hello_greet", `{"name":"Ada"}`); text != "Hello, Ada!" {
				t.Error(text)
			}
			s.end()
		})
	}
}

// TestInvalidModuleFailsItsCalls is found out by the first call, which says so, as does every further one; hello is
// served.
func TestInvalidModuleFailsItsCalls(t *testing.T) {
	t.Parallel()
	truncate := func(t *testing.T, dir string) {
		if err := os.Truncate(filepath.Join(dir, "chant.wasm"), 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name    string
		spoil   func(t *testing.T, dir string)
		failure string
		says    []string
	}{
		{"one byte is another", func(t *testing.T, dir string) {
			editFile(t, filepath.Join(dir, "chant.wasm"), func(wasm string) string {
				middle := len(wasm) / 2
				return wasm[:middle] + string(wasm[middle]^1) + wasm[middle+1:]
			})
		}, "digest_mismatch", []string{"%s/chant.wasm has the SHA-256 ", "its manifest was built for "}},
		{"the digest is another", func(t *testing.T, dir string) {
			editFile(t, filepath.Join(dir, "plugin.toml"), func(text string) string {
				return sha256Line.ReplaceAllString(text, `sha256 = "`+strings.Repeat("0a", 32)+`"`)
			})
		}, "digest_mismatch", []string{"%s/chant.wasm has the SHA-256 ", "its manifest was built for " + strings.Repeat("0a", 32)}},
		{"it is truncated", truncate, "digest_mismatch", []string{"%s/chant.wasm has the SHA-256 "}},
		{"it was truncated when its digest was taken", func(t *testing.T, dir string) {
			truncate(t, dir)
			updateDigest(t, dir)
		}, "invalid_module", []string{"cannot run %s/chant.wasm: "}},
		{"it is empty", func(t *testing.T, dir string) {
			putFile(t, filepath.Join(dir, "chant.wasm"), "")
			updateDigest(t, dir)
		}, "invalid_module", []string{"cannot run %s/chant.wasm: "}},
		{"it is none of the ABI", func(t *testing.T, dir string) {
			putFile(t, filepath.Join(dir, "chant.wasm"), "\x00asm\x01\x00\x00\x00")
			updateDigest(t, dir)
		}, "invalid_module", []string{"cannot run %s/chant.wasm: ", "bulkhead_abi_1"}},
		{"it is a folder", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "chant.wasm")); err != nil {
				t.Fatal(err)
			}
			putFile(t, filepath.Join(dir, "chant.wasm", "x"), "")
		}, "module_missing", []string{"its module cannot be read", "%s/chant.wasm"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			all := copyPlugins(t, "chant", "hello")
			dir := filepath.Join(all, "chant")
			test.spoil(t, dir)
			says := []string{"bulkhead: chant_status "}
			for _, text := range test.says {
				says = append(says, strings.ReplaceAll(text, "%s", dir))
			}
			s := servePlugins(t, all)
			for range 2 {
				s.wantFailure("chant_status", `{}`, test.failure, says...)
			}
			if text := s.mustCall("hello_greet", `{"name":"Ada"}`); text != "Hello, Ada!" {
				t.Error(text)
			}
			s.end()
		})
	}
}

// TestRepairedModuleIsUsedWithoutRestart is used again by the next call, without a restart.
func TestRepairedModuleIsUsedWithoutRestart(t *testing.T) {
	t.Parallel()
	all := copyPlugins(t, "misbehave", "hello")
	module := filepath.Join(all, "hello", "hello.wasm")
	content := readFile(t, module)
	putFile(t, module, "")
	s := servePlugins(t, all)
	s.wantFailure("hello_greet", `{"name":"Ada"}`, "digest_mismatch")
	putFile(t, module, content)
	if text := s.mustCall("hello_greet", `{"name":"Ada"}`); text != "Hello, Ada!" {
		t.Error(text)
	}
	s.end()
}

// TestConflictingPluginsPreventStart keep the server from starting: which of them is meant nobody can know.
func TestConflictingPluginsPreventStart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(string) string
		says []string
	}{
		{"two offer the same tool", replaceOnce(`name        = "hello"`, `name        = "greeter"`), []string{
			`plugins "greeter" (%s/copy) and "hello" (%s/hello) both offer the tool hello_greet`, "deny_tools in bulkhead.toml"}},
		{"two have the same name", replaceOnce(`"hello_greet"`, `"hello_again"`), []string{
			`two plugins are called "hello": %s/copy and %s/hello`, "take one of them out"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			all := copyPlugins(t, "hello")
			if err := os.CopyFS(filepath.Join(all, "copy"), os.DirFS(filepath.Join(all, "hello"))); err != nil {
				t.Fatal(err)
			}
			editFile(t, filepath.Join(all, "copy", "plugin.toml"), test.edit)
			s := servePlugins(t, all)
			if code, lines := s.exit(); code != 2 || len(lines) > 0 {
				t.Errorf("exit code %d, output %q", code, lines)
			}
			for _, text := range test.says {
				if text = strings.ReplaceAll(text, "%s", all); !strings.Contains(s.log.String(), text) {
					t.Errorf("got %s, want that it says %s", s.log, text)
				}
			}
		})
	}
}
