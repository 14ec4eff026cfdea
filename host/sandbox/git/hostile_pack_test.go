package git_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/go-git/go-git/v5/plumbing"
)

func TestHostilePacks(t *testing.T) {
	self := plumbing.NewHash(strings.Repeat("ab", 20))
	other := plumbing.NewHash(strings.Repeat("cd", 20))
	delta := func(sizes ...uint64) []byte {
		var b []byte
		for _, s := range sizes {
			b = binary.AppendUvarint(b, s)
		}
		return b
	}
	plain := entryBytes(plumbing.CommitObject, 4, nil, []byte("tree"))
	cases := []struct {
		rule    string
		entries []packed
		why     string
	}{
		{"a delta that is its own base", []packed{{self, entryBytes(plumbing.REFDeltaObject, 2, self[:], delta(1, 1))}}, "circle"},
		{"deltas that are each other's base", []packed{
			{self, entryBytes(plumbing.REFDeltaObject, 2, other[:], delta(1, 1))},
			{other, entryBytes(plumbing.REFDeltaObject, 2, self[:], delta(1, 1))},
		}, "circle"},
		{"a delta of an object that is not there", []packed{{self, entryBytes(plumbing.REFDeltaObject, 2, other[:], delta(1, 1))}}, "not in the pack"},
		{"a delta of what lies before the pack", []packed{{self, entryBytes(plumbing.OFSDeltaObject, 2, []byte{0x7f}, delta(1, 1))}}, "delta offset"},
		{"a delta of itself by offset", []packed{{self, entryBytes(plumbing.OFSDeltaObject, 2, []byte{0}, delta(1, 1))}}, "delta offset"},
		{"a delta that makes a terabyte", []packed{
			{other, plain}, {self, entryBytes(plumbing.REFDeltaObject, 7, other[:], delta(4, 1<<40))},
		}, "over the limit"},
		{"a delta without sizes", []packed{{other, plain}, {self, entryBytes(plumbing.REFDeltaObject, 0, other[:], nil)}}, "without sizes"},
		{"a delta of one size", []packed{{other, plain}, {self, entryBytes(plumbing.REFDeltaObject, 1, other[:], delta(4))}}, "without sizes"},
		{"a delta for a base of another size", []packed{{other, plain}, {self, entryBytes(plumbing.REFDeltaObject, 2, other[:], delta(5, 4))}}, "invalid delta"},
		{"an entry that claims a terabyte", []packed{{self, entryBytes(plumbing.CommitObject, 1<<40, nil, []byte("x"))}}, "over the limit"},
		{"an entry that claims more than it has", []packed{{self, entryBytes(plumbing.CommitObject, 1<<20, nil, []byte("x"))}}, "not the 1048576 bytes"},
		{"an entry that inflates beyond its claim", []packed{{self, entryBytes(plumbing.CommitObject, 10, nil, make([]byte, 1<<28))}}, "exceeds declared size"},
		{"an entry of a length beyond numbers", []packed{{self, bytes.Repeat([]byte{0x9f}, 100)}}, "overflow"},
		{"an entry of no type", []packed{{self, entryBytes(0, 1, nil, []byte("x"))}}, "an object of type 0"},
		{"an entry of a reserved type", []packed{{self, entryBytes(5, 1, nil, []byte("x"))}}, "an object of type 5"},
		{"an entry that is not compressed", []packed{{self, []byte{0x15, 1, 2, 3, 4, 5}}}, "zlib"},
		{"an object under another's name", []packed{{self, plain}}, "another hash"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := newRepo(t, t.TempDir())
			r.branch("main", self)
			r.handPack(c.entries...)
			survives(t, c.why, findIn(r))
		})
	}
	t.Run("deltas on deltas without end", func(t *testing.T) {
		r := newRepo(t, t.TempDir())
		entries := []packed{{other, plain}}
		base := other
		for i := range 6000 {
			name := plumbing.ComputeHash(plumbing.BlobObject, fmt.Append(nil, i))
			// Copies the base: 4 bytes from its start.
			entries = append(entries, packed{name, entryBytes(plumbing.REFDeltaObject, 4, base[:], append(delta(4, 4), 0x90, 4))})
			base = name
		}
		r.branch("main", base)
		r.handPack(entries...)
		survives(t, "over 4096 deltas", findIn(r))
	})
	t.Run("more packs than one repository has", func(t *testing.T) {
		r := newRepo(t, t.TempDir())
		r.branch("main", self)
		for i := range 600 {
			stem := fmt.Sprintf("%s/objects/pack/pack-%040x", r.dot, i)
			write(t, stem+".pack", "")
			write(t, stem+".idx", string(indexBytes(nil)))
		}
		survives(t, "over 512 packs", findIn(r))
	})
}

func TestHostilePackIndexes(t *testing.T) {
	self := plumbing.NewHash(strings.Repeat("ab", 20))
	good := indexBytes(map[plumbing.Hash]uint32{self: 12})
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
		{"an empty index", nil, "ends too early"},
		{"an index of version 1", make([]byte, 2000), "version 2"},
		{"an index that is cut short", good[:len(good)-41], "too short"},
		{"an index that claims four billion objects", with(8+1020, 0xff, 0xff, 0xff, 0xff), "too short"},
		{"an index whose counts decrease", with(8, 0, 0, 0, 9), "decreases"},
		{"an offset outside of its table", with(offsets, 0x80, 0, 0, 1), "outside of its table"},
		{"an offset outside of the pack", with(offsets, 0x7f, 0xff, 0xff, 0xff), "ends too early"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := newRepo(t, t.TempDir())
			r.branch("main", self)
			r.handPack(packed{self, entryBytes(plumbing.CommitObject, 1, nil, []byte("x"))})
			write(t, r.dot+"/objects/pack/pack-"+strings.Repeat("a", 40)+".idx", string(c.index))
			survives(t, c.why, findIn(r))
		})
	}
}

// Any byte of a pack or of its index may be wrong: what is read is right, or there is an error.
func TestDamagedBytes(t *testing.T) {
	r := sample(t, t.TempDir())
	r.pack(false)
	files, err := filepath.Glob(r.dot + "/objects/pack/*")
	must(t, err)
	if len(files) != 2 {
		t.Fatalf("a pack of %d files", len(files))
	}
	ops := granted(r.dir)
	for _, name := range files {
		must(t, os.Chmod(name, 0o644))
		good, err := os.ReadFile(name)
		must(t, err)
		for at := range good {
			bad := bytes.Clone(good)
			bad[at] ^= 0xff
			must(t, os.WriteFile(name, bad, 0o644))
			got, err := ops.ReadFile(t.Context(), abi.GitFile{Repo: r.dir, Branch: "main", Path: "dir/deep.txt"})
			if c := code(err); c != "" && c != abi.HostFailed || err == nil && string(got.Content) != "deep\n" {
				t.Errorf("%s, byte %d: got %q, %v", filepath.Base(name), at, got.Content, err)
			}
		}
		must(t, os.WriteFile(name, good, 0o644))
	}
}
