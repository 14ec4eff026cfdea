// Package board holds a project's active specs. It loads them (Load) and resolves ids (Board.Find). From the
// dependencies of a spec it computes the status that lists show (Entry.Status) and whether work can begin
// (Board.Ready). It writes no files.
package board

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/id"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
)

// Git reads the Git repository whose root is the project's root.
type Git interface {
	// BranchExists reports whether the local branch exists.
	BranchExists(branch string) (bool, error)
	// ReadFile returns a file of a local branch; path is relative to the repository's root.
	ReadFile(branch, path string) (content []byte, found bool, err error)
}

// Entry is one active spec.
type Entry struct {
	ID     string
	Spec   *spec.Spec  // if the spec is in progress and has a branch, the version on the branch, else that of the file
	Status spec.Status // set by computeStatus
	File   store.File
	Sum    store.Sum // checksum of the file's content

	size    int   // length of the content in bytes
	dropped *gist // set if Spec has no body, to save memory
}

// Board holds the active specs of a project as they were when it was loaded.
type Board struct {
	Entries []*Entry          // in the order of id.Compare
	Errors  []*spec.LoadError // one for each file that is not loaded, in the order of the paths

	dir     store.Dir
	git     Git
	byID    map[string]*Entry
	errorOf map[string]*spec.LoadError // errors by the id in the file's name
	omitted map[string]*omitted        // omitted files by id
	members map[string][]string        // ids of members by the id of their driver
	archive func() store.Archived      // loaded on the first use
}

// limits bound the memory of a board. A file beyond specs or bytes is omitted from Entries. Beyond bodies, Entries has the
// spec without its body.
type limits struct {
	specs  int
	bytes  int // total size of front matter and titles
	bodies int // total size of bodies, in bytes
}

// The limits keep a board within a module's memory. Real projects have hundreds of specs of a few KiB.
var defaultLimits = limits{specs: 10_000, bytes: 3 << 20, bodies: 6 << 20}

// Load reads every spec, the newest first, so that the limits omit the oldest ones. It reads specs in progress from their
// branch, unless git is nil. It records files that cannot be loaded in Errors; the returned error concerns the directory.
func Load(dir store.Dir, git Git) (*Board, error) { return load(dir, git, defaultLimits) }

func load(dir store.Dir, git Git, left limits) (*Board, error) {
	files, err := dir.Specs()
	if err != nil {
		return nil, err
	}
	board := &Board{
		dir:     dir,
		git:     git,
		byID:    map[string]*Entry{},
		errorOf: map[string]*spec.LoadError{},
		omitted: map[string]*omitted{},
		members: map[string][]string{},
	}
	slices.SortStableFunc(files, newestFirst)
	board.archive = sync.OnceValue(func() store.Archived { return board.readArchive(dir) })
	for _, file := range files {
		entry, err := board.read(file, &left)
		if err != nil {
			board.addError(file, err)
			continue
		}
		board.Entries = append(board.Entries, entry)
		board.byID[file.ID] = entry
	}
	slices.SortFunc(board.Entries, func(a, b *Entry) int { return id.Compare(a.ID, b.ID) })
	slices.SortStableFunc(board.Errors, func(a, b *spec.LoadError) int { return strings.Compare(a.Path, b.Path) })
	board.computeStatus()
	return board, nil
}

// read loads one file and subtracts its size from the remaining limits.
func (b *Board) read(file store.File, left *limits) (*Entry, error) {
	if file.Err != nil {
		return nil, file.Err
	}
	if first := b.byID[file.ID]; first != nil {
		return nil, fmt.Errorf("duplicate id: already used by %s", b.dir.Relative(first.File.Path))
	}
	if left.specs == 0 {
		return nil, b.omit(file, fmt.Sprintf("there are more than %d specs: archive completed ones", len(b.Entries)))
	}
	const tooLarge = "the specs together are too large to load: archive completed ones"
	if left.bytes < 0 {
		return nil, b.omit(file, tooLarge)
	}
	entry, err := b.open(file)
	if err != nil {
		return nil, err
	}
	cost := entry.size - len(entry.Spec.Body) + titleSize(entry.Spec)
	if cost > left.bytes {
		left.bytes = -1 // omit all older files without reading them, even those that would fit
		return nil, b.omit(file, tooLarge)
	}
	left.specs--
	left.bytes -= cost
	if len(entry.Spec.Body) > left.bodies {
		entry.dropBody()
	} else {
		left.bodies -= len(entry.Spec.Body)
	}
	return entry, nil
}

// open loads one file, or the version of the spec on its branch.
func (b *Board) open(file store.File) (*Entry, error) {
	content, sum, err := store.Read(file.Path, spec.MaxSize)
	var large *store.TooLargeError
	if errors.As(err, &large) {
		return nil, &spec.LoadError{Limit: true, Reason: fmt.Sprintf("larger than %d MiB", spec.MaxSize>>20)}
	}
	if err != nil {
		return nil, err
	}
	parsed, err := spec.Parse(content)
	if err != nil {
		return nil, err
	}
	entry := &Entry{ID: file.ID, Spec: parsed, File: file, Sum: sum, size: len(content)}
	if b.git != nil {
		showBranch(entry, b.git)
	}
	return entry, nil
}

func (b *Board) addError(file store.File, err error) {
	var failed *spec.LoadError
	if !errors.As(err, &failed) {
		failed = &spec.LoadError{Reason: err.Error(), Limit: file.ID == ""} // without an id, the path is a directory, which may contain valid specs
	}
	failed.Path = b.dir.Relative(file.Path)
	b.Errors = append(b.Errors, failed)
	if file.ID != "" && b.byID[file.ID] == nil {
		b.errorOf[file.ID] = failed
	}
}

// readArchive returns the archived specs. It records an error in Errors instead of failing, so that lists still show active
// specs.
func (b *Board) readArchive(dir store.Dir) store.Archived {
	archived, err := dir.Archived()
	if err != nil {
		b.Errors = append(b.Errors, &spec.LoadError{Path: dir.Relative(dir.Archive()), Reason: err.Error(), Limit: true})
	}
	return archived
}

// showBranch replaces the spec of an entry in progress by the version on its branch. Without a version that can be loaded,
// the spec of the file stays.
func showBranch(entry *Entry, git Git) {
	if entry.Spec.Status != spec.InProgress {
		return
	}
	branch := "chant/" + entry.ID
	if entry.Spec.Branch != nil {
		branch = *entry.Spec.Branch
	}
	if exists, err := git.BranchExists(branch); err != nil || !exists {
		return
	}
	content, found, err := git.ReadFile(branch, store.DirName+"/specs/"+entry.ID+".md")
	if err != nil || !found {
		return
	}
	if shown, err := spec.Parse(string(content)); err == nil {
		entry.Spec, entry.size = shown, len(content)
	}
}

// Find returns the entry with an id, which may be abbreviated as for id.Resolve, and restores the body of its spec. For the
// full id of a file that cannot be loaded, the error is its *spec.LoadError. Today is a date as YYYY-MM-DD.
func (b *Board) Find(text, today string) (*Entry, error) {
	found, err := b.resolve(text, today)
	if err != nil {
		return nil, err
	}
	if file := b.omitted[found]; file != nil {
		return b.openOmitted(file)
	}
	if failed := b.errorOf[found]; failed != nil {
		return nil, failed
	}
	entry := b.byID[found]
	return entry, b.restoreBody(entry)
}

// resolve returns the full id of a spec, which may be omitted because of the limits.
func (b *Board) resolve(text, today string) (string, error) {
	if b.byID[text] != nil || b.errorOf[text] != nil {
		return text, nil
	}
	ids := make([]string, 0, len(b.Entries))
	for _, entry := range b.Entries {
		ids = append(ids, entry.ID)
	}
	for id, failed := range b.errorOf {
		if failed.Limit {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, id.Compare)
	return id.Resolve(ids, text, today)
}
