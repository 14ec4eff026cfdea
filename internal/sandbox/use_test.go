//go:build unix

package sandbox

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// TestUsesOfGrants has one call for each case.
func TestUsesOfGrants(t *testing.T) {
	w := newWorld(t)
	for path, text := range map[string]string{"$W/work/f": "text", "$W/work/sub/f": "text", "$W/other/f": "text", "$W/states/f": "text"} {
		if err := os.WriteFile(w.path(path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"$W/work/away": "../other/f", "$W/work/gone": "nowhere"} {
		if err := os.Symlink(target, w.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	repository(t, w.path("$W/workshop"))
	grant := w.grant("rw $W/work", "r $W/work/sub", "r $W/other", "state $W/states")
	grant.Git = []config.Git{{Repo: w.path("$W/workshop"), Access: "commit"}}
	b := w.new(t, Setup{Plugin: "p", Grant: grant})
	open := func(path string, flag experimentalsys.Oflag) func(*vfs.FS) {
		return func(tree *vfs.FS) {
			if f, errno := tree.OpenFile(w.path(path), flag, 0); errno == 0 {
				f.Close()
			}
		}
	}
	stat := func(path string) func(*vfs.FS) {
		return func(tree *vfs.FS) { _, _ = tree.Stat(w.path(path)) }
	}
	scan := func(path string) func(*vfs.FS) {
		return func(tree *vfs.FS) {
			if errno := tree.Scan(w.path(path), vfs.Scan{Depth: 5}, func(*vfs.Scanned) bool { return true }); errno != 0 {
				t.Errorf("scan %s: %v", path, errno)
			}
		}
	}
	for name, c := range map[string]struct {
		do   func(*vfs.FS)
		want []string
	}{
		"a directory is there":          {stat("$W/work"), []string{"read $W/work"}},
		"a file is there":               {stat("$W/work/f"), []string{"read $W/work"}},
		"a file is not there":           {stat("$W/work/nothing"), nil},
		"read a file":                   {open("$W/work/f", experimentalsys.O_RDONLY), []string{"read $W/work"}},
		"read a file of an inner grant": {open("$W/work/sub/f", experimentalsys.O_RDONLY), []string{"read $W/work/sub"}},
		"read a file by a link":         {open("$W/work/away", experimentalsys.O_RDONLY), []string{"read $W/work", "read $W/other"}},
		"read a file by an alias":       {open("$W/link/f", experimentalsys.O_RDONLY), nil},
		"a dangling symbolic link":      {stat("$W/work/gone"), []string{"read $W/work"}},
		"list a directory":              {open("$W/other", experimentalsys.O_RDONLY), []string{"read $W/other"}},
		"list what contains the grants": {open("$W", experimentalsys.O_RDONLY), nil},
		"scan a directory":              {scan("$W/work"), []string{"read $W/work", "read $W/work/sub"}},
		"scan what contains grants":     {scan("$W"), []string{"read $W/work", "read $W/work/sub", "read $W/other"}},
		"write a file":                  {open("$W/work/f", experimentalsys.O_RDWR), []string{"read $W/work", "write $W/work"}},
		"write what may only be read":   {open("$W/other/f", experimentalsys.O_RDWR), []string{"read $W/other"}},
		"make a directory":              {func(tree *vfs.FS) { _ = tree.Mkdir(w.path("$W/work/new"), 0) }, []string{"write $W/work"}},
		"the state":                     {open("$W/states/f", experimentalsys.O_RDWR), nil},
		"read what is not granted":      {open("$W/file", experimentalsys.O_RDONLY), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := b.uses(t, w, func(during *operationCaller) {
				tree := b.FS(during).(*vfs.FS)
				c.do(tree)
			})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	for request, want := range map[string][]string{
		`{"op":"git/status","params":{"repo":"$W/workshop"}}`:            {"read $W/workshop"},
		`{"op":"git/add","params":{"repo":"$W/workshop","paths":["."]}}`: {"write $W/workshop"},
		`{"op":"git/status","params":{"repo":"$W/work"}}`:                nil,
		`{"op":"lock","params":{"name":"n","folder":"$W/work/sub/.."}}`:  {"read $W/work", "write $W/work"},
		`{"op":"fs/scan","params":{"path":"$W/other","depth":1}}`:        {"read $W/other"},
	} {
		got := b.uses(t, w, func(during *operationCaller) {
			b.Operate(during.ctx, []byte(w.path(request)))
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", request, diff)
		}
	}
}

// uses returns the grants that a call uses.
func (b *Box) uses(t *testing.T, w world, call func(during *operationCaller)) (all []string) {
	during := &operationCaller{ctx: Begin(t.Context(), nil, nil)}
	call(during)
	return b.named(w, b.Used(during.ctx))
}

func (b *Box) named(w world, used Uses) (all []string) {
	var paths []string
	for _, m := range b.config.Mounts {
		paths = append(paths, m.Path)
	}
	for _, r := range b.config.Repos {
		paths = append(paths, r.Repo)
	}
	for i, path := range paths {
		if path == b.config.State { // which the host leaves out
			continue
		}
		path = strings.ReplaceAll(path, string(w), "$W")
		if used[i/64]>>(i%64)&1 != 0 {
			all = append(all, "read "+path)
		}
		if i += maxUses; used[i/64]>>(i%64)&1 != 0 {
			all = append(all, "write "+path)
		}
	}
	return all
}

// TestCallsUseWhatWasReadAtLoad has accesses outside of a call, and a call after them.
func TestCallsUseWhatWasReadAtLoad(t *testing.T) {
	w := newWorld(t)
	b := w.new(t, Setup{Plugin: "p", Grant: w.grant("rw $W/work", "r $W/other")})
	if _, errno := b.FS(&faults{}).Stat(w.path("$W/work/sub")); errno != 0 {
		t.Fatal(errno)
	}
	got := b.uses(t, w, func(during *operationCaller) { _, _ = b.FS(during).Stat(w.path("$W/other")) })
	if diff := cmp.Diff([]string{"read $W/work", "read $W/other"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := b.uses(t, w, func(*operationCaller) {}); !slices.Equal(got, []string{"read $W/work"}) {
		t.Errorf("a call that uses nothing: %q", got)
	}
}

// TestUsesBeyondTheBoundAreNotKnown has more grants than there are bits.
func TestUsesBeyondTheBoundAreNotKnown(t *testing.T) {
	b := &Box{}
	ctx := Begin(t.Context(), nil, nil)
	b.use(ctx, maxUses, false)
	b.use(ctx, maxUses, true)
	b.use(ctx, maxUses-1, true)
	if got := b.Used(ctx); got != (Uses{3: 1 << 63}) {
		t.Errorf("got %x", got)
	}
}
