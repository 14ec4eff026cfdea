//go:build unix

package tests

import (
	"fmt"
	"os"
	"os/exec"
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

// TestChantReadsEveryLayoutOfRepository checks that branches and commits are found wherever the repository of the project is, if it is
// granted, and that an answer says so if it is not granted.
func TestChantReadsEveryLayoutOfRepository(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT CHECKED: the git program, which makes the layouts, is not on PATH")
	}
	git := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	repo := repository(t)
	git(repo, "update-ref", "refs/heads/main", "main") // as git writes it
	git(repo, "reset", "-q", "--hard")
	all := newDir(t, nil)
	path := func(name string) string { return filepath.Join(all, name) }
	git(repo, "worktree", "add", "-q", "--detach", path("linked"))
	git(all, "clone", "-q", "-s", repo, "shared")
	git(path("shared"), "branch", "-q", "chant/"+goodID, "origin/chant/"+goodID)
	const sub = "orchard/"
	git(all, "init", "-q", "whole")
	branch := map[string]string{"completed": "chant(" + goodID + "): water them", "in_progress": "go on"}
	for _, status := range []string{"completed", "in_progress"} {
		title := map[string]string{"completed": "On the branch", "in_progress": "In the folder"}[status]
		putFile(t, filepath.Join(path("whole"), sub+goodFile), specText(status, title))
		git(path("whole"), "add", ".")
		git(path("whole"), "commit", "-q", "-m", branch[status])
		if status == "completed" {
			git(path("whole"), "branch", "chant/"+goodID)
		}
	}
	tests := []struct {
		name, project, dir string // dir is the working directory, relative to the project
		grant              string // a further repository that is granted; "" if none
		read               bool
	}{
		{"the project is the repository", repo, "", "", true},
		{"a linked worktree", path("linked"), "", "", false},
		{"a linked worktree, and its repository is granted", path("linked"), "", repo, true},
		{"a clone with alternates", path("shared"), "", "", false},
		{"a clone with alternates, which are granted", path("shared"), "", repo, true},
		{"a .chant in a subdirectory", path("whole"), sub, "", true},
		{"the project is a subdirectory", filepath.Join(path("whole"), sub), "", "", false},
		{"the project is a subdirectory, and its repository is granted", filepath.Join(path("whole"), sub), "", path("whole"), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			git := "{ repo = '${project}', access = 'r' }"
			if test.grant != "" {
				git += fmt.Sprintf(", { repo = %q, access = 'r' }", test.grant)
			}
			config := filepath.Join(newDir(t, nil), "bulkhead.toml")
			putFile(t, config, fmt.Sprintf("[[plugins]]\npath = %q\nfs = [{ path = '${project}', access = 'rw' }]\ngit = [%s]\n", filepath.Join(built.plugins(t), "chant"), git))
			cmd := programCommand(t, "serve", "--config", config, "--project", test.project)
			cmd.Dir = filepath.Join(test.project, test.dir)
			s := startServer(t, cmd)
			shown, diagnosed := s.mustCall("chant_spec_get", `{"id":"a1b"}`), s.mustCall("chant_diagnose", `{"id":"a1b"}`)
			s.end()
			title, commit := `"title": "On the branch"`, "Found: "
			if !test.read {
				title, commit = `"title": "In the folder"`, "Cannot run git log: "
			}
			if !strings.Contains(shown, title) {
				t.Errorf("get: got %s, want %s", shown, title)
			}
			if !strings.Contains(diagnosed, commit) || strings.Contains(diagnosed, "No matching commit") {
				t.Errorf("diagnose: got %s, want %s", diagnosed, commit)
			}
		})
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
