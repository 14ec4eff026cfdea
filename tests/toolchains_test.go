package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Debian's clang runs its linker by a name with the version, which a package has in usr/bin.
func TestUnpackedClangFindsItsLinker(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the script unpacks packages of Debian")
	}
	script, err := filepath.Abs("../.ci/toolchains")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin, toolchains := filepath.Join(dir, "bin"), filepath.Join(dir, "toolchains")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"apt-cache": "echo '  Depends: clang-14'",
		"apt-get":   `case "$1" in install) echo 'Inst clang-14 (1)'; echo 'Inst lld-14 (1)';; download) shift 2; for p in "$@"; do : >"$p.deb"; done;; esac`,
		// The files of the packages: a clang that runs its linker, and the linker.
		"dpkg-deb": `case "$2" in
*/clang-14.deb) mkdir -p "$3/usr/lib/llvm-14/bin"; printf '#!/bin/sh\nexec wasm-ld-14 "$@"\n' >"$3/usr/lib/llvm-14/bin/clang"; chmod +x "$3/usr/lib/llvm-14/bin/clang";;
*/lld-14.deb) mkdir -p "$3/usr/bin"; printf '#!/bin/sh\necho linked "$@"\n' >"$3/usr/bin/wasm-ld-14"; chmod +x "$3/usr/bin/wasm-ld-14";;
*wasm32.deb) mkdir -p "$3/usr/lib/llvm-14/lib/clang/14/lib/wasi"; : >"$3/usr/lib/llvm-14/lib/clang/14/lib/wasi/libclang_rt.builtins-wasm32.a";;
esac`,
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "mkdir", "rm", "ln", "cat", "chmod", "dirname", "find", "head", "sed", "uname"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skip(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=" + bin, "HOME=" + dir, "BULKHEAD_TOOLCHAINS=" + toolchains}
	set := exec.CommandContext(t.Context(), script, "clang")
	set.Env = env
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	clang := exec.CommandContext(t.Context(), filepath.Join(toolchains, "bin", "clang"), "x.c")
	clang.Env = env
	if out, err := clang.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "linked x.c" {
		t.Errorf("%v\n%s", err, out)
	}
}
