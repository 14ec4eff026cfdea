//go:build unix

package worktree_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// indexOf encodes an index. Its checksum is valid.
func indexOf(version uint32, count uint32, rest ...[]byte) []byte {
	out := bytes.NewBufferString("DIRC")
	_ = binary.Write(out, binary.BigEndian, []uint32{version, count})
	for _, r := range rest {
		out.Write(r)
	}
	sum := sha1.Sum(out.Bytes())
	return append(out.Bytes(), sum[:]...)
}

func indexEntry(mode uint32, flags uint16, name string) []byte {
	var out bytes.Buffer
	_ = binary.Write(&out, binary.BigEndian, []uint32{0, 0, 0, 0, 0, 0, mode, 0, 0, 0})
	out.Write(make([]byte, 20))
	_ = binary.Write(&out, binary.BigEndian, flags)
	out.WriteString(name)
	out.Write(make([]byte, 8-out.Len()%8))
	return out.Bytes()
}

func TestHostileIndexesFail(t *testing.T) {
	testenv.NotShort(t, "makes and reads large repositories")
	good := indexEntry(0o100644, 1, "a")
	cases := []struct {
		rule  string
		index []byte
		why   string
	}{
		{"an empty index", nil, "not an index"},
		{"another file", []byte(strings.Repeat("x", 100)), "not an index"},
		{"a wrong checksum", append(indexOf(2, 1, good), 'x'), "checksum"},
		{"version 1", indexOf(1, 0), "version 1"},
		{"version 5", indexOf(5, 0), "version 5"},
		{"four billion entries", indexOf(2, 0xffffffff, good), "more than 1000000 files"},
		{"more entries than there are", indexOf(2, 2, good), "entry 2: damaged: truncated"},
		{"an entry twice", indexOf(2, 2, good, good), "not in order"},
		{"a name out of order", indexOf(2, 2, indexEntry(0o100644, 1, "b"), good), "not in order"},
		{"a name with \"..\"", indexOf(2, 1, indexEntry(0o100644, 4, "../x")), "not a valid path"},
		{"an absolute name", indexOf(2, 1, indexEntry(0o100644, 2, "/x")), "not a valid path"},
		{"a name without end", indexOf(2, 1, indexEntry(0o100644, 0xfff, strings.Repeat("x", 5000))), "longer than 4096 bytes"},
		{"a name of another length", indexOf(2, 1, indexEntry(0o100644, 2, "abc")), "does not match its length"},
		{"an invalid mode", indexOf(2, 1, indexEntry(0o777, 1, "a")), "the mode 777"},
		{"a sparse index", indexOf(2, 1, indexEntry(0o040000, 2, "a/")), "sparse index"},
		{"a split index", indexOf(2, 0, []byte("link\x00\x00\x00\x00")), "split index"},
		{"an extension that must be known", indexOf(2, 0, []byte("novl\x00\x00\x00\x00")), `extension "novl"`},
		{"an extension longer than the file", indexOf(2, 0, []byte("TREE\xff\xff\xff\xff")), "truncated"},
		{"flags of version 3 in version 2", indexOf(2, 1, indexEntry(0o100644, 0x4001, "a")), "truncated"},
		{"a name is shorter than its prefix in version 4", indexOf(4, 1, indexEntry(0o100644, 1, "\x7fa")), "shorter than its prefix"},
		{"a terabyte", nil, "larger than 134217728 bytes"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.Sample(t, t.TempDir())
			gittest.Must(t, os.WriteFile(r.Dot+"/index", c.index, 0o644))
			if c.rule == "a terabyte" {
				gittest.Must(t, os.Truncate(r.Dot+"/index", 1<<40))
			}
			gittest.FailsWith(t, c.why, func(ctx context.Context) error {
				_, err := gittest.Granted(r.Dir).Status(ctx, abi.GitStatusQuery{Repo: r.Dir})
				return err
			})
		})
	}
	t.Run("an unknown extension that may be passed by", func(t *testing.T) {
		r := gittest.Sample(t, t.TempDir())
		gittest.Must(t, os.WriteFile(r.Dot+"/index", indexOf(2, 1, good, []byte("NOVL\x00\x00\x00\x01x")), 0o644))
		got, err := gittest.Granted(r.Dir).Status(t.Context(), abi.GitStatusQuery{Repo: r.Dir})
		if err != nil || !slices.Contains(porcelain(got), "AD a") {
			t.Errorf("got %v, %v", porcelain(got), err)
		}
	})
}

// FuzzIndex checks that parsing an arbitrary index either fails or returns local paths in ascending order.
func FuzzIndex(f *testing.F) {
	f.Add(indexOf(2, 1, indexEntry(0o100644, 1, "a")))
	f.Add(indexOf(4, 1, indexEntry(0o100644, 1, "\x00a")))
	f.Add(indexOf(3, 1, indexEntry(0o120000, 0x4001, "\x20\x00a")))
	f.Add(indexOf(2, 0, []byte("TREE\x00\x00\x00\x00link\x00\x00\x00\x00")))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 20 { // set a valid checksum, so that the content is parsed
			sum := sha1.Sum(data[:len(data)-20])
			data = append(bytes.Clone(data[:len(data)-20]), sum[:]...)
		}
		names, err := worktree.ParseIndex(t.Context(), data)
		if err != nil {
			return
		}
		if !slices.IsSorted(names) {
			t.Fatalf("out of order: %q", names)
		}
		for _, name := range names {
			if !filepath.IsLocal(name) || filepath.Clean(name) != name {
				t.Fatalf("%q was accepted", name)
			}
		}
	})
}

// FuzzResolveUndo adds a conflict to arbitrary content of the extension REUC. Adding it again changes nothing.
func FuzzResolveUndo(f *testing.F) {
	own := "a\x000\x00100644\x000\x00" + strings.Repeat("\x00", 20)
	f.Add([]byte(""))
	f.Add([]byte("b\x00100644\x000\x00100755\x00" + strings.Repeat("x", 40)))
	f.Add([]byte("b\x00100644\x000"))
	f.Add([]byte("b\x00100644\x000\x000\x00short"))
	f.Add([]byte(own))
	f.Fuzz(func(t *testing.T, data []byte) {
		once := worktree.RecordResolved(data)
		if !strings.Contains(string(once), own) || !bytes.Equal(worktree.RecordResolved(once), once) {
			t.Fatalf("%q: got %q", data, once)
		}
	})
}
