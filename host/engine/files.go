package engine

import (
	"crypto/rand"
	"io/fs"
	"runtime"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
)

// One call of WASI can have the host do much: a write is given any number of buffers, of any length. So what is
// read, written or filled there is charged like the module's own work, and each piece is stopped with its call.

// piece is how many bytes the host moves at a time: nothing in Go interrupts a copy, and while one goes on the
// garbage collector waits, and all others for it.
const piece = 256 << 10

// move copies as copy does, and lets others run meanwhile.
func move(to, from []byte) {
	for len(from) > piece {
		copy(to, from[:piece])
		to, from = to[piece:], from[piece:]
		runtime.Gosched()
	}
	copy(to, from)
}

// clone is a copy of bytes.
func clone(from []byte) []byte {
	to := make([]byte, len(from))
	move(to, from)
	return to
}

// spend charges the call that runs for bytes, and ends it if its time is over. The counters are known by then:
// the guard of WASI's functions has called the host before.
func (i *instance) spend(bytes int) {
	if c := i.current; c != nil {
		c.checkTime()
		c.charge(bytes)
	}
}

// random is where a module's random numbers come from.
type random struct{ instance *instance }

// Read implements io.Reader.
func (r random) Read(p []byte) (int, error) {
	r.instance.spend(min(len(p), piece))
	return rand.Read(p[:min(len(p), piece)])
}

// tree is a module's file tree, whose files charge for what is read and written.
type tree struct {
	experimentalsys.FS
	instance *instance
}

// OpenFile implements experimentalsys.FS.
func (t *tree) OpenFile(path string, flag experimentalsys.Oflag, perm fs.FileMode) (experimentalsys.File, experimentalsys.Errno) {
	f, errno := t.FS.OpenFile(path, flag, perm)
	if errno != 0 {
		return nil, errno
	}
	return &file{File: f, instance: t.instance}, 0
}

// file is an open file or folder of a tree.
type file struct {
	experimentalsys.File
	instance *instance
}

// Read implements experimentalsys.File.
func (f *file) Read(buf []byte) (int, experimentalsys.Errno) {
	f.instance.spend(len(buf))
	return f.File.Read(buf)
}

// Pread implements experimentalsys.File.
func (f *file) Pread(buf []byte, off int64) (int, experimentalsys.Errno) {
	f.instance.spend(len(buf))
	return f.File.Pread(buf, off)
}

// Write implements experimentalsys.File.
func (f *file) Write(buf []byte) (int, experimentalsys.Errno) {
	f.instance.spend(len(buf))
	return f.File.Write(buf)
}

// Pwrite implements experimentalsys.File.
func (f *file) Pwrite(buf []byte, off int64) (int, experimentalsys.Errno) {
	f.instance.spend(len(buf))
	return f.File.Pwrite(buf, off)
}
