package vfs

import (
	"runtime"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// TestResetForgetsListings checks that the listings of one call leave room for those of the next call in the same instance.
func TestResetForgetsListings(t *testing.T) {
	var f FS
	var p portion
	for range maxListed / entrySize * 2 / 3 {
		p.add(beneath.Entry{Name: "a"})
	}
	if err := f.listed.keep(&p, func(int) {}); err != nil {
		t.Fatal(err)
	}
	f.listed.since = 0 // as after a collection
	if err := f.listed.keep(&p, func(int) {}); err == nil {
		t.Fatal("the portions of the test fit into the limit")
	}
	if !f.Reset() {
		t.Fatal("a tree without open files cannot be reset")
	}
	if err := f.listed.keep(&p, func(int) {}); err != nil {
		t.Error(err)
	}
	runtime.KeepAlive(&p)
}
