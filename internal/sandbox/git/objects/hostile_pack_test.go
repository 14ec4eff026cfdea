package objects_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestHostilePacksFail(t *testing.T) {
	testenv.NotShort(t, "makes and reads large repositories")
	self := plumbing.NewHash(strings.Repeat("ab", 20))
	other := plumbing.NewHash(strings.Repeat("cd", 20))
	delta := func(sizes ...uint64) []byte {
		var b []byte
		for _, s := range sizes {
			b = binary.AppendUvarint(b, s)
		}
		return b
	}
	plain := gittest.EntryBytes(plumbing.CommitObject, 4, nil, []byte("tree"))
	cases := []struct {
		rule    string
		entries []gittest.Packed
		why     string
	}{
		{"a delta that is its own base", []gittest.Packed{{Hash: self, Bytes: gittest.EntryBytes(plumbing.REFDeltaObject, 2, self[:], delta(1, 1))}}, "cycle"},
		{"deltas that are each other's base", []gittest.Packed{
			{Hash: self, Bytes: gittest.EntryBytes(plumbing.REFDeltaObject, 2, other[:], delta(1, 1))},
			{Hash: other, Bytes: gittest.EntryBytes(plumbing.REFDeltaObject, 2, self[:], delta(1, 1))},
		}, "cycle"},
		{"a delta of an object that does not exist", []gittest.Packed{{Hash: self, Bytes: gittest.EntryBytes(plumbing.REFDeltaObject, 2, other[:], delta(1, 1))}}, "not in the pack"},
		{"a delta of what precedes the pack", []gittest.Packed{{Hash: self, Bytes: gittest.EntryBytes(plumbing.OFSDeltaObject, 2, []byte{0x7f}, delta(1, 1))}}, "delta offset"},
		{"a delta of itself by offset", []gittest.Packed{{Hash: self, Bytes: gittest.EntryBytes(plumbing.OFSDeltaObject, 2, []byte{0}, delta(1, 1))}}, "delta offset"},
		{"a delta that makes a terabyte", []gittest.Packed{
			{Hash: other, Bytes: plain}, {Hash: self, Bytes: gittest.EntryBytes(plumbing.REFDeltaObject, 7, other[:], delta(4, 1<<40))},
		}, "more than the limit"},
		{"a delta lacks its sizes", []gittest.Packed{{Hash: other, Bytes: plain}, {Hash: self, Bytes: gittest.EntryBytes(plumbing.REFDeltaObject, 0, other[:], nil)}}, "lacks its sizes"},
		{"a delta of one size", []gittest.Packed{{Hash: other, Bytes: plain}, {Hash: self, Bytes: gittest.EntryBytes(plumbing.REFDeltaObject, 1, other[:], delta(4))}}, "lacks its sizes"},
		{"a delta for a base of another size", []gittest.Packed{{Hash: other, Bytes: plain}, {Hash: self, Bytes: gittest.EntryBytes(plumbing.REFDeltaObject, 2, other[:], delta(5, 4))}}, "invalid delta"},
		{"an entry that claims a terabyte", []gittest.Packed{{Hash: self, Bytes: gittest.EntryBytes(plumbing.CommitObject, 1<<40, nil, []byte("x"))}}, "more than the limit"},
		{"an entry that claims more than it has", []gittest.Packed{{Hash: self, Bytes: gittest.EntryBytes(plumbing.CommitObject, 1<<20, nil, []byte("x"))}}, "the stated 1048576 bytes"},
		{"an entry that inflates beyond its claim", []gittest.Packed{{Hash: self, Bytes: gittest.EntryBytes(plumbing.CommitObject, 10, nil, make([]byte, 1<<28))}}, "exceeds declared size"},
		{"an entry of a length beyond numbers", []gittest.Packed{{Hash: self, Bytes: bytes.Repeat([]byte{0x9f}, 100)}}, "overflow"},
		{"an entry of no type", []gittest.Packed{{Hash: self, Bytes: gittest.EntryBytes(0, 1, nil, []byte("x"))}}, "the unknown type 0"},
		{"an entry of a reserved type", []gittest.Packed{{Hash: self, Bytes: gittest.EntryBytes(5, 1, nil, []byte("x"))}}, "the unknown type 5"},
		{"an entry that is not compressed", []gittest.Packed{{Hash: self, Bytes: []byte{0x15, 1, 2, 3, 4, 5}}}, "zlib"},
		{"an object under another's name", []gittest.Packed{{Hash: self, Bytes: plain}}, "does not match its hash"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.New(t, t.TempDir())
			r.Branch("main", self)
			r.HandPack(c.entries...)
			gittest.FailsWith(t, c.why, gittest.Find(r))
		})
	}
	t.Run("deltas on deltas without end", func(t *testing.T) {
		r := gittest.New(t, t.TempDir())
		entries := []gittest.Packed{{Hash: other, Bytes: plain}}
		base := other
		for i := range 6000 {
			name := plumbing.ComputeHash(plumbing.BlobObject, fmt.Append(nil, i))
			// The delta copies 4 bytes from the start of its base.
			entries = append(entries, gittest.Packed{Hash: name, Bytes: gittest.EntryBytes(plumbing.REFDeltaObject, 4, base[:], append(delta(4, 4), 0x90, 4))})
			base = name
		}
		r.Branch("main", base)
		r.HandPack(entries...)
		gittest.FailsWith(t, "deltas form a cycle", gittest.Find(r))
	})
	t.Run("more packs than one repository has", func(t *testing.T) {
		r := gittest.New(t, t.TempDir())
		r.Branch("main", self)
		for i := range 600 {
			stem := fmt.Sprintf("%s/objects/pack/pack-%040x", r.Dot, i)
			gittest.Write(t, stem+".pack", "")
			gittest.Write(t, stem+".idx", string(gittest.IndexBytes(nil)))
		}
		gittest.FailsWith(t, "more than 512 packs", gittest.Find(r))
	})
}

func TestHostilePackIndexesFail(t *testing.T) {
	self := plumbing.NewHash(strings.Repeat("ab", 20))
	good := gittest.IndexBytes(map[plumbing.Hash]uint32{self: 12})
	with := func(at int, b ...byte) []byte {
		x := bytes.Clone(good)
		copy(x[at:], b)
		return x
	}
	const offsets = 8 + 1024 + 20 + 4
	cases := []struct {
		rule  string
		index []byte
		why   string
	}{
		{"an empty index", nil, "truncated"},
		{"an index of version 1", make([]byte, 2000), "version 2"},
		{"a truncated index", good[:len(good)-41], "too short"},
		{"an index that claims four billion objects", with(8+1020, 0xff, 0xff, 0xff, 0xff), "too short"},
		{"an index whose counts decrease", with(8, 0, 0, 0, 9), "decreases"},
		{"an offset outside of its table", with(offsets, 0x80, 0, 0, 1), "not in the offset table"},
		{"an offset outside of the pack", with(offsets, 0x7f, 0xff, 0xff, 0xff), "truncated"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.New(t, t.TempDir())
			r.Branch("main", self)
			r.HandPack(gittest.Packed{Hash: self, Bytes: gittest.EntryBytes(plumbing.CommitObject, 1, nil, []byte("x"))})
			gittest.Write(t, r.Dot+"/objects/pack/pack-"+strings.Repeat("a", 40)+".idx", string(c.index))
			gittest.FailsWith(t, c.why, gittest.Find(r))
		})
	}
}

// If any byte of a pack or its index is damaged, the content is correct or the read fails.
func TestDamagedByteIsDetected(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	r.Pack(false)
	files, err := filepath.Glob(r.Dot + "/objects/pack/*")
	gittest.Must(t, err)
	if len(files) != 2 {
		t.Fatalf("a pack of %d files", len(files))
	}
	ops := gittest.Granted(r.Dir)
	for _, name := range files {
		gittest.Must(t, os.Chmod(name, 0o644))
		good, err := os.ReadFile(name)
		gittest.Must(t, err)
		for at := range good {
			bad := bytes.Clone(good)
			bad[at] ^= 0xff
			gittest.Must(t, os.WriteFile(name, bad, 0o644))
			got, err := ops.ReadFile(t.Context(), abi.GitFile{Repo: r.Dir, Branch: "main", Path: "dir/deep.txt"})
			if c := gittest.Code(err); c != "" && c != abi.HostFailed || err == nil && string(got.Content) != "deep\n" {
				t.Errorf("%s, byte %d: got %q, %v", filepath.Base(name), at, got.Content, err)
			}
		}
		gittest.Must(t, os.WriteFile(name, good, 0o644))
	}
}

// FuzzPack checks that reading from an arbitrary pack and index returns the correct content or fails.
func FuzzPack(f *testing.F) {
	r := gittest.Sample(f, f.TempDir())
	r.Pack(true)
	files, err := filepath.Glob(r.Dot + "/objects/pack/pack-*")
	if err != nil || len(files) != 2 {
		f.Fatal(files, err)
	}
	var seeds [2][]byte
	for i, name := range files {
		if seeds[i], err = os.ReadFile(name); err != nil {
			f.Fatal(err)
		}
		if err := os.Chmod(name, 0o644); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(seeds[0], seeds[1])
	f.Add(seeds[0][:len(seeds[0])/2], seeds[1])
	f.Add(seeds[0], seeds[1][:len(seeds[1])/2])
	f.Add([]byte{}, []byte{})
	ops := gittest.Granted(r.Dir)
	f.Fuzz(func(t *testing.T, first, second []byte) {
		gittest.Write(t, files[0], string(first))
		gittest.Write(t, files[1], string(second))
		got, err := ops.ReadFile(t.Context(), abi.GitFile{Repo: r.Dir, Branch: "main", Path: "dir/deep.txt"})
		if c := gittest.Code(err); c != "" && c != abi.HostFailed || err == nil && got.Found && string(got.Content) != "deep\n" {
			t.Fatalf("%q, %v", got.Content, err)
		}
		if err != nil && strings.Contains(err.Error(), "is damaged: runtime error") {
			t.Fatal(err)
		}
	})
}
