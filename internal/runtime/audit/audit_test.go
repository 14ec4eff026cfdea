//go:build unix

package audit_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

func TestOpenNamesInvalidOption(t *testing.T) {
	for name, c := range map[string]struct {
		config audit.Config
		want   string
	}{
		"a relative file":            {audit.Config{File: "audit.jsonl"}, `file = "audit.jsonl"`},
		"no file":                    {audit.Config{}, `file = ""`},
		"a size below a line's":      {audit.Config{File: "/x", MaxSize: 100}, "max_size is 100 bytes"},
		"a negative number of files": {audit.Config{File: "/x", Keep: -1}, "keep = -1"},
		"too many files":             {audit.Config{File: "/x", Keep: audit.MaxKeep + 1}, "keep = 1001"},
		"an unknown on_failure":      {audit.Config{File: "/x", OnFailure: "ajar"}, `on_failure = "ajar"`},
		"an unknown arguments":       {audit.Config{File: "/x", Arguments: "some"}, `arguments = "some"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := audit.Open(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %s", err, c.want)
			}
		})
	}
}

func TestOpenRefusesUnsafeFiles(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(t *testing.T, file string) error
		want  string
	}{
		"a symbolic link to a file": {func(t *testing.T, file string) error {
			return os.Symlink(writeFile(t, filepath.Join(t.TempDir(), "precious"), "precious\n", 0o600), file)
		}, "symbolic link"},
		"a dangling symbolic link": {func(t *testing.T, file string) error {
			return os.Symlink(filepath.Join(t.TempDir(), "none"), file)
		}, "symbolic link"},
		"another user's": {func(t *testing.T, file string) error {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a file to another user")
			}
			return errors.Join(os.WriteFile(file, nil, 0o600), os.Chown(file, 54321, 54321))
		}, "belongs to another user (user id 54321)"},
		"a FIFO":      {func(_ *testing.T, file string) error { return syscall.Mkfifo(file, 0o600) }, "not a regular file"},
		"a directory": {func(_ *testing.T, file string) error { return os.Mkdir(file, 0o700) }, "not a regular file"},
		"a file that other users can write": {func(t *testing.T, file string) error {
			return os.Chmod(writeFile(t, file, "", 0o600), 0o622)
		}, "accessible to other users (mode 0622)"},
		"a symbolic link as the key": {func(t *testing.T, file string) error {
			return os.Symlink(writeFile(t, filepath.Join(t.TempDir(), "key"), strings.Repeat("0", 64), 0o600), file+".key")
		}, "symbolic link"},
		"a key that other users can read": {func(t *testing.T, file string) error {
			return os.Chmod(writeFile(t, file+".key", strings.Repeat("0", 64), 0o600), 0o640)
		}, "accessible to other users (mode 0640)"},
		"an invalid key": {func(t *testing.T, file string) error {
			writeFile(t, file+".key", "secret", 0o600)
			return nil
		}, "not a key of 64 hexadecimal digits"},
	} {
		t.Run(name, func(t *testing.T) {
			file := newFile(t)
			if err := c.plant(t, file); err != nil {
				t.Fatal(err)
			}
			for _, onFailure := range []string{audit.FailOpen, audit.FailClosed} {
				l, err := audit.Open(audit.Config{File: file, OnFailure: onFailure})
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file) {
					t.Errorf("got %v, want an error with the path and %q", err, c.want)
				}
				if err == nil {
					closeLog(t, l)
				}
			}
		})
	}
}

func writeFile(t *testing.T, file, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestOpenCreatesPrivateFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "logs", "deep", "audit.jsonl")
	closeLog(t, open(t, audit.Config{File: file}))
	for path, want := range map[string]os.FileMode{
		filepath.Dir(file): os.ModeDir | 0o700, filepath.Dir(filepath.Dir(file)): os.ModeDir | 0o700, file: 0o600, file + ".key": 0o600,
	} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %s, want %s", path, info.Mode(), want)
		}
	}
	if items, err := os.ReadDir(filepath.Dir(file)); err != nil || len(items) != 2 {
		t.Errorf("the directory contains %v, %v", items, err)
	}
}

func TestWriteKeepsArgumentsAsConfigured(t *testing.T) {
	raw := []byte(`{"token": "hunter2"}`)
	hashed := func(t *testing.T, file string) string {
		text, err := os.ReadFile(file + ".key")
		if err != nil {
			t.Fatal(err)
		}
		key, err := hex.DecodeString(strings.TrimSpace(string(text)))
		if err != nil || len(key) != 32 {
			t.Fatalf("key %q: %v", text, err)
		}
		mac := hmac.New(sha256.New, key)
		mac.Write(raw)
		return "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil))
	}
	for mode, want := range map[string]func(*testing.T, string) string{
		"":                  hashed,
		audit.ArgumentsHash: hashed,
		audit.ArgumentsFull: func(*testing.T, string) string { return string(raw) },
		audit.ArgumentsNone: func(*testing.T, string) string { return "" },
	} {
		t.Run(mode, func(t *testing.T) {
			file := newFile(t)
			for range 2 { // the second host uses the same key
				l := open(t, audit.Config{File: file, Arguments: mode})
				if err := l.Write(audit.Record{Kind: audit.KindCall, Arguments: raw}); err != nil {
					t.Fatal(err)
				}
				closeLog(t, l)
			}
			all := entries(t, file)
			if len(all) != 2 {
				t.Fatalf("there are %d lines", len(all))
			}
			for _, e := range all {
				if e.Arguments != want(t, file) {
					t.Errorf("the line has %q, want %q", e.Arguments, want(t, file))
				}
			}
		})
	}
}

func TestHashDependsOnLog(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		file := newFile(t)
		l := open(t, audit.Config{File: file})
		_ = l.Write(audit.Record{Arguments: []byte(`{}`)})
		closeLog(t, l)
		seen[entries(t, file)[0].Arguments] = true
	}
	if len(seen) != 2 {
		t.Error("equal arguments have the same hash in two logs")
	}
}

func TestWriteEscapesUntrustedStrings(t *testing.T) {
	file := newFile(t)
	l := open(t, audit.Config{File: file, Arguments: audit.ArgumentsFull, OnFailure: audit.FailClosed})
	hostile := "x\"}\n{\"kind\":\"call\",\"tool\":\"forged\"}\n\x1b[2J\xff\u202e"
	r := audit.Record{Kind: audit.KindCall, ID: hostile, Plugin: hostile, Client: hostile, Tool: hostile, Code: hostile, Arguments: []byte(hostile),
		Operations: []audit.Operation{{Op: hostile, Target: hostile}}}
	if err := l.Write(r); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Count(text, []byte("\n")) != 1 || bytes.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("the file contains %q", text)
	}
	if want := strings.ToValidUTF8(hostile, "\uFFFD"); entries(t, file)[0].Tool != want {
		t.Errorf("the tool is %q, want %q", entries(t, file)[0].Tool, want)
	}
}

func TestNewIDIsUniqueAcrossHosts(t *testing.T) {
	file := newFile(t)
	seen := map[string]bool{}
	for range 2 { // two hosts that share a log
		l := open(t, audit.Config{File: file})
		for range 100 {
			seen[l.NewID()] = true
		}
	}
	if len(seen) != 200 {
		t.Errorf("200 calls have %d IDs", len(seen))
	}
}

func TestNilLogDiscardsRecordsAndIsReady(t *testing.T) {
	var l *audit.Log
	if l.Ready() != nil || l.Write(audit.Record{}) != nil || l.NewID() != "" || l.Close(context.Background()) != nil {
		t.Error("a nil log is not ready, returns an error or returns an ID")
	}
}

func TestWriteFailsAfterClose(t *testing.T) {
	l := open(t, audit.Config{File: newFile(t), OnFailure: audit.FailClosed})
	closeLog(t, l)
	if l.Write(audit.Record{}) == nil || l.Ready() == nil {
		t.Error("after Close, a record is accepted or the log is ready")
	}
}
