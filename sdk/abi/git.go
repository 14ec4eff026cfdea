package abi

// Operations on repositories and remotes, in addition to those in abi.go. Each comment states the types of the operation's parameters -> its
// result. If a repository, reference or remote does not exist, the result states that; it is not an error.
const (
	OpGitTopLevel      = "git/top_level"      // GitPath -> GitTopLevel
	OpGitCurrentBranch = "git/current_branch" // GitRepo -> GitHead
	OpGitResolveRef    = "git/resolve_ref"    // GitRef -> GitObject
	OpGitRemoteURL     = "git/remote_url"     // GitRemote -> GitURL
	OpGitIgnored       = "git/ignored"        // GitPaths -> GitIgnored
	OpGitStatus        = "git/status"         // GitStatusQuery -> GitStatus
	OpGitCommitBranch  = "git/commit_branch"  // GitNewCommit -> GitCommitted
	OpGitAdd           = "git/add"            // GitAdd -> GitAdded
	OpGitCommit        = "git/commit"         // GitIndexCommit -> GitCommitted
	OpGitCreateBranch  = "git/create_branch"  // GitNewBranch -> null
	OpGitReset         = "git/reset"          // GitRepo -> null
	OpGitState         = "git/state"          // GitRepo -> GitState
	OpGitRefs          = "git/refs"           // GitRefsQuery -> GitRefs
	OpGitHistory       = "git/history"        // GitHistoryQuery -> GitHistory
	OpGitChanges       = "git/changes"        // GitChangesQuery -> GitChanges
	OpGitObjects       = "git/objects"        // GitHashes -> GitObjects
	OpGitAbbreviate    = "git/abbreviate"     // GitHashes -> GitAbbreviated
	OpGitListRemote    = "git/list_remote"    // GitRemoteQuery -> GitRemoteRefs
	OpGitFetch         = "git/fetch"          // GitFetch -> GitFetched
)

// GitPath is the absolute path of a file or directory. The path need not exist.
type GitPath struct {
	Path string `json:"path"`
}

// GitTopLevel is the absolute path of the top level of the repository that contains a path. TopLevel is empty if there is no repository.
type GitTopLevel struct {
	TopLevel string `json:"top_level"`
}

// GitRepo names a repository by the absolute path of a directory in it.
type GitRepo struct {
	Repo string `json:"repo"`
}

// GitHead is the state of HEAD. Branch is the short name of its branch; empty if HEAD is detached. Commit is the full hash of its commit;
// empty if the branch has no commit yet. Both are empty if there is no repository.
type GitHead struct {
	Branch string `json:"branch,omitempty"`
	Commit string `json:"commit,omitempty"`
}

// GitRef names an object in a repository: HEAD, a full reference (refs/…), a tag, branch or remote branch, or a hash of
// 4 to 40 hexadecimal digits. As in git, a full hash precedes references, and references precede an abbreviated hash.
// Expressions (^ ~ : @{) are not supported.
type GitRef struct {
	Repo string `json:"repo"`
	Ref  string `json:"ref"`
}

// GitObject is the result of resolving a GitRef. Hash is the full hash of the object; empty if no object was found. Commit is the full hash
// of a commit: of the object itself, or of the commit to which an annotated tag refers; empty if there is no such commit.
type GitObject struct {
	Hash   string `json:"hash,omitempty"`
	Commit string `json:"commit,omitempty"`
}

// GitRemote names a remote of a repository. An empty name means origin.
type GitRemote struct {
	Repo   string `json:"repo"`
	Remote string `json:"remote,omitempty"`
}

// GitURL is the URL of a remote without credentials. URL is empty if there is no such remote.
type GitURL struct {
	URL string `json:"url,omitempty"`
	// Digest distinguishes remotes whose URLs differ only in their credentials. It is the first 16 lower-case hexadecimal digits of the
	// SHA-256 of the URL with its credentials, but without "http://" or "https://" and without ".git" at the end. It is empty if the URL has
	// no credentials.
	Digest string `json:"digest,omitempty"`
}

// GitPaths names at most 1,000 files and directories of a repository's working tree. Each path is absolute, or slash-separated and relative
// to the top level. A trailing slash marks a directory; this matters if the path does not exist.
type GitPaths struct {
	Repo  string   `json:"repo"`
	Paths []string `json:"paths"`
}

// GitIgnored states for each requested path, in order, whether it is ignored. Ignored is empty if there is no repository.
type GitIgnored struct {
	Ignored []bool `json:"ignored"`
}

// GitStatusQuery asks for the differences between HEAD, the index and the working tree. Limit is the maximum number of paths in the result:
// at most 10,000; 0 means 1,000.
type GitStatusQuery struct {
	Repo  string `json:"repo"`
	Limit int    `json:"limit,omitempty"`
}

// GitStatus lists the differences between HEAD, the index and the working tree. Found is false if there is no repository. Paths is empty if
// there are no differences. Truncated is set if there are more paths than the limit.
type GitStatus struct {
	Found     bool            `json:"found"`
	Paths     []GitPathStatus `json:"paths,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
}

// GitPathStatus is the status of one path. Path is relative to the top level; the path of an untracked directory ends in a slash. Staged
// compares the index with HEAD, and Unstaged compares the working tree with the index. Both are codes of git status --porcelain: " ", M,
// T, A, D or U. For an untracked path, both are "?".
type GitPathStatus struct {
	Path     string `json:"path"`
	Staged   string `json:"staged"`
	Unstaged string `json:"unstaged"`
}

// Modes of files in the notation of git.
const (
	GitModeFile       = "100644"
	GitModeExecutable = "100755"
	GitModeLink       = "120000" // a symbolic link, whose target is the content
	GitModeSubmodule  = "160000" // a commit of a submodule
)

// GitNewCommit asks for a new branch with one new commit. The parent of the commit is the commit of the local branch Base, or of HEAD if
// Base is empty. Changes are applied to the parent's files. The working tree, the index and HEAD do not change.
type GitNewCommit struct {
	Repo    string      `json:"repo"`
	Branch  string      `json:"branch"`
	Base    string      `json:"base,omitempty"`
	Message string      `json:"message"`
	Changes []GitChange `json:"changes"`
}

// GitChange is a change of one file: the commit writes the file or, if Deleted is set, removes it. Path is slash-separated and relative to
// the top level. Mode is GitModeFile or GitModeExecutable. If Mode is empty, an existing file keeps its mode, and a new file gets
// GitModeFile. Content is encoded as base64.
type GitChange struct {
	Path    string `json:"path"`
	Content []byte `json:"content,omitempty"`
	Mode    string `json:"mode,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
}

// GitCommitted contains the full hashes of the new commit and of its parent, which is empty for the first commit of a branch.
type GitCommitted struct {
	Commit string `json:"commit"`
	Parent string `json:"parent"`
}

// GitAdd asks for files to be staged. Paths are files or directories, relative to the top level or absolute; "." is the whole working tree.
type GitAdd struct {
	Repo  string   `json:"repo"`
	Paths []string `json:"paths"`
}

// GitAdded says whether the index has changed, how many files below the given directories the module may not read, and the names of some of
// them. These files are not staged.
type GitAdded struct {
	Changed bool     `json:"changed"`
	Skipped int      `json:"skipped,omitempty"`
	Names   []string `json:"names,omitempty"`
}

// GitIndexCommit asks for a commit of the index on the branch that is checked out, or on a detached HEAD.
type GitIndexCommit struct {
	Repo    string `json:"repo"`
	Message string `json:"message"`
}

// GitNewBranch asks for a branch at a commit, which is given by its full hash. From is how the reflog names the commit; if it is empty, the
// hash.
type GitNewBranch struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Commit string `json:"commit"`
	From   string `json:"from,omitempty"`
}

// GitRemoteQuery asks for references of the repository at a granted https URL. Names contains full names, such as refs/heads/main or HEAD.
// If Names is empty, all references are returned.
type GitRemoteQuery struct {
	URL   string   `json:"url"`
	Names []string `json:"names,omitempty"`
}

// GitRemoteRefs contains at most 10,000 references of a remote, in the order in which the remote lists them.
type GitRemoteRefs struct {
	Refs []GitRemoteRef `json:"refs"`
}

// GitRemoteRef is a reference of a remote repository. Peeled is the object to which an annotated tag refers. Target is the reference to
// which a symbolic reference such as HEAD refers.
type GitRemoteRef struct {
	Name   string `json:"name"`
	Hash   string `json:"hash"`
	Peeled string `json:"peeled,omitempty"`
	Target string `json:"target,omitempty"`
}

// GitFetch asks for the files of one commit of the repository at a granted https URL. Commit is a full hash; GitRemoteQuery finds the hash
// of a branch or tag. Folder, if not empty, is the slash-separated path of the directory whose files are wanted. After is the last path of
// the previous page; empty for the first page.
type GitFetch struct {
	URL    string `json:"url"`
	Commit string `json:"commit"`
	Folder string `json:"folder,omitempty"`
	After  string `json:"after,omitempty"`
}

// GitFetched is a page of files, in git's order of paths. More is set if another page follows.
type GitFetched struct {
	Files []GitFetchedFile `json:"files"`
	More  bool             `json:"more,omitempty"`
}

// GitFetchedFile is a file of a fetched commit. Path is relative to the repository's top level. Content is encoded as base64. Submodules
// are left out.
type GitFetchedFile struct {
	Path    string `json:"path"`
	Mode    string `json:"mode"`
	Content []byte `json:"content,omitempty"`
}
