// Package workflow does what the tools of chant offer, one method each: List, Get, Ready, Status, Log,
// Search, Diagnose and Verify look at specs; Update, Add, Finalize, Resume, Cancel and Archive change
// them. Open finds the project. Results are what the client sees, as a text or a value to write as JSON.
//
// Every method reads the folder anew, so that changes made by other programs are seen at once.
package workflow

import (
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/board"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
)

// Git reads the repository whose top level is the project's root.
type Git interface {
	board.Git
	// FindCommit returns the hash of the newest commit whose message contains text; "" if there is none.
	FindCommit(text string) (hash string, err error)
}

// Project is a project with a .chant folder. All fields must be set, but for Git.
type Project struct {
	Dir    store.Dir
	Git    Git          // nil: specs are shown as their files are, and no commit is found
	Now    time.Time    // its location is the one for dates and times that people read
	Random io.Reader    // for the suffixes of new ids
	Warn   func(string) // told of what people should know, such as that files are not loaded
	Debug  func(string) // told the details
}

// Refusal is an error whose text is the whole answer, in the words that clients know.
type Refusal string

func (r Refusal) Error() string { return string(r) }

func refuse(format string, arguments ...any) error {
	return Refusal(fmt.Sprintf(format, arguments...))
}

// maxNamed and maxDetails bound what is said of files that are not loaded: their names, and the reasons.
const (
	maxNamed   = 5
	maxDetails = 20
)

// load reads the board; shown says whether specs in progress are taken from their branches.
func (p *Project) load(shown bool) (*board.Board, error) {
	var git board.Git
	if shown && p.Git != nil {
		git = p.Git
	}
	loaded, err := board.Load(p.Dir, git)
	if err != nil {
		return nil, err
	}
	p.tell(loaded.Faults)
	return loaded, nil
}

// tell says which files are not loaded, in one line: as nothing is remembered, every call says it again.
func (p *Project) tell(faults []*spec.LoadError) {
	specs := path.Dir(p.Dir.Relative(p.Dir.Spec("x"))) + "/"
	var names []string
	for i, fault := range faults {
		switch {
		case fault.Path == p.Dir.Relative(p.Dir.Archive()):
			// What is archived counts as done: without it, specs are shown as blocked.
			p.Warn("not read: " + fault.Error())
			continue
		case i < maxDetails:
			p.Debug("not loaded: " + fault.Error())
		case i == maxDetails:
			p.Debug(fmt.Sprintf("%d more files are not loaded", len(faults)-i))
		}
		names = append(names, strings.TrimPrefix(fault.Path, specs))
	}
	if len(names) == 0 {
		return
	}
	count := "1 spec is"
	if len(names) > 1 {
		count = fmt.Sprintf("%d specs are", len(names))
	}
	if len(names) > maxNamed {
		names = append(names[:maxNamed], "…")
	}
	p.Warn(fmt.Sprintf("%s not loaded: %s (chant_diagnose or asking for its id says why)", count, strings.Join(names, ", ")))
}

// find resolves an id, on a board as load gives it.
func (p *Project) find(id string, shown bool) (*board.Entry, error) {
	loaded, err := p.load(shown)
	if err != nil {
		return nil, err
	}
	return loaded.Find(id, p.today())
}

func (p *Project) today() string { return p.Now.Format(time.DateOnly) }

// chosen returns the filter that a status word asks for: by the status that lists show, or for ready by
// whether work can begin. A nil word, and one that names no status, lets everything through.
func chosen(loaded *board.Board, word *string) func(*board.Entry) bool {
	if word == nil {
		return everything
	}
	status, known := spec.ParseStatus(*word)
	switch {
	case !known:
		return everything
	case status == spec.Ready:
		return loaded.Ready
	}
	return func(entry *board.Entry) bool { return entry.Status == status }
}

func everything(*board.Entry) bool { return true }
