package discovery

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestParseHeaders(t *testing.T) {
	var many strings.Builder
	for n := range maxHeaders + 1 {
		fmt.Fprintf(&many, "X-%d: secret\n", n)
	}
	for text, c := range map[string]struct{ want, problem string }{
		"Authorization: Bearer secret\n":             {"map[Authorization:[Bearer secret]]", ""},
		"# token\r\n\r\nx-a:secret\r\n x-b : s:t \n": {"map[X-A:[secret] X-B:[s:t]]", ""},
		"":                            {"", "it has no header"},
		"# only a comment":            {"", "it has no header"},
		"secret":                      {"", "line 1 is no header"},
		"\nX-A:":                      {"", "line 2 is no header"},
		"X A: secret":                 {"", "line 1 is no header"},
		"X-A: secret\x00":             {"", "line 1 is no header"},
		"X-A: secret\rX-B: secret":    {"", "line 1 is no header"},
		"X-A: secret\nx-a: secret":    {"", "line 2 has the same header"},
		"Content-Type: secret":        {"", "line 1 has a header that bulkhead sets"},
		"transfer-encoding: secret":   {"", "line 1 has a header that bulkhead sets"},
		"Host: secret":                {"", "line 1 has a header that bulkhead sets"},
		"Proxy-Authorization: secret": {"", "line 1 has a header that bulkhead sets"},
		"accept-encoding: secret":     {"", "line 1 has a header that bulkhead sets"},
		many.String():                 {"", "more than 32 headers"},
	} {
		got, err := parseHeaders(text)
		switch {
		case c.problem == "" && (err != nil || fmt.Sprint(map[string][]string(got)) != c.want):
			t.Errorf("%.40q: %v, %v", text, got, err)
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// TestHeadersFileIsPrivate reads files that others may change, and that are too large.
func TestHeadersFileIsPrivate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "headers")
	write := func(text string, mode os.FileMode) error {
		t.Helper()
		if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Chmod(file, mode)); err != nil {
			t.Fatal(err)
		}
		_, err := CollectorHeaders(file)
		return err
	}
	if err := write("X-A: secret", 0o600); err != nil {
		t.Error(err)
	}
	if err := write("X-A: "+strings.Repeat("secret", maxHeadersFile), 0o600); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), file) {
		t.Errorf("a large file: %v", err)
	}
	if err := write("X-A: secret", 0o666); runtime.GOOS != "windows" && (err == nil || strings.Contains(err.Error(), "secret")) {
		t.Errorf("a file that all may write: %v", err)
	}
}
