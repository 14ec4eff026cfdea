package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestGrantsListsDirectoriesInOrderWithoutState(t *testing.T) {
	w := newWorld(t)
	box := w.new(t, Setup{Plugin: "p", Grant: w.grant("rw $W/work", "r $W/workshop", "state $W/states/p", "r $W/other")})
	var out struct{ Result abi.FileGrants }
	if err := json.Unmarshal(box.Operate(t.Context(), []byte(`{"op":"fs/grants","params":null}`)), &out); err != nil {
		t.Fatal(err)
	}
	want := []abi.FileGrant{{Path: w.path("$W/work"), Write: true}, {Path: w.path("$W/workshop")}, {Path: w.path("$W/other")}}
	if diff := cmp.Diff(want, out.Result.Directories); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestFileModeHasTimeOfCreation(t *testing.T) {
	w := newWorld(t)
	box := w.new(t, Setup{Grant: w.grant("rw $W/work")})
	file := w.path("$W/work/born")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, w.path("$W/work")} {
		var out struct{ Result abi.FileModeResult }
		if err := json.Unmarshal(box.Operate(t.Context(), []byte(`{"op":"fs/mode","params":{"path":"`+path+`"}}`)), &out); err != nil {
			t.Fatal(err)
		}
		var st unix.Statx_t
		if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME, &st); err != nil {
			t.Fatal(err)
		}
		if st.Mask&unix.STATX_BTIME == 0 {
			t.Skip("this file system does not tell when a file was created")
		}
		if got := out.Result.Created; got == nil || *got != st.Btime.Sec*1000+int64(st.Btime.Nsec/1e6) {
			t.Errorf("%s: got %v, want %v", path, got, st.Btime)
		}
	}
}

func TestFileModeWithoutTimeOfCreation(t *testing.T) {
	dir := fmt.Sprintf("/proc/%d/task", os.Getpid()) // procfs does not tell when a file was created
	box := newWorld(t).new(t, Setup{Grant: config.Grant{FS: []config.Mount{{Path: dir, Access: "r"}}}})
	if got := string(box.Operate(t.Context(), []byte(`{"op":"fs/mode","params":{"path":"`+dir+`"}}`))); got != `{"result":{"mode":365}}` {
		t.Errorf("got %s, want the mode 0555 only", got)
	}
}
