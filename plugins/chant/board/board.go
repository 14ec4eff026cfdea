// Package board holds a project's active specs: it loads them (Load), resolves ids (Board.Find), and computes
// from their dependencies the status that lists show (Entry.Status) and whether work can begin (Board.Ready). It
// writes nothing.
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

// Git reads the repository whose root is the project's root.
type Git interface {
	// BranchExists reports whether the local branch exists.
	BranchExists(branch string) (bool, error)
	// ReadFile returns a file of a local branch; path is relative to the repository's root.
	ReadFile(branch, path string) (content []byte, found bool, err error)
}

// Entry is one active spec.
type Entry struct {
	ID     string
	Spec   *spec.Spec  // from its branch if it is in progress and has one, else from its file
	Status spec.Status // computed, see computeStatus
	File   store.File
	Sum    store.Sum // of the file's content

	size    int   // of the content, in bytes
	dropped *gist // set if Spec has no body, to save memory
}

// Board holds the active specs of a project as they were when it was loaded.
type Board struct {
	Entries []*Entry          // in the order of id.Compare
	Errors  []*spec.LoadError // of the files that cannot be loaded, in the order of their paths

	dir     store.Dir
	git     Git
	byID    map[string]*Entry
	errorOf map[string]*spec.LoadError // by the id in the file's name
	omitted map[string]*omitted        // by id, files above the limits
	members map[string][]string        // ids, by the id of their driver
	archive func() store.Archived      // loaded on the first use
}

// limits bound what is loaded. Of a file beyond the first two, Entries has nothing; beyond the last one, no body.
type limits struct {
	specs  int
	bytes  int // of front matter and titles
	bodies int // bytes
}

// The limits keep a board within a module's memory. Real projects have hundreds of specs of a few KiB.
var defaultLimits = limits{specs: 10_000, bytes: 3 << 20, bodies: 6 << 20}

// Load reads every spec, the newest first, so that the limits omit the oldest ones. Specs in progress are taken from
// their branch; if git is nil, from their file. A file that cannot be loaded is in Errors; the returned error is about
// the directory.
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

// read loads one file, and subtracts it from the limits that are left.
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
		left.bytes = -1 // older files are not read, even if one would fit
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

// open loads one file, or its version on its branch.
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
		failed = &spec.LoadError{Reason: err.Error(), Limit: file.ID == ""} // a directory, which may have valid specs
	}
	failed.Path = b.dir.Relative(file.Path)
	b.Errors = append(b.Errors, failed)
	if file.ID != "" && b.byID[file.ID] == nil {
		b.errorOf[file.ID] = failed
	}
}

// readArchive returns the archived specs. An error is recorded in Errors, so that active specs are shown all the same.
func (b *Board) readArchive(dir store.Dir) store.Archived {
	archived, err := dir.Archived()
	if err != nil {
		b.Errors = append(b.Errors, &spec.LoadError{Path: dir.Relative(dir.Archive()), Reason: err.Error(), Limit: true})
	}
	return archived
}

// showBranch replaces the spec of an entry in progress by its branch's version. If there is none that can be loaded,
// the file's version stays.
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

// Find returns the entry with an id, which may be abbreviated; see id.Resolve. Its spec has its body. The full id of a
// file that cannot be loaded gives its *spec.LoadError. Today is YYYY-MM-DD.
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

// resolve returns the full id of a spec. Files above the limits count.
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
