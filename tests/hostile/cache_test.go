//go:build unix

package hostile

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTamperedCacheIsRecompiled checks that the host does not load changed files of the cache, which hold native code.
func TestTamperedCacheIsRecompiled(t *testing.T) {
	t.Parallel()
	module := plugin().Bytes()
	cache := t.TempDir()
	serveVictim := func() *server {
		w := newWorkspace(t)
		w.addModule("victim", module, "")
		for i, variable := range w.env {
			if strings.HasPrefix(variable, "XDG_CACHE_HOME=") {
				w.env[i] = "XDG_CACHE_HOME=" + cache
			}
		}
		return w.serve()
	}
	checkCall := func(s *server) {
		t.Helper()
		if got := s.call("victim", `{}`); got != (answer{Text: "done"}) {
			t.Errorf("the call was answered with %+v", got)
		}
		s.end()
	}
	checkCall(serveVictim())
	code := smallest(t, filepath.Join(cache, "bulkhead", "module-*", "wazero-*", "*"))
	for name, tamper := range map[string]func([]byte) []byte{
		"one bit differs": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"truncated":       func(b []byte) []byte { return b[:len(b)/2] },
		"replaced":        func([]byte) []byte { return []byte("\x7fELF") },
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(code)
			if err == nil {
				err = os.WriteFile(code, tamper(data), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			s := serveVictim()
			checkCall(s)
			if !strings.Contains(s.log.String(), "compiled code is damaged and is compiled again") {
				t.Error("the log does not report the damaged code")
			}
		})
	}
}

// smallest returns the smallest matching file: the code of the handmade module, since Go modules are larger.
func smallest(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) < 2 {
		t.Fatalf("%s: %q, %v", pattern, files, err)
	}
	size := func(file string) int64 {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	return slices.MinFunc(files, func(a, b string) int { return cmp.Compare(size(a), size(b)) })
}
