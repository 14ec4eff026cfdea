package engine

import (
	"crypto/rand"
	"io/fs"
	"runtime"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/host/engine/meter"
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

// spend charges the call that runs for bytes, lets others run before what takes long, and ends the call if its
// time is over. The counters are known by then: the guard of WASI's functions has called the host before.
func (i *instance) spend(bytes int) {
	c := i.current
	if c == nil {
		return
	}
	if bytes >= bytesPerFuel*meter.Quantum/10 {
		runtime.Gosched()
	}
	c.checkTime()
	c.charge(bytes)
}

// Spend charges the call that runs for work of its file tree's. It ends the call if its time is over.
func (i *instance) Spend(bytes int) { i.spend(bytes) }

// random is where a module's random numbers come from.
type random struct{ instance *instance }

// Read implements io.Reader. It gives no more at a time than takes a fraction of a millisecond.
func (r random) Read(p []byte) (int, error) {
	const most = 64 << 10
	r.instance.spend(min(len(p), most))
	return rand.Read(p[:min(len(p), most)])
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
