package repository

// Host reads granted repositories. Parameters called repo are the absolute path of a repository's top level.
type Host interface {
	State(repo string) (State, error)
	// Refs returns the references whose full names begin with prefix, in the order of their names.
	Refs(repo, prefix string) ([]Ref, error)
	History(Range) (History, error)
	// Changes returns at most limit files that differ between from and to, each of which is Empty, Index, Worktree or a hash.
	Changes(repo, from, to string, limit int) (all []Change, truncated bool, err error)
	// Objects calls take with the objects of the given hashes.
	Objects(repo string, take func(Object) error, hashes ...string) error
	Abbreviate(repo string, hashes ...string) ([]string, error)
	// Status returns at most limit paths that git status --porcelain shows.
	Status(repo string, limit int) (all []PathStatus, truncated bool, err error)
	// Resolve returns the hash of a reference or an abbreviated hash; empty if name is neither.
	Resolve(repo, name string) (string, error)
	// Add stages files. The error is a NoMatchError if a path names no file.
	Add(repo string, paths []string) (Staged, error)
	// Commit commits the index and returns the hash of the commit.
	Commit(repo, message string) (string, error)
	Reset(repo string) error
	// CreateBranch creates a branch at a commit, which the reflog calls from.
	CreateBranch(repo, branch, commit, from string) error
}

// Staged is what Add has done: whether the index has changed, the number of files that the plugin may not read, and some of their names.
type Staged struct {
	Changed bool
	Skipped int
	Names   []string
}

// NoMatchError is the error for a path that names no file. It has git's words.
type NoMatchError struct{ Text string }

func (e *NoMatchError) Error() string { return e.Text }

// What Changes compares besides trees.
const (
	Empty    = "empty"
	Index    = "index"
	Worktree = "worktree"
)

// Modes of files.
const (
	ModeSubmodule = "160000"
	regularPrefix = "100" // of the modes of regular files
)

// State describes what is checked out.
type State struct {
	Found          bool
	TopLevel       string
	Branch         string // empty if HEAD is detached
	Commit         string // empty if the branch has no commit
	Upstream       string // full name of the reference that the branch tracks
	UpstreamCommit string // empty if that reference does not exist
	Detached       string // name by which a detached HEAD was checked out
	Moved          bool   // whether a detached HEAD has changed since
	Operations     []Operation
	Worktrees      []string // branches that other worktrees have checked out
}

// Operation is an operation in progress: merge, rebase, am, cherry-pick, revert or bisect.
type Operation struct{ Name, Commit string }

// Ref is a reference. Target is the reference to which a symbolic reference refers.
type Ref struct{ Name, Hash, Target string }

// Range selects the commits that are reachable from From and not from Exclude, between two times in seconds since 1970. If Count is set, only
// their number is wanted.
type Range struct {
	Repo          string
	From, Exclude []string
	Since, Until  int64
	Limit         int
	Count         bool
}

// History are the commits of a Range, or their number.
type History struct {
	Commits   []Object
	Count     int
	Truncated bool
}

// Object is an object. Its type is empty if it does not exist.
type Object struct {
	Hash, Type string
	Content    []byte
}

// Change is a file that differs. A side without the file has no mode, and a file of the working tree has no hash.
type Change struct {
	Path     []byte
	Unmerged bool
	Old, New Version
}

// Version is one side of a Change.
type Version struct{ Mode, Hash string }

// PathStatus is the status of a path, by the codes of git status --porcelain.
type PathStatus struct{ Path, Staged, Unstaged string }

// IsRegular reports whether a mode is that of a regular file.
func IsRegular(mode string) bool { return len(mode) > 3 && mode[:3] == regularPrefix }

// Refs returns the references whose full names begin with prefix.
func (r *Repository) Refs(prefix string) ([]Ref, error) { return r.host.Refs(r.TopLevel, prefix) }

// History returns the commits of a range of the repository.
func (r *Repository) History(x Range) (History, error) {
	x.Repo = r.TopLevel
	return r.host.History(x)
}

// Reaches reports whether a commit is an ancestor of the object tip, or tip itself.
func (r *Repository) Reaches(tip, commit string) (bool, error) {
	n, err := r.CountMissing(commit, tip)
	return n == 0 && err == nil, err
}

// CountMissing returns the number of commits that are reachable from one commit and not from another one.
func (r *Repository) CountMissing(from, not string) (int, error) {
	history, err := r.History(Range{From: []string{from}, Exclude: []string{not}, Count: true})
	return history.Count, err
}

// Changes returns the files that differ between two states.
func (r *Repository) Changes(from, to string, limit int) ([]Change, bool, error) {
	return r.host.Changes(r.TopLevel, from, to, limit)
}

// Abbreviate shortens hashes.
func (r *Repository) Abbreviate(hashes ...string) ([]string, error) {
	return r.host.Abbreviate(r.TopLevel, hashes...)
}

// Status returns the paths that git status --porcelain shows.
func (r *Repository) Status(limit int) ([]PathStatus, bool, error) {
	return r.host.Status(r.TopLevel, limit)
}

// Add stages files, given relative to the top level or by absolute paths.
func (r *Repository) Add(paths []string) (Staged, error) { return r.host.Add(r.TopLevel, paths) }

// CommitIndex commits the index and returns the hash of the commit.
func (r *Repository) CommitIndex(message string) (string, error) {
	return r.host.Commit(r.TopLevel, message)
}

// Reset makes the index that of HEAD.
func (r *Repository) Reset() error { return r.host.Reset(r.TopLevel) }

// CreateBranch creates a branch at a commit, which the reflog calls from.
func (r *Repository) CreateBranch(branch, commit, from string) error {
	return r.host.CreateBranch(r.TopLevel, branch, commit, from)
}
