package sandbox

import (
	"context"
	"io"
	"io/fs"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// gitAdd stages files that the module may read itself.
func (b *Box) gitAdd(ctx context.Context, q abi.GitAdd) (abi.GitAdded, error) {
	if err := b.changingRepository(ctx); err != nil {
		return abi.GitAdded{}, err
	}
	return b.git.Add(ctx, q, moduleFiles{b.tree(&operationCaller{ctx: operating(ctx)}, "", new(denials))})
}

// moduleFiles opens files for git as the module may: by the mounts and the deny list of its file tree.
type moduleFiles struct{ tree *vfs.FS }

func (f moduleFiles) Identify(path string) (beneath.FileID, error) {
	st, errno := f.tree.Lstat(path)
	return beneath.FileID{Dev: st.Dev, Ino: st.Ino}, readError(path, errno)
}

func (f moduleFiles) Open(path string) (io.ReadCloser, beneath.FileID, error) {
	file, errno := f.tree.OpenFile(path, experimentalsys.O_RDONLY|experimentalsys.O_NOFOLLOW, 0o600)
	if errno != 0 {
		return nil, beneath.FileID{}, readError(path, errno)
	}
	st, errno := file.Stat()
	if errno != 0 {
		_ = file.Close()
		return nil, beneath.FileID{}, readError(path, errno)
	}
	return moduleFile{file, path}, beneath.FileID{Dev: st.Dev, Ino: st.Ino}, nil
}

// readError returns the error for a file that exists. To the module a file that it may not read can also be absent.
func readError(path string, errno experimentalsys.Errno) error {
	switch errno {
	case 0:
		return nil
	case experimentalsys.EACCES, experimentalsys.EPERM, experimentalsys.ENOENT:
		return &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	return &fs.PathError{Op: "open", Path: path, Err: errno}
}

// moduleFile is an open file of the module's tree.
type moduleFile struct {
	experimentalsys.File
	path string
}

func (f moduleFile) Read(buffer []byte) (int, error) {
	n, errno := f.File.Read(buffer)
	switch {
	case errno != 0:
		return n, readError(f.path, errno)
	case n == 0 && len(buffer) > 0:
		return 0, io.EOF
	}
	return n, nil
}

func (f moduleFile) Close() error { return readError(f.path, f.File.Close()) }
