package engine

import (
	"io/fs"
	"strings"
	"testing"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
)

// failingFS is a file system in which opening a path fails with an errno of WASI that wazero lacks.
type failingFS struct {
	experimentalsys.FS
	caller Caller
	errno  uint16
}

func (f failingFS) OpenFile(path string, flag experimentalsys.Oflag, perm fs.FileMode) (experimentalsys.File, experimentalsys.Errno) {
	if !strings.HasSuffix(path, "full") {
		return f.FS.OpenFile(path, flag, perm)
	}
	f.caller.Errno(f.errno)
	return nil, experimentalsys.EIO
}

func TestModuleGetsErrnoThatWazeroLacks(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		errno uint16
		want  string
	}{{51, "No space left on device"}, {19, "Quota exceeded"}, {33, "Too many open files"}, {41, "File table overflow"}, {22, "File too large"}, {29, "I/O error"}} {
		files := mountDir(t, dir)
		spec := Spec{FS: func(caller Caller) experimentalsys.FS { return failingFS{files(caller), caller, test.errno} }}
		m := newCommand(t, spec)
		r, err := execute(t, m, "", "read", dir+"/full")
		if got := string(r.Stderr); err != nil || !strings.HasSuffix(strings.TrimSpace(got), ": "+test.want) {
			t.Errorf("errno %d: got %q, %v, want %q", test.errno, got, err, test.want)
		}
		spec.Env = map[string]string{"PWD": dir + "/full"}
		got, err := callTool(t.Context(), newModule(t, spec), "leave", `{}`)
		if err != nil || !strings.Contains(got, ": "+test.want+`"`) {
			t.Errorf("errno %d: got %q, %v, want %q", test.errno, got, err, test.want)
		}
	}
}
