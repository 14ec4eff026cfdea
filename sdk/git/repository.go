package git

import (
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// TopLevel returns the top level of the repository that contains path; empty if there is none. The path need not exist.
func TopLevel(path string) (string, error) {
	var top abi.GitTopLevel
	err := sdk.HostCall(abi.OpGitTopLevel, abi.GitPath{Path: path}, &top)
	return top.TopLevel, err
}

// CurrentBranch returns the branch of HEAD and the full hash of its commit. branch is empty if HEAD is detached. commit is empty if the branch
// has no commit yet. Both are empty if there is no repository.
func CurrentBranch(repo string) (branch, commit string, err error) {
	var head abi.GitHead
	err = sdk.HostCall(abi.OpGitCurrentBranch, abi.GitRepo{Repo: repo}, &head)
	return head.Branch, head.Commit, err
}

// ResolveRef resolves a name: HEAD, a full reference, a tag, a branch, a remote branch, or a hash of 4 digits or more. If there is no such
// object, the hashes in the result are empty.
func ResolveRef(repo, ref string) (abi.GitObject, error) {
	var object abi.GitObject
	err := sdk.HostCall(abi.OpGitResolveRef, abi.GitRef{Repo: repo, Ref: ref}, &object)
	return object, err
}

// RemoteURL returns the URL of a remote without credentials; empty if there is no such remote. An empty name means origin.
func RemoteURL(repo, remote string) (string, error) {
	url, err := Remote(repo, remote)
	return url.URL, err
}

// Remote is like RemoteURL, and also returns the digest by which URLs with different credentials differ.
func Remote(repo, remote string) (abi.GitURL, error) {
	var url abi.GitURL
	err := sdk.HostCall(abi.OpGitRemoteURL, abi.GitRemote{Repo: repo, Remote: remote}, &url)
	return url, err
}

// Ignored reports for each path whether git ignores that path. A path is relative to the top level, or absolute. If there is no repository,
// the result is nil.
func Ignored(repo string, paths ...string) ([]bool, error) {
	var ignored abi.GitIgnored
	err := sdk.HostCall(abi.OpGitIgnored, abi.GitPaths{Repo: repo, Paths: paths}, &ignored)
	return ignored.Ignored, err
}

// Status returns the differences between HEAD, the index and the working tree. It returns at most limit paths; a limit of 0 means 1,000.
func Status(repo string, limit int) (abi.GitStatus, error) {
	var status abi.GitStatus
	err := sdk.HostCall(abi.OpGitStatus, abi.GitStatusQuery{Repo: repo, Limit: limit}, &status)
	return status, err
}

// CommitBranch creates a branch with one commit. The repository must be granted with access = "rw". If the branch exists, CommitBranch fails.
// The working tree, the index and HEAD do not change.
func CommitBranch(commit abi.GitNewCommit) (abi.GitCommitted, error) {
	var done abi.GitCommitted
	err := sdk.HostCall(abi.OpGitCommitBranch, commit, &done)
	return done, err
}

// Add stages files or directories, given relative to the top level or as absolute paths, as git add does; "." stages the whole working tree.
// Files that the plugin may not read are not staged. The repository must be granted with access = "commit". Add fails where git would convert
// a file.
func Add(repo string, paths ...string) (abi.GitAdded, error) {
	var done abi.GitAdded
	err := sdk.HostCall(abi.OpGitAdd, abi.GitAdd{Repo: repo, Paths: paths}, &done)
	return done, err
}

// Commit commits the index on the branch that is checked out, or on a detached HEAD, as git commit -m does. The repository must be granted with
// access = "commit". Commit fails where git would run a hook or sign the commit.
func Commit(repo, message string) (abi.GitCommitted, error) {
	var done abi.GitCommitted
	err := sdk.HostCall(abi.OpGitCommit, abi.GitIndexCommit{Repo: repo, Message: message}, &done)
	return done, err
}

// CreateBranch creates a branch at a commit, which is given by its full hash. The repository must be granted with access = "commit". The reflog
// names the commit from, or by its hash if from is empty.
func CreateBranch(repo, branch, commit, from string) error {
	return sdk.HostCall(abi.OpGitCreateBranch, abi.GitNewBranch{Repo: repo, Branch: branch, Commit: commit, From: from}, nil)
}

// Reset makes the index that of HEAD, so that nothing is staged. The repository must be granted with access = "commit".
func Reset(repo string) error {
	return sdk.HostCall(abi.OpGitReset, abi.GitRepo{Repo: repo}, nil)
}

// ListRemote returns the references of the repository at an https URL: those with the given full names, or all if there are no names. The
// remote must be granted.
func ListRemote(url string, names ...string) ([]abi.GitRemoteRef, error) {
	var refs abi.GitRemoteRefs
	err := sdk.HostCall(abi.OpGitListRemote, abi.GitRemoteQuery{URL: url, Names: names}, &refs)
	return refs.Refs, err
}

// Fetch calls take with each file of a commit of the repository at an https URL. commit is a full hash. Only files below the directory folder
// are taken, or all if folder is empty. The remote must be granted. If take returns an error, Fetch stops and returns that error.
func Fetch(url, commit, folder string, take func(abi.GitFetchedFile) error) error {
	query := abi.GitFetch{URL: url, Commit: commit, Folder: folder}
	for {
		var page abi.GitFetched
		if err := sdk.HostCall(abi.OpGitFetch, query, &page); err != nil {
			return err
		}
		for _, file := range page.Files {
			if err := take(file); err != nil {
				return err
			}
			query.After = file.Path
		}
		if !page.More || len(page.Files) == 0 {
			return nil
		}
	}
}
