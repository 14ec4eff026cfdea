package git

import (
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// TopLevel returns the top level of the repository that contains a path, which need not exist; "" if there is none.
func TopLevel(path string) (string, error) {
	var top abi.GitTopLevel
	err := sdk.HostCall(abi.OpGitTopLevel, abi.GitPath{Path: path}, &top)
	return top.TopLevel, err
}

// CurrentBranch returns the branch that HEAD is on and its commit's full hash. The branch is "" if HEAD is detached, the
// commit is "" if the branch has none yet; both are "" if there is no repository.
func CurrentBranch(repo string) (branch, commit string, err error) {
	var head abi.GitHead
	err = sdk.HostCall(abi.OpGitCurrentBranch, abi.GitRepo{Repo: repo}, &head)
	return head.Branch, head.Commit, err
}

// ResolveRef resolves a name: HEAD, a full reference, a tag, branch or remote branch, or a
// hash of 4 digits or more. The hashes are empty if it does not exist.
func ResolveRef(repo, ref string) (abi.GitObject, error) {
	var object abi.GitObject
	err := sdk.HostCall(abi.OpGitResolveRef, abi.GitRef{Repo: repo, Ref: ref}, &object)
	return object, err
}

// RemoteURL returns the URL of a remote ("": origin) without credentials; "" if there is none.
func RemoteURL(repo, remote string) (string, error) {
	url, err := Remote(repo, remote)
	return url.URL, err
}

// Remote is RemoteURL, and also returns the digest that distinguishes URLs with different credentials.
func Remote(repo, remote string) (abi.GitURL, error) {
	var url abi.GitURL
	err := sdk.HostCall(abi.OpGitRemoteURL, abi.GitRemote{Repo: repo, Remote: remote}, &url)
	return url, err
}

// Ignored reports for each path (relative to the top level, or absolute) whether git ignores it. The result is nil if
// there is no repository.
func Ignored(repo string, paths ...string) ([]bool, error) {
	var ignored abi.GitIgnored
	err := sdk.HostCall(abi.OpGitIgnored, abi.GitPaths{Repo: repo, Paths: paths}, &ignored)
	return ignored.Ignored, err
}

// Status returns the differences between HEAD, the index and the working tree: at most limit paths; 0: 1,000.
func Status(repo string, limit int) (abi.GitStatus, error) {
	var status abi.GitStatus
	err := sdk.HostCall(abi.OpGitStatus, abi.GitStatusQuery{Repo: repo, Limit: limit}, &status)
	return status, err
}

// CommitBranch makes a new branch with one commit. It needs the grant access = "rw" and fails if the
// branch exists. Working tree, index and HEAD do not change.
func CommitBranch(commit abi.GitNewCommit) (abi.GitCommitted, error) {
	var done abi.GitCommitted
	err := sdk.HostCall(abi.OpGitCommitBranch, commit, &done)
	return done, err
}

// ListRemote returns the references of the repository at an https URL: those with the given full names, or all. It needs
// a grant of that remote.
func ListRemote(url string, names ...string) ([]abi.GitRemoteRef, error) {
	var refs abi.GitRemoteRefs
	err := sdk.HostCall(abi.OpGitListRemote, abi.GitRemoteQuery{URL: url, Names: names}, &refs)
	return refs.Refs, err
}

// Fetch calls take with each file of a commit (its full hash) below a directory ("": all) of the repository at an https
// URL. It needs a grant of that remote. If take returns an error, Fetch ends and returns it.
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
