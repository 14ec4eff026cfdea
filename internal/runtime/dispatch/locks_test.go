//go:build unix

package dispatch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/grant"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// newLocker returns the locker of a worker that is granted w to write, r to read, and absent, which does not exist, to write. They are
// in the directory that is returned too. The log is written to log.
func newLocker(t *testing.T, log *bytes.Buffer) (*locker, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Join(dir, "w", ".git"), 0o755), os.MkdirAll(filepath.Join(dir, "w", "private"), 0o755), os.Mkdir(filepath.Join(dir, "r"), 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	g := config.Grant{Deny: []string{"private"}}
	for name, access := range map[string]manifest.Access{"w": manifest.ReadWrite, "r": manifest.Read, "absent": manifest.ReadWrite} {
		g.FS = append(g.FS, config.Mount{Path: filepath.Join(dir, name), Access: access})
	}
	set, err := grant.Resolve(grant.Config{Plugin: "p", Grant: g, Places: config.Places{Home: filepath.Join(dir, "home"), State: filepath.Join(dir, "state")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	p := &plugin{Plugin: &catalog.Plugin{}}
	p.Grant, p.Log = g, hclog.New(&hclog.LoggerOptions{Output: log})
	l, err := p.locker(set)
	if err != nil {
		t.Fatal(err)
	}
	return l, dir
}

func lockParams(path string) []byte {
	return []byte(`{"name":"n","folder":` + string(rawjson.Quote(path)) + `}`)
}

// A worker that was taken over names any path. It gets locks only of what its plugin may write, whatever the worker checks itself.
func TestLocksOfHostileWorkerAreThoseOfItsGrant(t *testing.T) {
	var log bytes.Buffer
	l, dir := newLocker(t, &log)
	if err := os.Symlink("../r", filepath.Join(dir, "w", "link")); err != nil {
		t.Fatal(err)
	}
	call := l.begin()
	defer call.End()
	codeOf := func(path string) string {
		err := call.Lock(t.Context(), lockParams(path))
		if failure, ok := errors.AsType[*abi.HostError](err); ok {
			return failure.Code
		} else if err != nil {
			return err.Error()
		}
		return ""
	}
	for path, want := range map[string]string{
		"w": "", "r": abi.HostDenied, "w/link": abi.HostDenied, "w/../r": abi.HostDenied, "w/.git": abi.HostDenied, "w/private": abi.HostDenied,
		".": abi.HostDenied, "state": abi.HostDenied, "absent": abi.HostFailed,
	} {
		if got := codeOf(dir + "/" + path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	for i := range l.set.Mounts {
		if err := l.create(i); err != nil {
			t.Errorf("create %s: %v", l.set.Mounts[i].Path, err)
		}
	}
	if got := codeOf(dir + "/absent"); got != "" {
		t.Errorf("a granted directory that was created: got %q, want success", got)
	}
	if l.create(-1) == nil || l.create(len(l.set.Mounts)) == nil {
		t.Error("a directory was created for a mount that does not exist")
	}
	for range 100 {
		codeOf(dir + "/r")
	}
	if n := strings.Count(log.String(), "denied"); n == 0 || n > 20 {
		t.Errorf("%d refusals were logged, want at most 20", n)
	}
}

func TestLocksAfterEndOfWorkerFail(t *testing.T) {
	l, dir := newLocker(t, &bytes.Buffer{})
	call := l.begin()
	defer call.End()
	l.Close()
	if err := l.set.Close(); err != nil {
		t.Fatal(err)
	}
	if err := call.Lock(t.Context(), lockParams(dir+"/w")); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("got %v, want an error", err)
	}
}

func TestDecodingOfLocksIsBounded(t *testing.T) {
	const size = 3 << 20
	l, _ := newLocker(t, &bytes.Buffer{})
	call := l.begin()
	defer call.End()
	for name, params := range map[string]string{
		"members": `{` + strings.TrimSuffix(strings.Repeat(`"":0,`, size/5), ",") + `}`, "depth": strings.Repeat("[", size) + strings.Repeat("]", size), "a string": `{"name":7}`,
	} {
		var err error
		if allocated := testenv.AllocatedBy(func() { err = call.Lock(t.Context(), []byte(params)) }); err == nil || allocated > 3*size {
			t.Errorf("%s: got %v after allocating %d bytes", name, err, allocated)
		}
	}
}

// A directory that is being moved is no fault of the grant: the call can be repeated.
func TestMovedDirectoryMakesCallsBusy(t *testing.T) {
	p := &plugin{Plugin: &catalog.Plugin{}}
	p.Log = hclog.NewNullLogger()
	for err, want := range map[error]engine.Code{grant.ErrMoved: engine.CodeQueue, errors.New("refused"): failureSandbox} {
		if got := p.sandboxError(fmt.Errorf("granted directory /x: %w", err)); got.Code != want || !strings.Contains(got.Message, err.Error()) {
			t.Errorf("%v: got %+v, want the code %s", err, got, want)
		}
	}
}
