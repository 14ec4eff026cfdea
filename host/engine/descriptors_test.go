package engine

import (
	"os"
	"strings"
	"testing"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/vfs"
)

// showing shows a folder to a module.
func showing(t *testing.T, dir string) func(Caller) experimentalsys.FS {
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
	return func(Caller) experimentalsys.FS { return vfs.New(vfs.Config{Mounts: mounts}) }
}

func TestAnInstanceThatLeavesAFileOpenIsThrownAway(t *testing.T) {
	dir := t.TempDir()
	m := newModule(t, Spec{FS: showing(t, dir), Env: map[string]string{"PWD": dir}})
	var first string
	for i := range 5 {
		got, err := callTool(t.Context(), m, "leave", `{}`)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = got
		} else if got != first {
			t.Errorf("a call got the descriptor %s, and the first one %s", got, first)
		}
	}
}

// How far the descriptor of "/" was listed, which every instance begins with, is kept by wazero: the next call
// would find it, and go on from there.
func TestTheDescriptorOfTheRootIsAsNewInEachCall(t *testing.T) {
	const success, notFound = `"text":"0"`, `"text":"44"`
	dir := t.TempDir()
	m := newModule(t, Spec{FS: showing(t, dir), Env: map[string]string{"PWD": dir}})
	for _, ask := range []struct{ arguments, want string }{{`{"position":0}`, success}, {`{"position":2}`, notFound}} {
		for range 4 { // there are several instances, of which a call gets one
			if got, err := callTool(t.Context(), m, "read_root", ask.arguments); err != nil || !strings.Contains(got, ask.want) {
				t.Errorf("%s: got %s, %v, want %s", ask.arguments, got, err, ask.want)
			}
		}
	}
}
