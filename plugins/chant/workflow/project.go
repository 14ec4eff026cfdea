// Package workflow implements the tools of chant. Each tool is one method of Project: List, Get, Ready, Status, Log,
// Search, Diagnose and Verify read specs; Update, Add, Finalize, Resume, Cancel and Archive change specs. A method
// returns a string, or a value that the caller encodes as JSON.
//
// Every method reads the .chant directory again, so that it sees the changes of other programs.
package workflow

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/board"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
)

// Git reads the Git repository that contains the project. Its methods return an error if that repository cannot be read.
type Git interface {
	board.Git
	// FindCommit returns the hash of the newest commit whose message contains text; "" if no message contains text.
	FindCommit(text string) (hash string, err error)
}

// Project is a project with a .chant directory. The fields Git and Note may be nil; all other fields are required.
type Project struct {
	Dir    store.Dir
	Git    Git          // if nil, methods read specs from their files only, and find no commit
	Now    time.Time    // the current time; dates and times in results use its location
	Random io.Reader    // the source of random bytes for the suffixes of new ids
	Warn   func(string) // logs a warning
	Joined bool         // whether results show joined names of statuses: inprogress, needsattention (see spec.Status.Joined)
	Debug  func(string) // logs a message at level debug
	Note   func(string) // adds a note about omitted content to an answer whose format has no field for the note; may be nil
}

// shown returns the name of a status in results.
func (p *Project) shown(status spec.Status) spec.Status {
	if p.Joined {
		return status.Joined()
	}
	return status
}

func (p *Project) note(text string) {
	if p.Note != nil {
		p.Note(text)
	}
}

// Refusal is an error whose text is that of the chant CLI. The text becomes the tool's result and must not change.
type Refusal string

func (r Refusal) Error() string { return string(r) }

func refuse(format string, arguments ...any) error {
	return Refusal(fmt.Sprintf(format, arguments...))
}

// The warning of logErrors names at most maxNamed files. At level debug, logErrors logs at most maxDetails reasons.
const (
	maxNamed   = 5
	maxDetails = 20
)

// load reads the board. If branches is set, load reads a spec in progress from its branch. A tool that changes specs
// does not set branches, because it changes the file.
func (p *Project) load(branches bool) (*board.Board, error) {
	loaded, err := board.Load(p.Dir, p.boardGit(branches))
	if err != nil {
		return nil, err
	}
	p.logErrors(loaded.Errors)
	p.noteUnread(loaded)
	return loaded, nil
}

// noteUnread says which specs in progress are shown from their files because their branches cannot be read.
func (p *Project) noteUnread(loaded *board.Board) {
	if len(loaded.Unread) == 0 {
		return
	}
	subject := "1 spec in progress is"
	if n := len(loaded.Unread); n > 1 {
		subject = fmt.Sprintf("%d specs in progress are", n)
	}
	text := fmt.Sprintf("%s shown from the files, not from the branches, because git cannot be read: %s: %s", subject, named(loaded.Unread), loaded.UnreadErr)
	p.Warn(text)
	p.note(text)
}

// named returns the first maxNamed of names.
func named(names []string) string {
	if len(names) > maxNamed {
		names = append(slices.Clone(names[:maxNamed]), "…")
	}
	return strings.Join(names, ", ")
}

// boardGit returns the Git that a board uses; nil if the board has to read specs in progress from their files.
func (p *Project) boardGit(branches bool) board.Git {
	if !branches || p.Git == nil {
		return nil
	}
	return p.Git
}

// logErrors logs one warning with the names of the files that are not loaded, and logs the reasons at level debug.
// Every call logs these messages again, because the plugin keeps no state between calls.
func (p *Project) logErrors(failed []*spec.LoadError) {
	specs := path.Dir(p.Dir.Relative(p.Dir.Spec("x"))) + "/"
	var names []string
	for i, err := range failed {
		switch {
		case err.Path == p.Dir.Relative(p.Dir.Archive()):
			// The archive gets a warning of its own, because specs that depend on archived specs are blocked if the
			// archive is not read.
			p.Warn("not read: " + err.Error())
			continue
		case i < maxDetails:
			p.Debug("not loaded: " + err.Error())
		case i == maxDetails:
			p.Debug(fmt.Sprintf("%d more files are not loaded", len(failed)-i))
		}
		names = append(names, strings.TrimPrefix(err.Path, specs))
	}
	if len(names) == 0 {
		return
	}
	count := "1 spec is"
	if len(names) > 1 {
		count = fmt.Sprintf("%d specs are", len(names))
	}
	p.Warn(fmt.Sprintf("%s not loaded: %s (chant_diagnose with the id gives the reason)", count, named(names)))
}

// find loads the board and returns the entry with the given id; see load and board.Board.Find.
func (p *Project) find(id string, branches bool) (*board.Entry, error) {
	loaded, err := p.load(branches)
	if err != nil {
		return nil, err
	}
	return loaded.Find(id, p.today())
}

func (p *Project) today() string { return p.Now.Format(time.DateOnly) }

// filterByStatus returns a predicate that selects entries whose Entry.Status has the given name. For the name ready,
// the predicate is Board.Ready. If name is nil or does not name a status, the predicate selects every entry.
func filterByStatus(loaded *board.Board, name *string) func(*board.Entry) bool {
	if name == nil {
		return isAny
	}
	status, known := spec.FindStatus(*name)
	switch {
	case !known:
		return isAny
	case status == spec.Ready:
		return loaded.Ready
	}
	return func(entry *board.Entry) bool { return entry.Status == status }
}

func isAny(*board.Entry) bool { return true }
