package objects_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
)

// A delta of a delta may follow the base of both: then neither waits any more.
func TestDeltasOfReceivedPackAreResolvedInAnyOrder(t *testing.T) {
	appending := func(base int, letter byte) []byte { // a delta that appends one letter to its base
		return []byte{byte(base), byte(base + 1), 0x90, byte(base), 1, letter}
	}
	blob := func(content string) plumbing.Hash { return plumbing.ComputeHash(plumbing.BlobObject, []byte(content)) }
	base := blob("a")
	first := gittest.EntryBytes(plumbing.REFDeltaObject, 6, base[:], appending(1, 'b'))
	second := gittest.EntryBytes(plumbing.BlobObject, 1, nil, []byte("a"))
	third := gittest.EntryBytes(plumbing.OFSDeltaObject, 6, []byte{byte(len(first) + len(second))}, appending(2, 'c'))
	pack := bytes.NewBufferString("PACK\x00\x00\x00\x02")
	pack.Write(binary.BigEndian.AppendUint32(nil, 3))
	for _, entry := range [][]byte{first, second, third} {
		pack.Write(entry)
	}
	sum := sha1.Sum(pack.Bytes())
	pack.Write(sum[:])

	s, err := objects.FromPack(t.Context(), pack.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"a", "ab", "abc"} {
		got, err := s.Get(blob(content), plumbing.BlobObject, 100)
		if err != nil || string(got) != content {
			t.Errorf("%s: got %q, %v", content, got, err)
		}
	}
}
