//go:build linux || darwin

package vfs_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// A Go program, compiled to a module, uses the tree through wazero with package os.
func TestGoProgram(t *testing.T) {
	testenv.NotShort(t, "compiles a module of a Go program")
	module, err := os.ReadFile(testcache.Must(testcache.Command("testdata/guest")))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	entries, err := os.ReadDir(w.at("w"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(w.at("w"), e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	runtime := wazero.NewRuntime(ctx)
	defer runtime.Close(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, runtime)
	mount := wazero.NewFSConfig().(sysfs.FSConfig).WithSysFSMount(w.fs, "/")
	var out bytes.Buffer
	_, err = runtime.InstantiateWithConfig(ctx, module, wazero.NewModuleConfig().
		WithFSConfig(mount).WithArgs("guest", w.at("w"), w.at("ro"), w.at("out/canary.txt")).
		WithEnv("PWD", w.at("w")).WithRandSource(rand.Reader).
		WithSysWalltime().WithSysNanotime().WithStdout(&out).WithStderr(&out))
	if err != nil || out.String() != "all well\n" {
		t.Errorf("the program printed %q and exited with %v", out.String(), err)
	}
	if len(w.errors) > 0 {
		t.Errorf("the tree reported errors: %v", w.errors)
	}
	if w.host("ro/r.txt") != "r" || w.host("out/canary.txt") != canary {
		t.Error("the program changed a file outside of its writable directory")
	}
}
