//go:build linux || darwin

package vfs_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// manyFiles creates a directory of n files with long names.
func (w *world) manyFiles(dir string, n int) {
	w.t.Helper()
	w.put(dir+"/", "")
	for i := range n {
		name := fmt.Sprintf("%06d-%s", i, strings.Repeat("n", 200))
		if err := os.WriteFile(filepath.Join(w.at(dir), name), nil, 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
}

// The memory of listings is bounded for all open directories together.
func TestListingsOfManyDirectoriesAreBounded(t *testing.T) {
	testenv.NotShort(t, "makes many files")
	w := newWorld(t)
	w.manyFiles("w/many", 2000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var kept [][]sys.Dirent
	var last sys.Errno
	for range 200 {
		entries, errno := w.mustOpen("w/many", sys.O_RDONLY).Readdir(2001)
		if last = errno; errno == 0 {
			kept = append(kept, entries)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if last != sys.ERANGE || len(w.errors) == 0 || !strings.Contains(w.errors[0].Error(), "8388608 bytes") {
		t.Errorf("listing the last directory: got %v, want ERANGE; reported errors: %v", last, w.errors)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("the listings occupy %d bytes, want at most %d", grown, 16<<20)
	}
	runtime.KeepAlive(kept)
}

// The memory of a listing of one directory is bounded too, for any size of portions.
func TestListingOfOneDirectoryIsBounded(t *testing.T) {
	w := newWorld(t)
	w.manyFiles("w/many", 2000)
	d := w.mustOpen("w/many", sys.O_RDONLY)
	var cache []sys.Dirent // like the cache of wazero for a module that stops reading
	begin := forcedCollections()
	for {
		entries, errno := d.Readdir(100)
		if errno == sys.ERANGE {
			break
		}
		if errno != 0 || len(cache) > 100_000 {
			t.Fatalf("got %d entries, %v; want the limit to be reached earlier", len(cache), errno)
		}
		if forcedCollections() != begin {
			t.Fatalf("garbage was collected after %d entries, before the limit", len(cache))
		}
		if cache = append(cache, entries...); len(entries) < 100 {
			if _, errno := d.Seek(0, io.SeekStart); errno != 0 {
				t.Fatal(errno)
			}
		}
	}
	if len(cache) < 10_000 {
		t.Errorf("only %d entries were listed before the limit, want at least 10,000", len(cache))
	}
	// The host collects garbage when the limit is reached, and not again as long as the module lists nothing.
	for range 100 {
		if _, errno := d.Seek(0, io.SeekStart); errno != 0 {
			t.Fatal(errno)
		}
		if _, errno := d.Readdir(100); errno != sys.ERANGE {
			t.Fatalf("beyond the limit: got %v", errno)
		}
	}
	if n := forcedCollections() - begin; n != 1 {
		t.Errorf("garbage was collected %d times, want once", n)
	}
	runtime.KeepAlive(cache)
}

func forcedCollections() uint32 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.NumForcedGC
}

// A listing in one portion ends at the bound, not at the end of the directory.
func TestListingInOnePortionIsBounded(t *testing.T) {
	testenv.NotShort(t, "makes many files")
	charged := 0
	w := newWorld(t, func(c *vfs.Config) { c.Charge = func(n int) { charged += n } })
	w.manyFiles("w/many", 40_000)
	if _, errno := w.mustOpen("w/many", sys.O_RDONLY).Readdir(-1); errno != sys.ERANGE || charged > 35_000 {
		t.Errorf("got %v after %d of 40,000 entries, want ERANGE before 35,000", errno, charged)
	}
}

// Entries that have been read no longer count, whether or not the runtime has collected them.
func TestConsumedListingsAreNotBounded(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	charged := 0
	w := newWorld(t, func(c *vfs.Config) { c.Charge = func(n int) { charged += n } })
	w.manyFiles("w/many", 2000)
	d, listed := w.mustOpen("w/many", sys.O_RDONLY), 0
	for listed < 100_000 {
		entries, errno := d.Readdir(343)
		if errno != 0 {
			t.Fatalf("after %d entries: %v, errors %v", listed, errno, w.errors)
		}
		if listed += len(entries); len(entries) < 343 {
			if _, errno := d.Seek(0, io.SeekStart); errno != 0 {
				t.Fatal(errno)
			}
		}
	}
	if charged < listed {
		t.Errorf("%d entries were listed, but only %d charged", listed, charged)
	}
}
