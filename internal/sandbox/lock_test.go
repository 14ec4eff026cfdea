//go:build unix

package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestLockIsHeldUntilCallEnds(t *testing.T) {
	w := newWorld(t)
	// The two boxes have the same state directory, like two hosts of one user.
	one := w.locker(t, Setup{Plugin: "p", Places: config.Places{State: w.path("$W/states")}})
	two := w.locker(t, Setup{Plugin: "p", Places: config.Places{State: w.path("$W/states")}})
	ctx, held := t.Context(), one.Begin()
	for range 2 { // the lock is reentrant
		if err := held.Lock(ctx, abi.Lock{Name: "confirm"}); err != nil {
			t.Fatal(err)
		}
	}
	waiting := two.Begin()
	defer waiting.End()
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if err := waiting.Lock(short, abi.Lock{Name: "confirm"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("lock of the second call, while the first holds it: got %v, want a timeout", err)
	}
	if err := waiting.Lock(ctx, abi.Lock{Name: "another"}); err != nil {
		t.Errorf("lock of another name: got %v", err)
	}
	taken := make(chan error)
	go func() { taken <- waiting.Lock(ctx, abi.Lock{Name: "confirm"}) }()
	held.End()
	if err := <-taken; err != nil {
		t.Errorf("lock after the first call has ended: got %v", err)
	}
}

func TestPluginsDoNotShareLocks(t *testing.T) {
	w := newWorld(t)
	for _, plugin := range []string{"p", "q"} {
		short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		call := w.locker(t, Setup{Plugin: plugin, Places: config.Places{State: w.path("$W/states")}}).Begin()
		defer call.End()
		if err := call.Lock(short, abi.Lock{Name: "n"}); err != nil {
			t.Errorf("lock by the plugin %s: got %v", plugin, err)
		}
	}
}

func TestLocksAreBounded(t *testing.T) {
	w := newWorld(t)
	ctx, call := t.Context(), w.locker(t, Setup{Plugin: "p", Grant: w.grant("rw $W/work"), Places: config.Places{State: w.path("$W/states")}}).Begin()
	defer call.End()
	for name, says := range map[string]string{"": "1 to 256 bytes", strings.Repeat("x", 257): "1 to 256 bytes"} {
		if err := call.Lock(ctx, abi.Lock{Name: name}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("lock of the name %q: got %v", name, err)
		}
	}
	for i := range 16 {
		if err := call.Lock(ctx, abi.Lock{Name: "../" + strings.Repeat("n", i+1)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"", w.path("$W/work")} {
		if err := call.Lock(ctx, abi.Lock{Name: "one more", Folder: folder}); err == nil || !strings.Contains(err.Error(), "already holds 16 locks, the maximum") || len(call.dirs) > 0 {
			t.Errorf("lock beyond the maximum: got %v, and holds %d directories", err, len(call.dirs))
		}
	}
	files, err := os.ReadDir(w.path("$W/states/.locks/p"))
	if err != nil || len(files) != 16 {
		t.Errorf("the directory of locks contains %v, %v; want 16 files", files, err)
	}
	nowhere := w.locker(t, Setup{Plugin: "p"}).Begin()
	if err := nowhere.Lock(ctx, abi.Lock{Name: "n"}); err == nil {
		t.Error("a name was locked without a state directory")
	}
}

func TestFileModes(t *testing.T) {
	w := newWorld(t)
	file := w.path("$W/work/tool")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.path("$W/other/secret"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(w.path("$W/other/secret"), w.path("$W/work/out")); err != nil {
		t.Fatal(err)
	}
	box := w.new(t, Setup{Plugin: "p", Grant: w.grant("rw $W/work", "r $W/workshop")})
	mode := func(m uint32) *uint32 { return &m }
	for _, test := range []struct {
		name string
		ask  abi.FileMode
		want uint32
		code string
	}{
		{"the mode is returned", abi.FileMode{Path: file}, 0o644, ""},
		{"it can be set", abi.FileMode{Path: file, Mode: mode(0o755)}, 0o755, ""},
		{"not beyond the permissions", abi.FileMode{Path: file, Mode: mode(0o4755)}, 0, abi.HostInvalid},
		{"not in a directory that can only be read", abi.FileMode{Path: w.path("$W/workshop"), Mode: mode(0o700)}, 0, abi.HostDenied},
		{"not through a link out of the grant", abi.FileMode{Path: w.path("$W/work/out"), Mode: mode(0o777)}, 0, abi.HostDenied},
		{"a path outside of the grant does not exist", abi.FileMode{Path: w.path("$W/other/secret")}, 0, abi.HostFailed},
		{"an absent file is reported", abi.FileMode{Path: filepath.Join(w.path("$W/work"), "none")}, 0, abi.HostFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := box.mode(t.Context(), test.ask)
			if test.code == "" {
				if err != nil || got.(abi.FileModeResult).Mode != test.want {
					t.Errorf("got %v, %v", got, err)
				}
				return
			}
			if failure := (*abi.HostError)(nil); !errors.As(err, &failure) || failure.Code != test.code {
				t.Errorf("got %v, want the code %s", err, test.code)
			}
		})
	}
	for name, want := range map[string]os.FileMode{"work/tool": 0o755, "other/secret": 0o600, "workshop": os.ModeDir | 0o755} {
		if info, err := os.Stat(filepath.Join(string(w), name)); err != nil || info.Mode() != want {
			t.Errorf("the mode of %s is %v, %v; want the one that was set", name, info.Mode(), err)
		}
	}
}
