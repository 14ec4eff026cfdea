//! Git repositories and remotes that the plugin is granted. A repository, branch, file or commit that does not exist is a result, not
//! an error. `repo` is the absolute path of a directory in a repository.

use crate::{host_call, Bytes, HostError};
use serde::{Deserialize, Serialize};
use serde_json::json;

type Result<T> = std::result::Result<T, HostError>;

/// Tells whether a local branch exists.
pub fn branch_exists(repo: &str, branch: &str) -> Result<bool> {
    host_call("git/branch_exists", &json!({"repo": repo, "branch": branch}))
}

/// Returns the content of a file of at most 8 MiB on a local branch; None if there is no such file.
pub fn read_file(repo: &str, branch: &str, path: &str) -> Result<Option<Vec<u8>>> {
    #[derive(Deserialize)]
    struct Content {
        found: bool,
        #[serde(default)]
        content: Bytes,
    }
    let file: Content = host_call("git/read_file", &json!({"repo": repo, "branch": branch, "path": path}))?;
    Ok(file.found.then_some(file.content.0))
}

/// Returns the abbreviated hash of the newest commit reachable from HEAD whose message contains `text`; empty if there is none.
pub fn find_commit(repo: &str, text: &str) -> Result<String> {
    #[derive(Deserialize)]
    struct Commit {
        #[serde(default)]
        hash: String,
    }
    host_call("git/find_commit", &json!({"repo": repo, "text": text})).map(|c: Commit| c.hash)
}

/// Returns the top level of the repository that contains a path; empty if there is none.
pub fn top_level(path: &str) -> Result<String> {
    #[derive(Deserialize)]
    struct TopLevel {
        #[serde(default)]
        top_level: String,
    }
    host_call("git/top_level", &json!({"path": path})).map(|t: TopLevel| t.top_level)
}

/// The state of HEAD.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub struct Head {
    /// Empty if HEAD is detached.
    pub branch: String,
    /// Empty if the branch has no commit yet.
    pub commit: String,
}

/// Returns the branch and commit of HEAD.
pub fn current_branch(repo: &str) -> Result<Head> {
    host_call("git/current_branch", &json!({"repo": repo}))
}

/// The object that a reference resolves to.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub struct Object {
    /// Empty if nothing was found.
    pub hash: String,
    /// The object itself or the commit of an annotated tag; empty if there is none.
    pub commit: String,
}

/// Resolves HEAD, a full reference, a tag, a branch, a remote branch, or a hash of 4 to 40 digits.
pub fn resolve_ref(repo: &str, reference: &str) -> Result<Object> {
    host_call("git/resolve_ref", &json!({"repo": repo, "ref": reference}))
}

/// The URL of a remote.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub struct RemoteUrl {
    /// Without credentials; empty if there is no such remote.
    pub url: String,
    /// Tells URLs apart that differ in their credentials; empty if there are none.
    pub digest: String,
}

/// Returns the URL of a remote, such as `origin`.
pub fn remote_url(repo: &str, remote: &str) -> Result<RemoteUrl> {
    host_call("git/remote_url", &json!({"repo": repo, "remote": remote}))
}

/// Tells which of at most 1,000 paths are ignored; None if there is no repository.
pub fn ignored(repo: &str, paths: &[&str]) -> Result<Option<Vec<bool>>> {
    #[derive(Deserialize)]
    struct Ignored {
        ignored: Option<Vec<bool>>,
    }
    host_call("git/ignored", &json!({"repo": repo, "paths": paths})).map(|i: Ignored| i.ignored)
}

/// The differences between HEAD, the index and the working tree.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Status {
    /// False if there is no repository.
    pub found: bool,
    pub paths: Vec<PathStatus>,
    /// Set if there are more paths than the limit.
    pub truncated: bool,
}

/// The status of one path, with the codes of `git status --porcelain`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct PathStatus {
    pub path: String,
    pub staged: char,
    pub unstaged: char,
}

/// Returns the differences of at most `limit` paths; 0 means 1,000, and the maximum is 10,000.
pub fn status(repo: &str, limit: u32) -> Result<Status> {
    host_call("git/status", &json!({"repo": repo, "limit": limit}))
}

/// A file that a commit writes or removes.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// Relative to the top level.
    pub path: String,
    pub content: Bytes,
    /// `100644` or `100755`; empty keeps the mode of an existing file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mode: String,
    pub deleted: bool,
}

/// A commit that was made.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Committed {
    pub commit: String,
    pub parent: String,
}

/// Creates a branch with one commit on top of the local branch `base`, or of HEAD if that is empty.
pub fn commit_branch(repo: &str, branch: &str, base: &str, message: &str, changes: &[Change]) -> Result<Committed> {
    host_call("git/commit_branch", &json!({"repo": repo, "branch": branch, "base": base, "message": message, "changes": changes}))
}

/// A reference of a remote repository.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct RemoteRef {
    pub name: String,
    pub hash: String,
    /// The target of an annotated tag.
    #[serde(default)]
    pub peeled: String,
    /// The target of a symbolic reference.
    #[serde(default)]
    pub target: String,
}

/// Returns references of the repository at a granted https URL: those with these full names, or all if there are none.
pub fn list_remote(url: &str, names: &[&str]) -> Result<Vec<RemoteRef>> {
    #[derive(Deserialize)]
    struct Refs {
        refs: Option<Vec<RemoteRef>>,
    }
    host_call("git/list_remote", &json!({"url": url, "names": names})).map(|r: Refs| r.refs.unwrap_or_default())
}

/// A page of the files of a commit.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Fetched {
    pub files: Vec<FetchedFile>,
    /// Set if there are more files behind the last path.
    pub more: bool,
}

/// A file of a commit.
#[derive(Clone, Debug, Deserialize)]
pub struct FetchedFile {
    pub path: String,
    pub mode: String,
    #[serde(default)]
    pub content: Bytes,
}

/// Returns the files of a commit of a remote repository below `folder`, behind the path `after`, which is empty for the first page.
pub fn fetch(url: &str, commit: &str, folder: &str, after: &str) -> Result<Fetched> {
    host_call("git/fetch", &json!({"url": url, "commit": commit, "folder": folder, "after": after}))
}
