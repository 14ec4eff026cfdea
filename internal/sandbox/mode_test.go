//go:build unix

package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestCreateModeAppliesToNewFilesOfItsCall(t *testing.T) {
	w := newWorld(t)
	box := w.new(t, Setup{Grant: w.grant("rw $W/work")})
	if err := os.WriteFile(w.path("$W/work/old"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	call := &operationCaller{ctx: Begin(t.Context(), nil, nil)}
	tree := box.FS(call)
	create := func(tree experimentalsys.FS, name string) {
		t.Helper()
		file, errno := tree.OpenFile(w.path("$W/work/"+name), experimentalsys.O_WRONLY|experimentalsys.O_CREAT, 0)
		if errno != 0 {
			t.Fatal(errno)
		}
		_ = file.Close()
	}
	create(tree, "before")
	if got := string(box.Operate(call.ctx, []byte(`{"op":"fs/create_mode","params":{"mode":384}}`))); strings.Contains(got, "error") {
		t.Fatal(got)
	}
	create(tree, "private")
	create(tree, "old")
	if errno := tree.Mkdir(w.path("$W/work/dir"), 0); errno != 0 {
		t.Fatal(errno)
	}
	create(box.FS(&operationCaller{ctx: Begin(t.Context(), nil, nil)}), "other")
	for name, want := range map[string]fs.FileMode{"before": 0o644, "private": 0o600, "old": 0o644, "dir": fs.ModeDir | 0o755, "other": 0o644} {
		if info, err := os.Stat(w.path("$W/work/" + name)); err != nil || info.Mode() != want {
			t.Errorf("%s has the mode %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
}

// TestOperationsOnFilesAskForTheirCall checks that what denies changes to a call, such as one that may only read, gets the call of an operation.
func TestOperationsOnFilesAskForTheirCall(t *testing.T) {
	w := newWorld(t)
	c, err := openGrant(Setup{Plugin: "p", Grant: w.grant("rw $W/work")})
	if err != nil {
		t.Fatal(err)
	}
	type key struct{}
	refused := errors.New("the call may only read")
	c.Changing = func(ctx context.Context, _ bool) error {
		if ctx.Value(key{}) == nil {
			return nil
		}
		return refused
	}
	box, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.WithValue(Begin(t.Context(), nil, nil), key{}, true)
	if got := string(box.Operate(ctx, []byte(w.path(`{"op":"fs/mode","params":{"path":"$W/work/sub","mode":448}}`)))); !strings.Contains(got, `"code":"denied"`) {
		t.Errorf("fs/mode: %s", got)
	}
	if info, err := os.Stat(w.path("$W/work/sub")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
}

func TestCreateModeRefusesBitsBeyondThoseOfNewFiles(t *testing.T) {
	w := newWorld(t)
	box := w.new(t, Setup{Grant: w.grant("rw $W/work")})
	for _, mode := range []string{"493", "438", "2432", "4294967295"} {
		if got := failure(t, box.Operate(t.Context(), []byte(`{"op":"fs/create_mode","params":{"mode":`+mode+`}}`))); !strings.HasPrefix(got, abi.HostInvalid) {
			t.Errorf("mode %s: got %s", mode, got)
		}
	}
}
