//go:build unix

package sandbox

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
)

func TestRefusedFileAccessIsRecordedWithCall(t *testing.T) {
	w := newWorld(t)
	b := w.new(t, Setup{Plugin: "p", Grant: w.grant("r $W/work")})
	var got []Operation
	ctx := Begin(t.Context(), nil, func(o Operation) { got = append(got, o) })
	during := &operationCaller{ctx: ctx}
	tree := b.FS(during)
	inside, outside := string(w[1:])+"/work/new", string(w[1:])+"/other"
	if errno := tree.Mkdir(inside, 0); errno != experimentalsys.EACCES {
		t.Errorf("mkdir in a read-only directory: got %v, want EACCES", errno)
	}
	if _, errno := tree.Stat(outside); errno != experimentalsys.ENOENT {
		t.Errorf("stat outside of the grant: got %v, want ENOENT", errno)
	}
	during.ctx = context.Background()
	if errno := tree.Mkdir(inside, 0); errno != experimentalsys.EACCES {
		t.Errorf("mkdir between calls: got %v, want EACCES", errno)
	}
	want := []Operation{{"file/mkdir", "/" + inside, "denied"}, {"file/stat", "/" + outside, "denied"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
