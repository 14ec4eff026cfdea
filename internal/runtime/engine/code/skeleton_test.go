package code

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
)

// plugin returns a module with a large function.
func plugin() []byte {
	return wasmtest.Plugin(bytes.Repeat(wasmtest.Invoke(wasmtest.Log, 1, 0, 1), 100), `{"result":{}}`).Bytes()
}

func TestSkeletonKeepsAllButBodies(t *testing.T) {
	result, err := meter.Rewrite(plugin(), meter.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	bare, err := skeleton(result.Module)
	if err != nil {
		t.Fatal(err)
	}
	if len(bare) >= len(result.Module) {
		t.Errorf("the skeleton has %d bytes, and the module only %d", len(bare), len(result.Module))
	}
	again, err := skeleton(bare)
	if err != nil || !bytes.Equal(again, bare) {
		t.Errorf("the skeleton of a skeleton differs: %v", err)
	}
	runtime := wazero.NewRuntime(t.Context())
	defer runtime.Close(t.Context())
	describe := func(module []byte) (imports, exports, memories int) {
		compiled, err := runtime.CompileModule(t.Context(), module)
		if err != nil {
			t.Fatal(err)
		}
		return len(compiled.ImportedFunctions()), len(compiled.ExportedFunctions()), len(compiled.ExportedMemories())
	}
	wantImports, wantExports, wantMemories := describe(result.Module)
	imports, exports, memories := describe(bare)
	if imports != wantImports || exports != wantExports || memories != wantMemories {
		t.Errorf("%d imports, %d exports, %d memories, want %d, %d, %d", imports, exports, memories, wantImports, wantExports, wantMemories)
	}
}

func TestSkeletonRefusesMalformedModules(t *testing.T) {
	for _, module := range []string{"", "\x00asm", "\x00asm\x01\x00\x00\x00\x0a", "\x00asm\x01\x00\x00\x00\x0a\x05", "\x00asm\x01\x00\x00\x00\x0a\x01\x05", "\x00asm\x01\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
		if bare, err := skeleton([]byte(module)); err == nil {
			t.Errorf("%q: got %q", module, bare)
		}
	}
}

// The native code of a skeleton traps and must never be used. If wazero does not find the code of the whole module, loading
// must fail.
func TestLoadRejectsCodeOfSkeleton(t *testing.T) {
	dir := t.TempDir()
	if err := compileTo(plugin(), dir, 1); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, wazeroPrefix+"*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v", files, err)
	}
	program, err := Load(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	bare, err := os.ReadFile(filepath.Join(dir, moduleFile))
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	if _, err := compile(bare, other, 1); err != nil {
		t.Fatal(err)
	}
	stubs, err := filepath.Glob(filepath.Join(other, wazeroPrefix+"*", "*"))
	if err != nil || len(stubs) != 1 || filepath.Base(stubs[0]) != filepath.Base(files[0]) {
		t.Fatalf("wazero looks for %q, and the code is in %q: %v", stubs, files, err)
	}
	full, stub := size(t, files[0]), size(t, stubs[0])
	if full <= stub {
		t.Errorf("the code of the whole module has %d bytes, that of the skeleton %d", full, stub)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(t.Context(), dir); err == nil {
		t.Error("a module without code was loaded")
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
