// Package board is the state of a project's active specs: what is in their files (Load), which one a
// text stands for (Board.Find), and what follows from how they depend on each other: the status that
// lists show (Entry.Status) and whether a spec can be worked on (Board.Ready). It writes nothing.
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

// Git reads the repository whose top level is the project's root.
type Git interface {
	// BranchExists tells whether there is a local branch of that name.
	BranchExists(branch string) (bool, error)
	// ReadFile returns a file of a local branch; path is relative to the top level.
	ReadFile(branch, path string) (content []byte, found bool, err error)
}

// Entry is one active spec.
type Entry struct {
	ID     string
	Spec   *spec.Spec // from its file, or from its branch where that is what to show
	Status spec.Status
	File   store.File
	Sum    store.Sum // of the file's content
}

// Board holds the active specs of a project as they were when it was loaded.
type Board struct {
	Entries []*Entry      // in the order of id.Compare
	Faults  []*spec.LoadError // the files that cannot be loaded, in the order of their paths

	byID    map[string]*Entry
	faultOf map[string]*spec.LoadError // by the id that the file would have
	members map[string][]*Entry    // by the id of their driver
	archive func() store.Archived  // read when first asked for
}

// limits bound what is held at the same time; what is beyond them is a fault of the file that crosses.
type limits struct {
	specs int
	bytes int
}

// A board and its use must fit into a module's memory. Projects have hundreds of specs of some kilobytes.
const (
	maxSpecs = 10_000
	maxBytes = 12 << 20
)

// Load reads every spec. With a git, the specs that are worked on are shown as their branch has them;
// a nil one shows the files. The error is about the folder as a whole.
func Load(dir store.Dir, git Git) (*Board, error) {
	return load(dir, git, limits{maxSpecs, maxBytes})
}

func load(dir store.Dir, git Git, room limits) (*Board, error) {
	files, err := dir.Specs()
	if err != nil {
		return nil, err
	}
	board := &Board{
		byID:    map[string]*Entry{},
		faultOf: map[string]*spec.LoadError{},
		members: map[string][]*Entry{},
	}
	board.archive = sync.OnceValue(func() store.Archived { return board.readArchive(dir) })
	for _, file := range files {
		entry, err := board.read(dir, file, &room)
		if err != nil {
			board.addFault(dir, file, err)
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

// read loads one file as far as there is room.
func (b *Board) read(dir store.Dir, file store.File, room *limits) (*Entry, error) {
	if file.Err != nil {
		return nil, file.Err
	}
	if first := b.byID[file.ID]; first != nil {
		return nil, fmt.Errorf("its id is taken by %s", dir.Relative(first.File.Path))
	}
	if room.specs == 0 {
		return nil, fmt.Errorf("left out: there are more than %d specs", len(b.Entries))
	}
	content, sum, err := store.Read(file.Path, spec.MaxSize)
	var large *store.TooLargeError
	if errors.As(err, &large) {
		return nil, fmt.Errorf("larger than %d MiB", spec.MaxSize>>20)
	}
	if err != nil {
		return nil, err
	}
	if len(content) > room.bytes {
		return nil, errors.New("left out: the specs together are too large to load")
	}
	parsed, err := spec.Parse(content)
	if err != nil {
		return nil, err
	}
	room.specs--
	room.bytes -= len(content)
	return &Entry{ID: file.ID, Spec: parsed, File: file, Sum: sum}, nil
}

func (b *Board) addFault(dir store.Dir, file store.File, err error) {
	var fault *spec.LoadError
	if !errors.As(err, &fault) {
		fault = &spec.LoadError{Reason: err.Error()}
	}
	fault.Path = dir.Relative(file.Path)
	b.Faults = append(b.Faults, fault)
	if file.ID != "" && b.byID[file.ID] == nil {
		b.faultOf[file.ID] = fault
	}
}

// readArchive returns what is archived. What cannot be read of it is a fault, not a reason to show
// nothing at all.
func (b *Board) readArchive(dir store.Dir) store.Archived {
	archived, err := dir.Archived()
	if err != nil {
		b.Faults = append(b.Faults, &spec.LoadError{Path: dir.Relative(dir.Archive()), Reason: err.Error()})
	}
	return archived
}

// showBranch replaces what an entry shows by its branch's version, if the spec is in progress and the
// branch has one that can be read. Whatever stands against that leaves the file's.
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
	content, found, err := git.ReadFile(branch, store.FolderName+"/specs/"+entry.ID+".md")
	if err != nil || !found {
		return
	}
	if shown, err := spec.Parse(string(content)); err == nil {
		entry.Spec = shown
	}
}

// Find returns the entry that a text, perhaps a part of its id, stands for; see id.Resolve. The id of a
// file that cannot be loaded gives its *spec.LoadError. Today is YYYY-MM-DD.
func (b *Board) Find(text, today string) (*Entry, error) {
	if entry := b.byID[text]; entry != nil {
		return entry, nil
	}
	if fault := b.faultOf[text]; fault != nil {
		return nil, fault
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
