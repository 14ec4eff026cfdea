//go:build linux || darwin

package vfs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// manyFiles returns a world with 1,000 files of 1,000 bytes in w/many. Its function Hidden has a typical cost for each path.
func manyFiles(b *testing.B) *world {
	w := newWorld(b, func(c *vfs.Config) {
		c.Hidden = func(p string, _ bool) bool { return strings.HasSuffix(p, "/.env") }
	})
	for i := range 1000 {
		w.put(fmt.Sprintf("w/many/%04d.md", i), strings.Repeat("x", 1000))
	}
	return w
}

func BenchmarkScanNames(b *testing.B) { benchmarkScan(b, false) }

func BenchmarkScanContent(b *testing.B) { benchmarkScan(b, true) }

func benchmarkScan(b *testing.B, content bool) {
	w := manyFiles(b)
	dir, buf := w.in("w/many"), make([]byte, 0, 2000)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		w.fs.Scan(dir, vfs.Scan{Depth: 1}, func(e *vfs.Scanned) bool {
			if n++; content {
				if got, err := e.Append(buf); len(got) != 1000 || err != nil {
					b.Fatal(len(got), err)
				}
			}
			return true
		})
		if n != 1000 {
			b.Fatal(n)
		}
	}
}

// BenchmarkWalkNames and BenchmarkWalkContent are the baselines of the scans: they use readdir, stat, open, read and close.
func BenchmarkWalkNames(b *testing.B) { benchmarkWalk(b, false) }

func BenchmarkWalkContent(b *testing.B) { benchmarkWalk(b, true) }

func benchmarkWalk(b *testing.B, content bool) {
	w := manyFiles(b)
	dir, buf := w.in("w/many"), make([]byte, 2000)
	b.ReportAllocs()
	for b.Loop() {
		entries, _ := list(w.fs, dir)
		if len(entries) != 1000 {
			b.Fatal(len(entries))
		}
		for _, e := range entries {
			if !content {
				if _, errno := w.fs.Lstat(dir + "/" + e.Name); errno != 0 {
					b.Fatal(errno)
				}
				continue
			}
			f, errno := w.fs.OpenFile(dir+"/"+e.Name, sys.O_RDONLY, 0o600)
			if errno != 0 {
				b.Fatal(errno)
			}
			f.Stat()
			if n, errno := f.Read(buf); n != 1000 || errno != 0 {
				b.Fatal(n, errno)
			}
			f.Close()
		}
	}
}
