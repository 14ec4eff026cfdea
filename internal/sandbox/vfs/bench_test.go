//go:build linux || darwin

package vfs_test

import (
	"os"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"
)

func BenchmarkStat(b *testing.B) {
	w := newWorld(b)
	name := w.in("w/dir/b.txt")
	for b.Loop() {
		if _, errno := w.fs.Stat(name); errno != 0 {
			b.Fatal(errno)
		}
	}
}

func BenchmarkOpenReadClose(b *testing.B) {
	w := newWorld(b)
	name, buf := w.in("w/dir/b.txt"), make([]byte, 512)
	for b.Loop() {
		f, errno := w.fs.OpenFile(name, sys.O_RDONLY, 0)
		if errno != 0 {
			b.Fatal(errno)
		}
		if n, errno := f.Read(buf); n != 1 || errno != 0 {
			b.Fatal(n, errno)
		}
		f.Close()
	}
}

// BenchmarkHostOpenReadClose is the baseline: the same operations without the file tree.
func BenchmarkHostOpenReadClose(b *testing.B) {
	w := newWorld(b)
	name, buf := w.at("w/dir/b.txt"), make([]byte, 512)
	for b.Loop() {
		f, err := os.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		if n, err := f.Read(buf); n != 1 || err != nil {
			b.Fatal(n, err)
		}
		f.Close()
	}
}

func BenchmarkOpenForWriting(b *testing.B) {
	w := newWorld(b)
	for b.Loop() {
		f, errno := w.open("w/dir/b.txt", sys.O_WRONLY|sys.O_TRUNC)
		if errno != 0 {
			b.Fatal(errno)
		}
		f.Close()
	}
}
