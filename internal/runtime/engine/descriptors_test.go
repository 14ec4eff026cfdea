package engine

import (
	"os"
	"strings"
	"testing"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// mountDir returns a file system that mounts a directory at its own path.
func mountDir(t *testing.T, dir string) func(Caller) experimentalsys.FS {
	return mountLimited(t, dir, 0)
}

// mountLimited is mountDir with a limit of open files; 0: the default.
func mountLimited(t *testing.T, dir string, maxOpen int) func(Caller) experimentalsys.FS {
	t.Helper()
	handle, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { handle.Close() })
	mounts, err := vfs.NewMounts([]vfs.Mount{{Path: dir, Dir: handle}})
	if err != nil {
		t.Fatal(err)
	}
	return func(Caller) experimentalsys.FS { return vfs.New(vfs.Config{Mounts: mounts, MaxOpen: maxOpen}) }
}

func TestInstanceWithOpenFileIsDiscarded(t *testing.T) {
	dir := t.TempDir()
	m := newModule(t, Spec{FS: mountDir(t, dir), Env: map[string]string{"PWD": dir}})
	var first string
	for i := range 5 {
		got, err := callTool(t.Context(), m, "leave", `{}`)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = got
		} else if got != first {
			t.Errorf("got the descriptor %s, want %s as in the first call", got, first)
		}
	}
}

// wazero keeps the directory position of the preopened descriptor of "/". The next call must not continue from there.
func TestRootDescriptorIsFreshInEachCall(t *testing.T) {
	const success, notFound = `"text":"0"`, `"text":"44"`
	dir := t.TempDir()
	m := newModule(t, Spec{FS: mountDir(t, dir), Env: map[string]string{"PWD": dir}})
	for _, ask := range []struct{ arguments, want string }{{`{"position":0}`, success}, {`{"position":2}`, notFound}} {
		for range 4 { // on each of the pooled instances
			if got, err := callTool(t.Context(), m, "read_root", ask.arguments); err != nil || !strings.Contains(got, ask.want) {
				t.Errorf("%s: got %s, %v, want %s", ask.arguments, got, err, ask.want)
			}
		}
	}
}
