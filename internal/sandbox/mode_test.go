//go:build unix

package sandbox

import (
	"context"
	"io/fs"
	"os"
	"strings"
	"testing"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// inCall is the Caller of a call.
type inCall struct {
	faults
	ctx context.Context
}

func (c *inCall) Context() context.Context { return c.ctx }

func TestCreateModeAppliesToNewFilesOfItsCall(t *testing.T) {
	w := newWorld(t)
	box := w.new(t, Setup{Grant: w.grant("rw $W/work")})
	if err := os.WriteFile(w.path("$W/work/old"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	call := &inCall{ctx: Begin(t.Context(), nil, nil)}
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
	create(box.FS(&inCall{ctx: Begin(t.Context(), nil, nil)}), "other")
	for name, want := range map[string]fs.FileMode{"before": 0o644, "private": 0o600, "old": 0o644, "dir": fs.ModeDir | 0o755, "other": 0o644} {
		if info, err := os.Stat(w.path("$W/work/" + name)); err != nil || info.Mode() != want {
			t.Errorf("%s has the mode %v, %v; want %v", name, info.Mode(), err, want)
		}
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
