package abi

// GitState describes what is checked out in a repository. Found is false if there is no repository.
type GitState struct {
	Found    bool   `json:"found"`
	TopLevel string `json:"top_level,omitempty"` // absolute path
	Branch   string `json:"branch,omitempty"`    // short name of HEAD's branch; empty if HEAD is detached
	Commit   string `json:"commit,omitempty"`    // full hash of HEAD's commit; empty if the branch has no commit yet
	// Upstream is the full name of the reference that the branch tracks, and UpstreamCommit its commit. Upstream is empty if the branch tracks
	// none, and UpstreamCommit if that reference does not exist.
	Upstream       string `json:"upstream,omitempty"`
	UpstreamCommit string `json:"upstream_commit,omitempty"`
	// Detached is the name by which a detached HEAD was checked out, a reference or an abbreviated hash, and Moved reports whether HEAD has
	// changed since. Detached is empty if the reflog does not tell.
	Detached string `json:"detached,omitempty"`
	Moved    bool   `json:"moved,omitempty"`
	// Operations are the operations in progress: GitMerge and so on.
	Operations []GitOperation `json:"operations,omitempty"`
	// Worktrees are the branches that other worktrees of the repository have checked out, as full names.
	Worktrees []string `json:"worktrees,omitempty"`
}

// Names of operations in progress.
const (
	GitMerge      = "merge"
	GitRebase     = "rebase"
	GitApply      = "am"
	GitCherryPick = "cherry-pick"
	GitRevert     = "revert"
	GitBisect     = "bisect"
)

// GitOperation is an operation in progress. Commit is the abbreviated hash of the commit that is picked or reverted.
type GitOperation struct {
	Name   string `json:"name"`
	Commit string `json:"commit,omitempty"`
}

// GitRefsQuery asks for the references whose full names begin with Prefix, such as refs/heads/.
type GitRefsQuery struct {
	Repo   string `json:"repo"`
	Prefix string `json:"prefix"`
}

// GitRefs contains references in the order of their names. References that are broken, or that refer to nothing, are left out.
type GitRefs struct {
	Refs []GitReference `json:"refs,omitempty"`
}

// GitReference is a reference of a repository. Hash is the object to which it refers, and Target the full name of the reference to which a
// symbolic reference refers.
type GitReference struct {
	Name   string `json:"name"`
	Hash   string `json:"hash"`
	Target string `json:"target,omitempty"`
}

// GitHistoryQuery asks for the commits that are reachable from the commits From and not from the commits Exclude, in the order of git log.
// All are full hashes, at most 100. Since and Until are times of committers in seconds since 1970, and 0 if they do not matter: as in git,
// the ancestors of a commit before Since are left out. Limit is the maximum number of commits in the result: at most 10,000; 0 means 100.
// If Count is set, the result has the number of all commits instead of commits.
type GitHistoryQuery struct {
	Repo    string   `json:"repo"`
	From    []string `json:"from"`
	Exclude []string `json:"exclude,omitempty"`
	Since   int64    `json:"since,omitempty"`
	Until   int64    `json:"until,omitempty"`
	Limit   int      `json:"limit,omitempty"`
	Count   bool     `json:"count,omitempty"`
}

// GitHistory is the result of a GitHistoryQuery. Truncated is set if there are more commits than the limit, or if their contents exceed 8 MiB.
type GitHistory struct {
	Commits   []GitStoredObject `json:"commits,omitempty"`
	Count     int               `json:"count,omitempty"`
	Truncated bool              `json:"truncated,omitempty"`
}

// GitHashes names at most 1,000 objects of a repository by their full hashes.
type GitHashes struct {
	Repo   string   `json:"repo"`
	Hashes []string `json:"hashes"`
}

// GitObjects contains the requested objects in their order. More is set if the contents of the objects exceed 8 MiB: the objects that do not
// fit are left out and can be requested again.
type GitObjects struct {
	Objects []GitStoredObject `json:"objects,omitempty"`
	More    bool              `json:"more,omitempty"`
}

// GitStoredObject is an object. Type is commit, tree, blob or tag, and empty if there is no such object. Content is encoded as base64. The
// type of commits in a history is left out.
type GitStoredObject struct {
	Hash    string `json:"hash"`
	Type    string `json:"type,omitempty"`
	Content []byte `json:"content,omitempty"`
}

// GitAbbreviated contains the abbreviations of hashes, in their order, as git log --abbrev-commit shows them. The objects need not exist.
type GitAbbreviated struct {
	Hashes []string `json:"hashes,omitempty"`
}

// What a GitChangesQuery compares besides trees.
const (
	GitEmpty    = "empty"    // no files
	GitIndex    = "index"    // the staged files
	GitWorktree = "worktree" // the files of the working tree that are in the index
)

// GitChangesQuery asks for the files that differ between From and To. Each is GitEmpty, GitIndex, GitWorktree or the full hash of a tree or
// commit; From is not GitWorktree, and To a hash or GitEmpty only if From is one of these. Limit is the maximum number of files in the
// result: at most 10,000; 0 means 1,000.
type GitChangesQuery struct {
	Repo  string `json:"repo"`
	From  string `json:"from"`
	To    string `json:"to"`
	Limit int    `json:"limit,omitempty"`
}

// GitChanges lists changed files in the order of their paths. Renames are not detected. Found is false if there is no repository.
type GitChanges struct {
	Found     bool            `json:"found"`
	Files     []GitDifference `json:"files,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
}

// GitDifference is a file that differs. Path is relative to the top level, and encoded as base64 since it need not be UTF-8. If Unmerged is
// set, the index has more than one version of the file because of a conflict. A side without the file has no mode.
type GitDifference struct {
	Path     []byte         `json:"path"`
	Unmerged bool           `json:"unmerged,omitempty"`
	Old      GitFileVersion `json:"old,omitzero"`
	New      GitFileVersion `json:"new,omitzero"`
}

// GitFileVersion is one side of a GitDifference. Mode is one of GitModeFile, GitModeExecutable, GitModeLink and GitModeSubmodule. Hash is
// empty for a file of the working tree, whose content the operation does not return: it may be that of the other side.
type GitFileVersion struct {
	Mode string `json:"mode,omitempty"`
	Hash string `json:"hash,omitempty"`
}
