// Package board holds the active specs of a project. Load reads the specs, and Board.Find resolves an id. From the
// dependencies of a spec the package computes the status that lists show (Entry.Status) and whether work on the spec
// can begin (Board.Ready). The package writes no files.
package board

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/id"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
)

// Git reads the Git repository that contains the project. If there is none, there are no branches and no files.
type Git interface {
	// BranchExists reports whether the local branch with the given name exists.
	BranchExists(branch string) (bool, error)
	// ReadFile returns the content of a file in a local branch. The path is relative to the root of the project.
	ReadFile(branch, path string) (content []byte, found bool, err error)
}

// Entry is one active spec.
type Entry struct {
	ID     string
	Spec   *spec.Spec  // the version on the branch, if the spec is in progress and has a branch; otherwise the version in the file
	Status spec.Status // the status that lists show; computeStatus sets it
	File   store.File
	Sum    store.Sum // checksum of the file's content; 0 until Board.Find has read the file

	key     id.Key
	summary *summary // not nil if the board read only the summary of the file, so that Spec is incomplete

	matches   bool // only for Search: whether the body contains the searched text
	unmatched bool // only for Search: whether the value of matches is unknown
}

// Board holds the active specs of a project as they were when Load read them.
type Board struct {
	Entries []*Entry          // all loaded specs, in the order of id.Compare
	Errors  []*spec.LoadError // one error for each file that is not loaded, in the order of the paths

	// Unread are the ids of specs in progress whose branches cannot be read, so that their Spec is the version in the file. UnreadErr is
	// the first reason.
	Unread    []string
	UnreadErr error

	dir     store.Dir
	git     Git
	byID    map[string]*Entry
	errorOf map[string]*spec.LoadError // load errors; the key is the id in the file's name
	omitted map[string]*omitted        // files that the limits omit; the key is the id of the file
	members map[string][]string        // ids of all members of a driver; the key is the id of the driver
	archive func() store.Archived      // returns the archived specs, which its first call loads
}

// limits bound the memory of a board. A board omits files beyond the limits from its Entries.
type limits struct {
	specs int
	bytes int // maximum total size of all summaries, in bytes
}

// defaultLimits keep a board small enough for the memory of a module. Real projects have hundreds of specs.
var defaultLimits = limits{specs: 10_000, bytes: 16 << 20}

// Load loads the specs of a project, the newest first, so that the limits omit the oldest specs. If git is not nil,
// Load reads a spec in progress from its branch. Load records files that it cannot load in Board.Errors; the returned
// error is about the specs directory itself.
func Load(dir store.Dir, git Git) (*Board, error) { return load(dir, git, defaultLimits) }

func load(dir store.Dir, git Git, limits limits) (*Board, error) {
	return newBoard(dir, git, limits, summarized(dir))
}

// newBoard returns the board of the files in all, as far as the limits in left allow.
func newBoard(dir store.Dir, git Git, left limits, all iter.Seq2[specFile, error]) (*Board, error) {
	files, err := newest(all, left.specs)
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
	board.archive = sync.OnceValue(func() store.Archived { return board.readArchive(dir) })
	for _, file := range files {
		entry, err := board.add(file, &left)
		if err != nil {
			board.addError(file.File, err)
			continue
		}
		board.Entries = append(board.Entries, entry)
		board.byID[file.ID] = entry
	}
	slices.SortFunc(board.Entries, func(a, b *Entry) int { return a.key.Compare(b.key) })
	slices.SortStableFunc(board.Errors, func(a, b *spec.LoadError) int { return strings.Compare(a.Path, b.Path) })
	board.computeStatus()
	return board, nil
}

// specFile is the file of a spec together with its summary. The summary is nil if the file has to be read.
type specFile struct {
	store.File
	summary *summary
	key     id.Key
	order   int  // index of the file in the list of all files; the function newest sets it
	matches bool // only for Search: whether the body contains the searched text; only valid if summary is not nil
}

// summarized returns all spec files with their summaries, in the order of their paths.
func summarized(dir store.Dir) iter.Seq2[specFile, error] {
	return specFiles(dir, summaries, func(file *specFile, value *summary) { file.summary = value })
}

// specFiles returns all spec files in the order of their paths. The function set takes the value that f has computed
// for a file.
func specFiles[T any](dir store.Dir, f *derive.Func[T], set func(file *specFile, value *T)) iter.Seq2[specFile, error] {
	return func(yield func(specFile, error) bool) {
		for listed, err := range store.Specs(dir, f) {
			file := specFile{File: listed.File, key: id.KeyOf(listed.ID)}
			if listed.Value != nil {
				set(&file, listed.Value)
			}
			if !yield(file, err) {
				return
			}
		}
	}
}

// newest returns all files, the newest first. It keeps the summaries only of the first files: of at least as many files
// as the argument specs says, and of at most three times as many.
func newest(all iter.Seq2[specFile, error], specs int) ([]specFile, error) {
	var files []specFile
	listed, unsorted := 0, 0
	trim := func() {
		slices.Reverse(files) // the files are ordered by path, so the reversed list is nearly sorted
		slices.SortFunc(files, newestFirst)
		for i := specs; i < len(files); i++ {
			files[i].summary = nil
		}
		unsorted = 0
	}
	for file, err := range all {
		if err != nil {
			return nil, err
		}
		file.order = listed
		listed++
		files = append(files, file)
		if unsorted++; unsorted > 2*specs {
			trim()
		}
	}
	trim()
	return files, nil
}

// add returns the entry of a file, and subtracts the size of the entry from the limits in left.
func (b *Board) add(file specFile, left *limits) (*Entry, error) {
	if file.Err != nil {
		return nil, file.Err
	}
	if first := b.byID[file.ID]; first != nil {
		return nil, fmt.Errorf("duplicate id: already used by %s", b.dir.Relative(first.File.Path))
	}
	if left.specs == 0 {
		return nil, b.omit(file.File, fmt.Sprintf("there are more than %d specs: archive completed ones", len(b.Entries)))
	}
	const tooLarge = "the specs together are too large to load: archive completed ones"
	if left.bytes < 0 { // a newer file was too large: omit all older files, too, even files that would fit
		return nil, b.omit(file.File, tooLarge)
	}
	entry, err := b.entryOf(file)
	if err != nil {
		return nil, err
	}
	if left.bytes -= entry.summary.size(); left.bytes < 0 {
		return nil, b.omit(file.File, tooLarge)
	}
	left.specs--
	return entry, nil
}

// entryOf returns the entry of the spec in a file. If the spec is in progress on a branch of its own, the entry is that of the
// spec's version on this branch. The entry has only the fields that lists show.
func (b *Board) entryOf(file specFile) (*Entry, error) {
	if file.summary == nil {
		read, err := b.open(file.File)
		if err != nil {
			return nil, err
		}
		found := summaryOf(read.Spec)
		return &Entry{ID: file.ID, Spec: &found.shown, File: file.File, key: file.key, summary: &found, unmatched: true}, nil
	}
	if failed := file.summary.failed; failed != nil {
		return nil, failed
	}
	entry := &Entry{ID: file.ID, Spec: &file.summary.shown, File: file.File, key: file.key, summary: file.summary, matches: file.matches}
	if shown := b.fromBranch(entry); shown != nil {
		found := summaryOf(shown)
		entry.Spec, entry.summary, entry.unmatched = &found.shown, &found, true
	}
	return entry, nil
}

// open reads the file of a spec, or the version of the spec on its branch, and returns its entry.
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
	entry := &Entry{ID: file.ID, Spec: parsed, File: file, Sum: sum}
	if shown := b.fromBranch(entry); shown != nil {
		entry.Spec = shown
	}
	return entry, nil
}

func (b *Board) addError(file store.File, err error) {
	var failed *spec.LoadError
	if !errors.As(err, &failed) {
		failed = &spec.LoadError{Reason: err.Error(), Limit: file.ID == ""} // a path without an id is a directory, which may contain valid specs
	}
	failed.Path = b.dir.Relative(file.Path)
	b.Errors = append(b.Errors, failed)
	if file.ID != "" && b.byID[file.ID] == nil {
		b.errorOf[file.ID] = failed
	}
}

// readArchive returns the archived specs. It records an error in Board.Errors instead of returning the error, so that
// lists still show the active specs.
func (b *Board) readArchive(dir store.Dir) store.Archived {
	archived, err := dir.Archived()
	if err != nil {
		b.Errors = append(b.Errors, &spec.LoadError{Path: dir.Relative(dir.Archive()), Reason: err.Error(), Limit: true})
	}
	return archived
}

// fromBranch returns the version of a spec in progress that its branch has; nil if the branch has no version that can
// be loaded. If the repository cannot be read, fromBranch adds the spec to Unread.
func (b *Board) fromBranch(entry *Entry) *spec.Spec {
	if b.git == nil || entry.Spec.Status != spec.InProgress {
		return nil
	}
	branch := "chant/" + entry.ID
	if entry.Spec.Branch != nil {
		branch = *entry.Spec.Branch
	}
	exists, err := b.git.BranchExists(branch)
	var content []byte
	if err == nil && exists {
		content, exists, err = b.git.ReadFile(branch, store.DirName+"/specs/"+entry.ID+".md")
	}
	if err != nil {
		b.addUnread(entry.ID, err)
	}
	if err != nil || !exists {
		return nil
	}
	shown, err := spec.Parse(string(content))
	if err != nil {
		return nil
	}
	return shown
}

// addUnread adds a spec to Unread, unless it is there: a spec may be read more than once.
func (b *Board) addUnread(id string, err error) {
	if !slices.Contains(b.Unread, id) {
		b.Unread = append(b.Unread, id)
	}
	b.UnreadErr = cmp.Or(b.UnreadErr, err)
}

// Find reads the spec with the id in text. The id may be abbreviated as for id.Resolve. If text is the full id of a
// file that cannot be loaded, the error is the *spec.LoadError of that file. The argument today is a date in the form
// YYYY-MM-DD.
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
	return entry, b.complete(entry)
}

// resolve returns the full id of the spec that text names or abbreviates, even if the limits omit that spec.
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
