package main

import "syscall"

//go:wasmimport wasi_snapshot_preview1 path_open
//go:noescape
func pathOpen(dir int32, follow uint32, path string, flags uint32, rights, inheriting uint64, fdFlags uint32, fd *int32) uint32

// readRaw reads a file by a path that is not cleaned; package os would clean it.
func readRaw(a action) (string, error) {
	const root, followLinks, mayRead = 3, 1, 1 << 1
	var fd int32
	if errno := pathOpen(root, followLinks, a.Path, 0, mayRead, 0, 0, &fd); errno != 0 {
		return "", syscall.Errno(errno)
	}
	defer syscall.Close(int(fd))
	data := make([]byte, 1000)
	n, err := syscall.Read(int(fd), data)
	return string(data[:max(n, 0)]), err
}
