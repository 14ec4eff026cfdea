// Package workflow implements the tools of chant, one method of Project each: List, Get, Ready, Status, Log, Search,
// Diagnose and Verify read specs; Update, Add, Finalize, Resume, Cancel and Archive change them. A result is a string
// or a value to encode as JSON.
//
// Every method reads the .chant directory again, so that it sees the changes of other programs.
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

// Git reads the Git repository whose root is the project's root.
type Git interface {
	board.Git
	// FindCommit returns the hash of the newest commit whose message contains text; "" if there is none.
	FindCommit(text string) (hash string, err error)
}

// Project is a project with a .chant directory. All fields but Git and Note are required.
type Project struct {
	Dir    store.Dir
	Git    Git          // if nil, specs are read from their files only, and no commit is found
	Now    time.Time    // dates and times in results are in its location
	Random io.Reader    // for the suffixes of new ids
	Warn   func(string) // logs a warning
	Debug  func(string) // logs at level debug
	Note   func(string) // adds a note on omitted content to an answer whose format has no field for it; may be nil
}

func (p *Project) note(text string) {
	if p.Note != nil {
		p.Note(text)
	}
}

// Refusal is an error with the text of the chant CLI. The text is the tool's result and must not change.
type Refusal string

func (r Refusal) Error() string { return string(r) }

func refuse(format string, arguments ...any) error {
	return Refusal(fmt.Sprintf(format, arguments...))
}

// logErrors names at most maxNamed files in its warning, and logs at most maxDetails reasons.
const (
	maxNamed   = 5
	maxDetails = 20
)

// load reads the board. If branches is set, it reads specs in progress from their branches. Tools that change specs do
// not set branches, because they change the files.
func (p *Project) load(branches bool) (*board.Board, error) {
	loaded, err := board.Load(p.Dir, p.boardGit(branches))
	if err != nil {
		return nil, err
	}
	p.logErrors(loaded.Errors)
	return loaded, nil
}

// boardGit returns the Git for a board; nil if specs in progress are taken from their files.
func (p *Project) boardGit(branches bool) board.Git {
	if !branches || p.Git == nil {
		return nil
	}
	return p.Git
}

// logErrors logs one warning that names the files that are not loaded, and their reasons at level debug. The plugin has
// no state, so every call logs them again.
func (p *Project) logErrors(failed []*spec.LoadError) {
	specs := path.Dir(p.Dir.Relative(p.Dir.Spec("x"))) + "/"
	var names []string
	for i, err := range failed {
		switch {
		case err.Path == p.Dir.Relative(p.Dir.Archive()):
			// The archive gets a separate warning: without it, specs that depend on archived specs are blocked.
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
	if len(names) > maxNamed {
		names = append(names[:maxNamed], "…")
	}
	p.Warn(fmt.Sprintf("%s not loaded: %s (chant_diagnose with the id gives the reason)", count, strings.Join(names, ", ")))
}

// find loads the board and returns the entry with an id; see load and board.Board.Find.
func (p *Project) find(id string, branches bool) (*board.Entry, error) {
	loaded, err := p.load(branches)
	if err != nil {
		return nil, err
	}
	return loaded.Find(id, p.today())
}

func (p *Project) today() string { return p.Now.Format(time.DateOnly) }

// filterByStatus returns a predicate that selects entries by Entry.Status, or for the name ready by Board.Ready. It selects
// every entry if name is nil or not a status.
func filterByStatus(loaded *board.Board, name *string) func(*board.Entry) bool {
	if name == nil {
		return isAny
	}
	status, known := spec.ParseStatus(*name)
	switch {
	case !known:
		return isAny
	case status == spec.Ready:
		return loaded.Ready
	}
	return func(entry *board.Entry) bool { return entry.Status == status }
}

func isAny(*board.Entry) bool { return true }
