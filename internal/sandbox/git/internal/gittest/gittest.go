// Package gittest creates repositories for tests, either object by object with go-git, or with the git program. It also runs operations on
// these repositories.
package gittest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// Repo is a repository that a test uses.
type Repo struct {
	TB    testing.TB
	Dir   string // path of the top level
	Dot   string // path of the .git directory
	Store *filesystem.Storage
}

// New creates an empty repository. Its HEAD is the unborn branch "main".
func New(tb testing.TB, dir string) *Repo {
	tb.Helper()
	r := &Repo{TB: tb, Dir: dir, Dot: filepath.Join(dir, ".git")}
	Mkdir(tb, r.Dot)
	r.Store = filesystem.NewStorage(osfs.New(r.Dot), cache.NewObjectLRUDefault())
	Must(tb, r.Store.Init())
	r.SetHead("main")
	return r
}

// SetHead makes HEAD refer to a branch.
func (r *Repo) SetHead(branch string) {
	r.TB.Helper()
	Must(r.TB, r.Store.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, plumbing.NewBranchReferenceName(branch))))
}

// Branch creates or moves a branch, so that it refers to the object h.
func (r *Repo) Branch(name string, h plumbing.Hash) {
	r.TB.Helper()
	Must(r.TB, r.Store.SetReference(plumbing.NewHashReference(plumbing.NewBranchReferenceName(name), h)))
}

// Raw stores an object, whether or not it is well-formed.
func (r *Repo) Raw(kind plumbing.ObjectType, content []byte) plumbing.Hash {
	r.TB.Helper()
	o := &plumbing.MemoryObject{}
	o.SetType(kind)
	_, err := o.Write(content)
	Must(r.TB, err)
	return r.store(o)
}

func (r *Repo) store(o *plumbing.MemoryObject) plumbing.Hash {
	r.TB.Helper()
	h, err := r.Store.SetEncodedObject(o)
	Must(r.TB, err)
	return h
}

// Blob stores a blob.
func (r *Repo) Blob(content string) plumbing.Hash {
	return r.Raw(plumbing.BlobObject, []byte(content))
}

// Tree stores a tree.
func (r *Repo) Tree(entries ...object.TreeEntry) plumbing.Hash {
	r.TB.Helper()
	sort.Sort(object.TreeEntrySorter(entries))
	o := &plumbing.MemoryObject{}
	Must(r.TB, (&object.Tree{Entries: entries}).Encode(o))
	return r.store(o)
}

// Commit stores a commit.
func (r *Repo) Commit(message string, seconds int64, tree plumbing.Hash, parents ...plumbing.Hash) plumbing.Hash {
	r.TB.Helper()
	who := object.Signature{Name: "A", Email: "a@example.com", When: time.Unix(seconds, 0).UTC()}
	o := &plumbing.MemoryObject{}
	c := object.Commit{Author: who, Committer: who, Message: message, TreeHash: tree, ParentHashes: parents}
	Must(r.TB, c.Encode(o))
	return r.store(o)
}

// GetCommit reads a commit.
func (r *Repo) GetCommit(h plumbing.Hash) *object.Commit {
	r.TB.Helper()
	c, err := object.GetCommit(r.Store, h)
	Must(r.TB, err)
	return c
}

// Pack moves every object into one pack. Its deltas name their bases by hash if refDeltas is set, otherwise by offset.
func (r *Repo) Pack(refDeltas bool) {
	r.TB.Helper()
	var all []plumbing.Hash
	Must(r.TB, r.Store.ForEachObjectHash(func(h plumbing.Hash) error {
		all = append(all, h)
		return nil
	}))
	w, err := r.Store.PackfileWriter()
	Must(r.TB, err)
	_, err = packfile.NewEncoder(w, r.Store, refDeltas).Encode(all, 10)
	Must(r.TB, err)
	Must(r.TB, w.Close())
	loose, err := filepath.Glob(filepath.Join(r.Dot, "objects", "[0-9a-f][0-9a-f]"))
	Must(r.TB, err)
	for _, dir := range loose {
		Must(r.TB, os.RemoveAll(dir))
	}
}

// File is a tree entry of a regular file.
func File(name string, h plumbing.Hash) object.TreeEntry {
	return object.TreeEntry{Name: name, Mode: filemode.Regular, Hash: h}
}

// Sample creates a repository with the branches "main" and "feature/x". "main" has entries of each type. On "feature/x", notes.txt has a
// different content.
func Sample(tb testing.TB, dir string) *Repo {
	tb.Helper()
	r := New(tb, dir)
	deep := r.Tree(File("deep.txt", r.Blob("deep\n")))
	first := r.Commit("first\n", 1000, r.Tree(File("notes.txt", r.Blob("one\n"))))
	main := r.Commit("add(dir): second\n\nbody of it\n", 2000, r.Tree(
		File("notes.txt", r.Blob("main\n")),
		File("empty.txt", r.Blob("")),
		object.TreeEntry{Name: "run.sh", Mode: filemode.Executable, Hash: r.Blob("#!/bin/sh\n")},
		object.TreeEntry{Name: "link", Mode: filemode.Symlink, Hash: r.Blob("notes.txt")},
		object.TreeEntry{Name: "sub", Mode: filemode.Submodule, Hash: first},
		object.TreeEntry{Name: "dir", Mode: filemode.Dir, Hash: deep},
	), first)
	r.Branch("main", main)
	r.Branch("feature/x", r.Commit("feature\n", 3000, r.Tree(File("notes.txt", r.Blob("feature\n"))), first))
	return r
}

// GitSample creates a repository with the git program. It has one commit and a clean working tree. Repo.Store is not set.
func GitSample(tb testing.TB) *Repo {
	tb.Helper()
	dir := tb.TempDir()
	Git(tb, dir, "init", "--quiet", "--initial-branch=main", ".")
	Write(tb, dir+"/notes.txt", "main\n")
	Write(tb, dir+"/empty.txt", "")
	Write(tb, dir+"/run.sh", "#!/bin/sh\n")
	Must(tb, os.Chmod(dir+"/run.sh", 0o755))
	Write(tb, dir+"/dir/deep.txt", "deep\n")
	Symlink(tb, "notes.txt", dir+"/link")
	Git(tb, dir, "add", ".")
	Git(tb, dir, "commit", "--quiet", "--message=first")
	return &Repo{TB: tb, Dir: dir, Dot: dir + "/.git"}
}

// Copy copies a repository to a directory of the test tb. The index of the copy has the stat data of the original.
func (r *Repo) Copy(tb testing.TB) *Repo {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "copy")
	Must(tb, os.CopyFS(dir, os.DirFS(r.Dir)))
	return &Repo{TB: tb, Dir: dir, Dot: dir + "/.git"}
}

// BranchFiles returns the files of a branch in the form `MODE CONTENT`, keyed by path. The git program reads them.
func (r *Repo) BranchFiles(branch string) map[string]string {
	r.TB.Helper()
	files := map[string]string{}
	for line := range strings.Lines(Git(r.TB, r.Dir, "ls-tree", "-r", branch)) {
		head, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		words := strings.Fields(head)
		files[name] = words[0]
		if words[1] == "blob" {
			files[name] += " " + Git(r.TB, r.Dir, "cat-file", "blob", words[2])
		}
	}
	return files
}

// Git runs git and returns its output without white space at the ends. If git is not on PATH, the test is skipped.
func Git(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	RequireGit(tb)
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

// RequireGit skips the test if git is not on PATH.
func RequireGit(tb testing.TB) {
	tb.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		tb.Skip("NOT CHECKED against git: the git program is not on PATH")
	}
}

// Mkdir makes a directory and its ancestors.
func Mkdir(tb testing.TB, dir string) {
	tb.Helper()
	Must(tb, os.MkdirAll(dir, 0o755))
}

// Write writes a file, and creates its directory if necessary.
func Write(tb testing.TB, name, content string) {
	tb.Helper()
	Mkdir(tb, filepath.Dir(name))
	Must(tb, os.WriteFile(name, []byte(content), 0o644))
}

// Symlink makes a symbolic link.
func Symlink(tb testing.TB, target, name string) {
	tb.Helper()
	Must(tb, os.Symlink(target, name))
}

// Snapshot returns the content of every file below a directory, and the target of every symbolic link, keyed by path.
func Snapshot(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	all := map[string]string{}
	Must(tb, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			all[name], err = os.Readlink(name)
			return err
		}
		data, err := os.ReadFile(name)
		all[name] = string(data)
		return err
	}))
	return all
}

// Must fails the test on an error.
func Must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
