//go:build unix

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

// editFile replaces the content of a file by the result of the function edit, which must be different.
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

// updateDigest writes the digest of chant's module into its manifest.
func updateDigest(t *testing.T, dir string) {
	t.Helper()
	sum := sha256.Sum256([]byte(readFile(t, filepath.Join(dir, "chant.wasm"))))
	editFile(t, filepath.Join(dir, "plugin.toml"), func(text string) string {
		return sha256Line.ReplaceAllString(text, fmt.Sprintf("sha256 = %q", hex.EncodeToString(sum[:])))
	})
}

// TestBrokenPluginIsLeftOut breaks chant in ways that the host detects without loading the module. The tools of chant are then
// unknown, the log and the error of a call give the reason, and the plugin hello is still served.
func TestBrokenPluginIsLeftOut(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		damage func(t *testing.T, dir string) // breaks chant in its directory dir
		want   []string                       // parts of the reason; %s stands for dir
		// unparsable is set if the names of the tools cannot be parsed from the manifest.
		unparsable bool
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
		{"a manifest that names a module outside its directory", func(t *testing.T, dir string) {
			editFile(t, filepath.Join(dir, "plugin.toml"), replaceOnce(`"chant.wasm"`, `"../hello/hello.wasm"`))
		}, []string{"%s/plugin.toml:", "module.file"}, false},
		{"a missing module", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "chant.wasm")); err != nil {
				t.Fatal(err)
			}
		}, []string{"%s/plugin.toml:", "module.file: there is no module at ", "`bulkhead plugin build SOURCE -o "}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			all := copyPlugins(t, "chant", "hello")
			dir := filepath.Join(all, "chant")
			test.damage(t, dir)
			var want []string
			for _, text := range test.want {
				want = append(want, strings.ReplaceAll(text, "%s", dir))
			}
			s := servePlugins(t, all)
			if names := s.names(); !slices.Equal(names, []string{"hello_greet"}) {
				t.Errorf("offered: %q", names)
			}
			s.waitForLog(append(want, "the plugin is left out")...)
			if test.unparsable {
				s.wantUnknown("chant_status")
			} else {
				s.wantUnknown("chant_status", append(want, `plugin "chant" is left out`)...)
			}
			if text := s.mustCall("hello_greet", `{"name":"Ada"}`); text != "Hello, Ada!" {
				t.Error(text)
			}
			s.end()
		})
	}
}

// TestInvalidModuleFailsItsCalls checks that each call of chant fails with the reason, since the first call loads the module,
// and that the plugin hello is served.
func TestInvalidModuleFailsItsCalls(t *testing.T) {
	t.Parallel()
	truncate := func(t *testing.T, dir string) {
		if err := os.Truncate(filepath.Join(dir, "chant.wasm"), 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name    string
		damage  func(t *testing.T, dir string)
		failure string
		want    []string
	}{
		{"one bit differs", func(t *testing.T, dir string) {
			editFile(t, filepath.Join(dir, "chant.wasm"), func(wasm string) string {
				middle := len(wasm) / 2
				return wasm[:middle] + string(wasm[middle]^1) + wasm[middle+1:]
			})
		}, "digest_mismatch", []string{"%s/chant.wasm has the SHA-256 ", "its manifest contains "}},
		{"the digest differs", func(t *testing.T, dir string) {
			editFile(t, filepath.Join(dir, "plugin.toml"), func(text string) string {
				return sha256Line.ReplaceAllString(text, `sha256 = "`+strings.Repeat("0a", 32)+`"`)
			})
		}, "digest_mismatch", []string{"%s/chant.wasm has the SHA-256 ", "its manifest contains " + strings.Repeat("0a", 32)}},
		{"truncated", truncate, "digest_mismatch", []string{"%s/chant.wasm has the SHA-256 "}},
		{"truncated, with a matching digest", func(t *testing.T, dir string) {
			truncate(t, dir)
			updateDigest(t, dir)
		}, "invalid_module", []string{"cannot run %s/chant.wasm: "}},
		{"empty, with a matching digest", func(t *testing.T, dir string) {
			putFile(t, filepath.Join(dir, "chant.wasm"), "")
			updateDigest(t, dir)
		}, "invalid_module", []string{"cannot run %s/chant.wasm: "}},
		{"no export of the ABI", func(t *testing.T, dir string) {
			putFile(t, filepath.Join(dir, "chant.wasm"), "\x00asm\x01\x00\x00\x00")
			updateDigest(t, dir)
		}, "invalid_module", []string{"cannot run %s/chant.wasm: ", "bulkhead_abi_1"}},
		{"a directory", func(t *testing.T, dir string) {
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
			test.damage(t, dir)
			want := []string{"bulkhead: chant_status "}
			for _, text := range test.want {
				want = append(want, strings.ReplaceAll(text, "%s", dir))
			}
			s := servePlugins(t, all)
			for range 2 {
				s.wantFailure("chant_status", `{}`, test.failure, want...)
			}
			if text := s.mustCall("hello_greet", `{"name":"Ada"}`); text != "Hello, Ada!" {
				t.Error(text)
			}
			s.end()
		})
	}
}

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

// TestPluginsInConflictAreLeftOut checks that the host starts, but does not choose between plugins of a directory that have
// the same name, and that it tells the user and the client.
func TestPluginsInConflictAreLeftOut(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(string) string
		want []string
	}{
		{"the same tool", replaceOnce(`name        = "hello"`, `name        = "greeter"`), []string{
			`plugins "greeter" (%s/copy/plugin.toml:`, `and "hello" (%s/hello/plugin.toml:`, "both offer the tool hello_greet", "deny_tools in bulkhead.toml"}},
		{"the same name", replaceOnce(`"hello_greet"`, `"hello_again"`), []string{
			`two plugins are called "hello": %s/copy/plugin.toml:`, "remove one of them"}},
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
			for i := range test.want {
				test.want[i] = strings.ReplaceAll(test.want[i], "%s", all)
			}
			s.waitForLog(test.want...)
			s.wantUnknown("hello_greet", test.want...)
			if names := s.names(); len(names) > 0 {
				t.Errorf("offered: %q", names)
			}
			s.end()
		})
	}
}
