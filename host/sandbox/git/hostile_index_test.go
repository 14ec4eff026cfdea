package git_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// indexOf puts an index together: version, entries and what follows.
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

func TestHostileIndexes(t *testing.T) {
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
		{"four billion entries", indexOf(2, 0xffffffff, good), "over 1000000 files"},
		{"more entries than there are", indexOf(2, 2, good), "entry 2: damaged: cut short"},
		{"an entry twice", indexOf(2, 2, good, good), "out of order"},
		{"a name out of order", indexOf(2, 2, indexEntry(0o100644, 1, "b"), good), "out of order"},
		{"a name that leads upward", indexOf(2, 1, indexEntry(0o100644, 4, "../x")), "no path of a file"},
		{"an absolute name", indexOf(2, 1, indexEntry(0o100644, 2, "/x")), "no path of a file"},
		{"a name without end", indexOf(2, 1, indexEntry(0o100644, 0xfff, strings.Repeat("x", 5000))), "does not end"},
		{"a name of another length", indexOf(2, 1, indexEntry(0o100644, 2, "abc")), "another length"},
		{"a mode that is none", indexOf(2, 1, indexEntry(0o777, 1, "a")), "the mode 777"},
		{"a sparse index", indexOf(2, 1, indexEntry(0o040000, 2, "a/")), "sparse index"},
		{"a split index", indexOf(2, 0, []byte("link\x00\x00\x00\x00")), "split index"},
		{"an extension that must be known", indexOf(2, 0, []byte("novl\x00\x00\x00\x00")), `extension "novl"`},
		{"an extension longer than the file", indexOf(2, 0, []byte("TREE\xff\xff\xff\xff")), "cut short"},
		{"flags of version 3 in version 2", indexOf(2, 1, indexEntry(0o100644, 0x4001, "a")), "cut short"},
		{"a shorter name than none in version 4", indexOf(4, 1, indexEntry(0o100644, 1, "\x7fa")), "shorter than nothing"},
		{"a terabyte", nil, "over 134217728 bytes"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := sample(t, t.TempDir())
			must(t, os.WriteFile(r.dot+"/index", c.index, 0o644))
			if c.rule == "a terabyte" {
				must(t, os.Truncate(r.dot+"/index", 1<<40))
			}
			survives(t, c.why, func(ctx contextT) error {
				_, err := granted(r.dir).Status(ctx, abi.GitStatusQuery{Repo: r.dir})
				return err
			})
		})
	}
	t.Run("an unknown extension that may be passed by", func(t *testing.T) {
		r := sample(t, t.TempDir())
		must(t, os.WriteFile(r.dot+"/index", indexOf(2, 1, good, []byte("NOVL\x00\x00\x00\x01x")), 0o644))
		got, err := granted(r.dir).Status(t.Context(), abi.GitStatusQuery{Repo: r.dir})
		if err != nil || !slices.Contains(porcelain(got), "AD a") {
			t.Errorf("got %v, %v", porcelain(got), err)
		}
	})
}

func TestHostileTrees(t *testing.T) {
	hash := strings.Repeat("x", 20)
	cases := []struct {
		rule string
		tree func(r *repo) []byte
		why  string
	}{
		{"a name with a slash", func(*repo) []byte { return []byte("100644 a/b\x00" + hash) }, "the name"},
		{"two dots", func(*repo) []byte { return []byte("100644 ..\x00" + hash) }, "the name"},
		{"a name without letters", func(*repo) []byte { return []byte("100644 \x00" + hash) }, "the name"},
		{"names out of order", func(*repo) []byte { return []byte("100644 b\x00" + hash + "100644 a\x00" + hash) }, "out of order"},
		{"a name twice", func(*repo) []byte { return []byte("100644 a\x00" + hash + "100644 a\x00" + hash) }, "out of order"},
		{"a mode that is none", func(*repo) []byte { return []byte("777777777 a\x00" + hash) }, "the mode"},
		{"folders without end", func(r *repo) []byte {
			h := r.raw(2, []byte("100644 a\x00"+hash))
			for range 3000 {
				h = r.raw(2, []byte("40000 d\x00"+string(h[:])))
			}
			return []byte("40000 d\x00" + string(h[:]))
		}, "a path of over 4096 bytes"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := newRepo(t, t.TempDir())
			r.branch("main", r.commit("m", 1, r.raw(2, c.tree(r))))
			survives(t, c.why, func(ctx contextT) error {
				_, err := granted(r.dir).Status(ctx, abi.GitStatusQuery{Repo: r.dir})
				return err
			})
		})
	}
}

// A small tree can hold itself so often that it has more files than there are grains of sand. The walk
// ends after a million, or with its context.
func TestTreeThatHoldsItself(t *testing.T) {
	r := newRepo(t, t.TempDir())
	h := r.blob("x")
	level := []byte("100644 a\x00" + string(h[:]))
	for range 12 {
		h = r.raw(2, level)
		level = nil
		for i := range 10 {
			level = append(level, fmt.Sprintf("40000 %c\x00%s", 'a'+i, h[:])...)
		}
	}
	r.branch("main", r.commit("m", 1, r.raw(2, level)))
	r.pack(false)
	start := time.Now()
	_, err := granted(r.dir).Status(t.Context(), abi.GitStatusQuery{Repo: r.dir})
	if code(err) != abi.HostFailed || !strings.Contains(err.Error(), "over 1000000 files") || time.Since(start) > 2*hostileTime {
		t.Errorf("got %v after %v", err, time.Since(start))
	}
	_, err = granted(r.dir).Status(&askedContext{t.Context(), 1000}, abi.GitStatusQuery{Repo: r.dir})
	if !errors.Is(err, contextCanceled) {
		t.Errorf("got %v", err)
	}
}

// FuzzIndex: any index is read or is an error, and what is read are paths in order.
func FuzzIndex(f *testing.F) {
	f.Add(indexOf(2, 1, indexEntry(0o100644, 1, "a")))
	f.Add(indexOf(4, 1, indexEntry(0o100644, 1, "\x00a")))
	f.Add(indexOf(3, 1, indexEntry(0o120000, 0x4001, "\x20\x00a")))
	f.Add(indexOf(2, 0, []byte("TREE\x00\x00\x00\x00link\x00\x00\x00\x00")))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 20 { // a right checksum, so that what it covers is reached
			sum := sha1.Sum(data[:len(data)-20])
			data = append(bytes.Clone(data[:len(data)-20]), sum[:]...)
		}
		names, err := git.ParseIndex(t.Context(), data)
		if err != nil {
			return
		}
		if !slices.IsSorted(names) {
			t.Fatalf("out of order: %q", names)
		}
		for _, name := range names {
			if !filepath.IsLocal(name) || filepath.Clean(name) != name {
				t.Fatalf("%q was let through", name)
			}
		}
	})
}
