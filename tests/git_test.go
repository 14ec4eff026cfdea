//go:build unix

package tests

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/google/go-cmp/cmp"
)

// repository creates a project with a spec in progress, a branch with a different version of the spec, and a commit whose
// message names the spec.
func repository(t *testing.T) string {
	t.Helper()
	const onMain = "---\ntype: code\nstatus: in_progress\n---\n\n# In the folder\n"
	project := newDir(t, map[string]string{goodFile: onMain, ".git/description": "An orchard\n"})
	storage := filesystem.NewStorage(osfs.New(filepath.Join(project, ".git")), cache.NewObjectLRUDefault())
	if err := storage.Init(); err != nil {
		t.Fatal(err)
	}
	branch := commitSpec(t, storage, specText("completed", "On the branch"), "chant("+goodID+"): water them\n")
	main := commitSpec(t, storage, onMain, "go on\n", branch)
	for _, r := range []*plumbing.Reference{
		plumbing.NewHashReference(plumbing.NewBranchReferenceName("chant/"+goodID), branch),
		plumbing.NewHashReference(plumbing.NewBranchReferenceName("main"), main),
		plumbing.NewSymbolicReference(plumbing.HEAD, plumbing.NewBranchReferenceName("main")),
	} {
		if err := storage.SetReference(r); err != nil {
			t.Fatal(err)
		}
	}
	return project
}

// commitSpec stores a commit with one spec.
func commitSpec(t *testing.T, storage *filesystem.Storage, content, message string, parents ...plumbing.Hash) plumbing.Hash {
	t.Helper()
	blob := &plumbing.MemoryObject{}
	blob.SetType(plumbing.BlobObject)
	if _, err := blob.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	hash, mode := store(t, storage, blob), filemode.Regular
	for _, name := range []string{goodID + ".md", "specs", ".chant"} {
		tree := &plumbing.MemoryObject{}
		if err := (&object.Tree{Entries: []object.TreeEntry{{Name: name, Mode: mode, Hash: hash}}}).Encode(tree); err != nil {
			t.Fatal(err)
		}
		hash, mode = store(t, storage, tree), filemode.Dir
	}
	who := object.Signature{Name: "Ada", Email: "ada@example.com", When: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	commit := &plumbing.MemoryObject{}
	if err := (&object.Commit{Author: who, Committer: who, Message: message, TreeHash: hash, ParentHashes: parents}).Encode(commit); err != nil {
		t.Fatal(err)
	}
	return store(t, storage, commit)
}

func store(t *testing.T, storage *filesystem.Storage, o plumbing.EncodedObject) plumbing.Hash {
	t.Helper()
	hash, err := storage.SetEncodedObject(o)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// TestChantReadsRepositoryWithoutWriting checks that tools that read return the branch's version of a spec in progress, and
// that tools that write change only the working tree.
func TestChantReadsRepositoryWithoutWriting(t *testing.T) {
	t.Parallel()
	project := repository(t)
	before := snapshot(t, filepath.Join(project, ".git"))
	s := serveChant(t, project)
	if text := s.mustCall("chant_spec_get", `{"id":"a1b"}`); !containsAll(text, `"title": "On the branch"`, `"status": "completed"`) {
		t.Errorf("spec_get: %s", text)
	}
	if text := s.mustCall("chant_diagnose", `{"id":"a1b"}`); !containsAll(text, "Found: ", "Status is in_progress but commit exists (should be completed?)") {
		t.Errorf("diagnose: %s", text)
	}
	s.mustCall("chant_spec_update", `{"id":"a1b","output":"more"}`)
	s.end()
	want := "---\ntype: code\nstatus: in_progress\n---\n# In the folder\n\n## Output\n\nmore\n"
	if diff := cmp.Diff(want, readFile(t, filepath.Join(project, goodFile))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(before, snapshot(t, filepath.Join(project, ".git"))); diff != "" {
		t.Errorf("the repository changed (-before +after)\n%s", diff)
	}
}

// TestRepositoryOutsideProjectIsNotRead checks that a .git file that refers to a repository outside the grant is ignored.
func TestRepositoryOutsideProjectIsNotRead(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"a file", "a link"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			elsewhere := filepath.Join(repository(t), ".git")
			project := newDir(t, map[string]string{goodFile: specText("in_progress", "In the folder")})
			if how == "a link" {
				symlink(t, elsewhere, filepath.Join(project, ".git"))
			} else {
				putFile(t, filepath.Join(project, ".git"), "gitdir: "+elsewhere+"\n")
			}
			before := snapshot(t, elsewhere)
			s := serveChant(t, project)
			if text := s.mustCall("chant_spec_get", `{"id":"a1b"}`); !containsAll(text, `"title": "In the folder"`, `"status": "in_progress"`) {
				t.Errorf("spec_get: %s", text)
			}
			if text := s.mustCall("chant_diagnose", `{"id":"a1b"}`); strings.Contains(text, "Found: ") {
				t.Errorf("diagnose: %s", text)
			}
			s.waitForLog("denied")
			s.end()
			if diff := cmp.Diff(before, snapshot(t, elsewhere)); diff != "" {
				t.Errorf("the repository changed (-before +after)\n%s", diff)
			}
		})
	}
}
