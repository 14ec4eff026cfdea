package engine

import (
	"crypto/rand"
	"io/fs"
	"runtime"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
)

// A single WASI call can make the host do much work: a write accepts any number of buffers of any length. So reads, writes
// and random numbers are charged like the module's own work, and each piece of this work checks the call's context.

// copyChunk is the number of bytes copied at a time. The Go runtime cannot preempt a copy, and a garbage collection that
// waits for the end of a copy stops all other goroutines.
const copyChunk = 256 << 10

// copyChunked is copy, with preemption points.
func copyChunked(to, from []byte) {
	for len(from) > copyChunk {
		copy(to, from[:copyChunk])
		to, from = to[copyChunk:], from[copyChunk:]
		runtime.Gosched()
	}
	copy(to, from)
}

// cloneChunked is bytes.Clone, with preemption points.
func cloneChunked(from []byte) []byte {
	to := make([]byte, len(from))
	copyChunked(to, from)
	return to
}

// Spend implements Caller. It charges the current call for work on a number of bytes, yields to other goroutines before a large piece, and
// aborts the call if its context has ended. File systems call it too. bindCounters has looked up the counters by then,
// because the guards of WASI functions (see package meter) call the host first.
func (i *instance) Spend(bytes int) {
	c := i.current
	if c == nil {
		return
	}
	if bytes >= bytesPerFuel*meter.Quantum/10 {
		runtime.Gosched()
	}
	c.checkContext()
	c.charge(bytes)
	c.busyIfLong()
}

// randomSource is the source of a module's random numbers.
type randomSource struct{ instance *instance }

// Read implements io.Reader. It returns at most 64 KiB, which takes a fraction of a millisecond.
func (r randomSource) Read(p []byte) (int, error) {
	const most = 64 << 10
	p = p[:min(len(p), most)]
	r.instance.Spend(len(p))
	if r.instance.owner.derives() {
		return r.instance.sources.random.Read(p)
	}
	return rand.Read(p)
}

// meteredFS is a module's file system. Its files charge for reads and writes.
type meteredFS struct {
	experimentalsys.FS
	instance *instance
}

// OpenFile implements experimentalsys.FS.
func (t *meteredFS) OpenFile(path string, flag experimentalsys.Oflag, perm fs.FileMode) (experimentalsys.File, experimentalsys.Errno) {
	if c := t.instance.current; c != nil {
		c.busy()
	}
	f, errno := t.FS.OpenFile(path, flag, perm)
	if errno != 0 {
		return nil, errno
	}
	return &meteredFile{File: f, instance: t.instance}, 0
}

// meteredFile is an open file or directory of a meteredFS.
type meteredFile struct {
	experimentalsys.File
	instance *instance
}

// Read implements experimentalsys.File.
func (f *meteredFile) Read(buf []byte) (int, experimentalsys.Errno) {
	f.instance.Spend(len(buf))
	return f.File.Read(buf)
}

// Pread implements experimentalsys.File.
func (f *meteredFile) Pread(buf []byte, off int64) (int, experimentalsys.Errno) {
	f.instance.Spend(len(buf))
	return f.File.Pread(buf, off)
}

// Write implements experimentalsys.File.
func (f *meteredFile) Write(buf []byte) (int, experimentalsys.Errno) {
	f.instance.Spend(len(buf))
	return f.File.Write(buf)
}

// Pwrite implements experimentalsys.File.
func (f *meteredFile) Pwrite(buf []byte, off int64) (int, experimentalsys.Errno) {
	f.instance.Spend(len(buf))
	return f.File.Pwrite(buf, off)
}
