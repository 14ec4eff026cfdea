//go:build unix

package code

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/modinfo"
)

func TestReadInfo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plugin := file("plugin.wasm", wasmtest.Answering("{}"))
	for name, c := range map[string]struct {
		role, file string
		kind       modinfo.Kind
		reason     Reason
		err        string
	}{
		"plugin":             {role: "info", file: plugin, kind: modinfo.Plugin},
		"text":               {role: "info", file: file("x.sh", []byte("#!/bin/sh")), kind: modinfo.Other},
		"missing file":       {role: "info", file: filepath.Join(dir, "none"), reason: Missing, err: "there is no module at"},
		"directory":          {role: "info", file: dir, reason: Missing, err: "is not a regular file"},
		"crash":              {role: "crashed", file: plugin, reason: Compiler, err: "crashed"},
		"child without file": {role: "compile", file: plugin, reason: Compiler, err: "description cannot be read"},
	} {
		info, sum, err := ReadInfo(t.Context(), []string{os.Args[0], roleArgument, c.role, t.TempDir()}, c.file)
		failure := (*Error)(nil)
		switch {
		case c.err == "" && (err != nil || info.Kind != c.kind || len(sum) != 64):
			t.Errorf("%s: got the kind %q, the digest %q and the error %v", name, info.Kind, sum, err)
		case c.err != "" && (!errors.As(err, &failure) || failure.Reason != c.reason || !strings.Contains(failure.Text, c.err)):
			t.Errorf("%s: got the error %v, want %q", name, err, c.err)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := ReadInfo(canceled, []string{os.Args[0], roleArgument, "hanging", t.TempDir()}, plugin); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: got the error %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) != 0 {
		t.Errorf("temporary files remain: %q", left)
	}
}
