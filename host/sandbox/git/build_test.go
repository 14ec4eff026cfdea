package git_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// granted gives operations on some folders.
func granted(dirs ...string) *git.Ops {
	var c git.Config
	for _, dir := range dirs {
		c.Grants = append(c.Grants, git.Grant{Repo: dir, Access: "r"})
	}
	return newOps(c)
}

// newOps opens the granted directories that are there, free of links, as the host does.
func newOps(c git.Config) *git.Ops {
	for i := range c.Grants {
		g := &c.Grants[i]
		if real, err := filepath.EvalSymlinks(g.Repo); err == nil {
			g.Repo = real
		}
		g.Dir, _ = os.Open(g.Repo)
	}
	return git.New(c)
}

// repo is a repository that a test builds with go-git, object by object.
type repo struct {
	tb  testing.TB
	dir string // top level
	dot string // its .git
	st  *filesystem.Storage
}

func newRepo(tb testing.TB, dir string) *repo {
	tb.Helper()
	r := &repo{tb: tb, dir: dir, dot: filepath.Join(dir, ".git")}
	mkdir(tb, r.dot)
	r.st = filesystem.NewStorage(osfs.New(r.dot), cache.NewObjectLRUDefault())
	must(tb, r.st.Init())
	r.setHead("main")
	return r
}

func (r *repo) setHead(branch string) {
	r.tb.Helper()
	must(r.tb, r.st.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, plumbing.NewBranchReferenceName(branch))))
}

func (r *repo) branch(name string, h plumbing.Hash) {
	r.tb.Helper()
	must(r.tb, r.st.SetReference(plumbing.NewHashReference(plumbing.NewBranchReferenceName(name), h)))
}

func (r *repo) raw(kind plumbing.ObjectType, content []byte) plumbing.Hash {
	r.tb.Helper()
	o := &plumbing.MemoryObject{}
	o.SetType(kind)
	_, err := o.Write(content)
	must(r.tb, err)
	h, err := r.st.SetEncodedObject(o)
	must(r.tb, err)
	return h
}

func (r *repo) blob(content string) plumbing.Hash {
	return r.raw(plumbing.BlobObject, []byte(content))
}

func (r *repo) tree(entries ...object.TreeEntry) plumbing.Hash {
	r.tb.Helper()
	sort.Sort(object.TreeEntrySorter(entries))
	o := &plumbing.MemoryObject{}
	must(r.tb, (&object.Tree{Entries: entries}).Encode(o))
	h, err := r.st.SetEncodedObject(o)
	must(r.tb, err)
	return h
}

func (r *repo) commit(message string, seconds int64, tree plumbing.Hash, parents ...plumbing.Hash) plumbing.Hash {
	r.tb.Helper()
	who := object.Signature{Name: "A", Email: "a@example.com", When: time.Unix(seconds, 0).UTC()}
	o := &plumbing.MemoryObject{}
	c := object.Commit{Author: who, Committer: who, Message: message, TreeHash: tree, ParentHashes: parents}
	must(r.tb, c.Encode(o))
	h, err := r.st.SetEncodedObject(o)
	must(r.tb, err)
	return h
}

// pack moves every object into one pack, whose deltas name their bases by offset or by hash.
func (r *repo) pack(refDeltas bool) {
	r.tb.Helper()
	var all []plumbing.Hash
	must(r.tb, r.st.ForEachObjectHash(func(h plumbing.Hash) error {
		all = append(all, h)
		return nil
	}))
	w, err := r.st.PackfileWriter()
	must(r.tb, err)
	_, err = packfile.NewEncoder(w, r.st, refDeltas).Encode(all, 10)
	must(r.tb, err)
	must(r.tb, w.Close())
	loose, err := filepath.Glob(filepath.Join(r.dot, "objects", "[0-9a-f][0-9a-f]"))
	must(r.tb, err)
	for _, dir := range loose {
		must(r.tb, os.RemoveAll(dir))
	}
}

// sample has a branch "main" with notes.txt and dir/deep.txt, and one "feature" whose notes differ.
func sample(tb testing.TB, dir string) *repo {
	tb.Helper()
	r := newRepo(tb, dir)
	deep := r.tree(file("deep.txt", r.blob("deep\n")))
	first := r.commit("first\n", 1000, r.tree(file("notes.txt", r.blob("one\n"))))
	main := r.commit("add(dir): second\n\nbody of it\n", 2000, r.tree(
		file("notes.txt", r.blob("main\n")),
		file("empty.txt", r.blob("")),
		object.TreeEntry{Name: "run.sh", Mode: filemode.Executable, Hash: r.blob("#!/bin/sh\n")},
		object.TreeEntry{Name: "link", Mode: filemode.Symlink, Hash: r.blob("notes.txt")},
		object.TreeEntry{Name: "sub", Mode: filemode.Submodule, Hash: first},
		object.TreeEntry{Name: "dir", Mode: filemode.Dir, Hash: deep},
	), first)
	r.branch("main", main)
	r.branch("feature/x", r.commit("feature\n", 3000, r.tree(file("notes.txt", r.blob("feature\n"))), first))
	return r
}

func file(name string, h plumbing.Hash) object.TreeEntry {
	return object.TreeEntry{Name: name, Mode: filemode.Regular, Hash: h}
}

// packed is one entry of a pack made by hand: what the index calls it, and its bytes.
type packed struct {
	name  plumbing.Hash
	bytes []byte
}

// entryBytes encodes a pack entry; the size in its header may lie, base is what a delta refers to.
func entryBytes(kind plumbing.ObjectType, size int, base, content []byte) []byte {
	first := byte(kind)<<4 | byte(size&15)
	size >>= 4
	var out bytes.Buffer
	for ; size > 0; size >>= 7 {
		out.WriteByte(first | 0x80)
		first = byte(size & 0x7f)
	}
	out.WriteByte(first)
	out.Write(base)
	z := zlib.NewWriter(&out)
	_, _ = z.Write(content)
	_ = z.Close()
	return out.Bytes()
}

// handPack writes a pack and its index as given, true or not.
func (r *repo) handPack(entries ...packed) {
	r.tb.Helper()
	offsets := map[plumbing.Hash]uint32{}
	body := bytes.NewBuffer([]byte("PACK\x00\x00\x00\x02"))
	_ = binary.Write(body, binary.BigEndian, uint32(len(entries)))
	for _, e := range entries {
		offsets[e.name] = uint32(body.Len())
		body.Write(e.bytes)
	}
	body.Write(make([]byte, 20))
	stem := filepath.Join(r.dot, "objects", "pack", "pack-"+strings.Repeat("a", 40))
	write(r.tb, stem+".pack", body.String())
	write(r.tb, stem+".idx", string(indexBytes(offsets)))
}

func indexBytes(offsets map[plumbing.Hash]uint32) []byte {
	names := make([]plumbing.Hash, 0, len(offsets))
	for h := range offsets {
		names = append(names, h)
	}
	slices.SortFunc(names, func(a, b plumbing.Hash) int { return bytes.Compare(a[:], b[:]) })
	out := bytes.NewBufferString("\xfftOc\x00\x00\x00\x02")
	for b := range 256 {
		n := sort.Search(len(names), func(i int) bool { return int(names[i][0]) > b })
		_ = binary.Write(out, binary.BigEndian, uint32(n))
	}
	for _, h := range names {
		out.Write(h[:])
	}
	out.Write(make([]byte, 4*len(names)))
	for _, h := range names {
		_ = binary.Write(out, binary.BigEndian, offsets[h])
	}
	out.Write(make([]byte, 40))
	return out.Bytes()
}

// program runs git, or skips the test where there is none.
func program(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		tb.Skip("NOT CHECKED against git: the git program is not on PATH")
	}
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func mkdir(tb testing.TB, dir string) {
	tb.Helper()
	must(tb, os.MkdirAll(dir, 0o755))
}

func write(tb testing.TB, name, content string) {
	tb.Helper()
	mkdir(tb, filepath.Dir(name))
	must(tb, os.WriteFile(name, []byte(content), 0o644))
}

func symlink(tb testing.TB, target, name string) {
	tb.Helper()
	must(tb, os.Symlink(target, name))
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// code gives the code of a host error; "" without one, and any other error as it reads.
func code(err error) string {
	if err == nil {
		return ""
	}
	if host, ok := err.(*abi.HostError); ok {
		return host.Code
	}
	return fmt.Sprintf("not a host error: %v", err)
}
