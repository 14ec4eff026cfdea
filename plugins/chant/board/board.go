// Package board holds a project's active specs: it loads them (Load), resolves ids (Board.Find), and computes
// from their dependencies the status that lists show (Entry.Status) and whether work can begin (Board.Ready). It
// writes nothing.
package board

import (
	"errors"
	"fmt"
	"slices"
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
}

// Board holds the active specs of a project as they were when it was loaded.
type Board struct {
	Entries []*Entry          // in the order of id.Compare
	Errors  []*spec.LoadError // of the files that cannot be loaded, in the order of their paths

	byID    map[string]*Entry
	errorOf map[string]*spec.LoadError // by the id in the file's name
	members map[string][]*Entry        // by the id of their driver
	archive func() store.Archived      // loaded on the first use
}

// limits bound what is loaded. A file that exceeds one of them is not loaded.
type limits struct {
	specs int
	bytes int
}

// The limits keep a board within a module's memory. Real projects have hundreds of specs of a few KiB.
const (
	maxSpecs = 10_000
	maxBytes = 12 << 20
)

// Load reads every spec. Specs in progress are taken from their branch; if git is nil, from their file. A file that
// cannot be loaded is in Errors; the returned error is about the directory.
func Load(dir store.Dir, git Git) (*Board, error) {
	return load(dir, git, limits{maxSpecs, maxBytes})
}

func load(dir store.Dir, git Git, left limits) (*Board, error) {
	files, err := dir.Specs()
	if err != nil {
		return nil, err
	}
	board := &Board{
		byID:    map[string]*Entry{},
		errorOf: map[string]*spec.LoadError{},
		members: map[string][]*Entry{},
	}
	board.archive = sync.OnceValue(func() store.Archived { return board.readArchive(dir) })
	for _, file := range files {
		entry, err := board.read(dir, file, &left)
		if err != nil {
			board.addError(dir, file, err)
			continue
		}
		board.Entries = append(board.Entries, entry)
		board.byID[file.ID] = entry
	}
	if git != nil {
		for _, entry := range board.Entries {
			showBranch(entry, git)
		}
	}
	slices.SortFunc(board.Entries, func(a, b *Entry) int { return id.Compare(a.ID, b.ID) })
	board.computeStatus()
	return board, nil
}

// read loads one file, and subtracts it from the limits that are left.
func (b *Board) read(dir store.Dir, file store.File, left *limits) (*Entry, error) {
	if file.Err != nil {
		return nil, file.Err
	}
	if first := b.byID[file.ID]; first != nil {
		return nil, fmt.Errorf("duplicate id: already used by %s", dir.Relative(first.File.Path))
	}
	if left.specs == 0 {
		return nil, fmt.Errorf("there are more than %d specs", len(b.Entries))
	}
	content, sum, err := store.Read(file.Path, spec.MaxSize)
	var large *store.TooLargeError
	if errors.As(err, &large) {
		return nil, fmt.Errorf("larger than %d MiB", spec.MaxSize>>20)
	}
	if err != nil {
		return nil, err
	}
	if len(content) > left.bytes {
		return nil, errors.New("the specs together are too large to load")
	}
	parsed, err := spec.Parse(content)
	if err != nil {
		return nil, err
	}
	left.specs--
	left.bytes -= len(content)
	return &Entry{ID: file.ID, Spec: parsed, File: file, Sum: sum}, nil
}

func (b *Board) addError(dir store.Dir, file store.File, err error) {
	var failed *spec.LoadError
	if !errors.As(err, &failed) {
		failed = &spec.LoadError{Reason: err.Error()}
	}
	failed.Path = dir.Relative(file.Path)
	b.Errors = append(b.Errors, failed)
	if file.ID != "" && b.byID[file.ID] == nil {
		b.errorOf[file.ID] = failed
	}
}

// readArchive returns the archived specs. An error is recorded in Errors, so that active specs are shown all the same.
func (b *Board) readArchive(dir store.Dir) store.Archived {
	archived, err := dir.Archived()
	if err != nil {
		b.Errors = append(b.Errors, &spec.LoadError{Path: dir.Relative(dir.Archive()), Reason: err.Error()})
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
		entry.Spec = shown
	}
}

// Find returns the entry with an id, which may be abbreviated; see id.Resolve. The full id of a file that cannot be
// loaded gives its *spec.LoadError. Today is YYYY-MM-DD.
func (b *Board) Find(text, today string) (*Entry, error) {
	if entry := b.byID[text]; entry != nil {
		return entry, nil
	}
	if failed := b.errorOf[text]; failed != nil {
		return nil, failed
	}
	ids := make([]string, 0, len(b.Entries))
	for _, entry := range b.Entries {
		ids = append(ids, entry.ID)
	}
	found, err := id.Resolve(ids, text, today)
	if err != nil {
		return nil, err
	}
	return b.byID[found], nil
}
