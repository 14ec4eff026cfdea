package transaction

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

const (
	journalVersion = 1
	idSize         = 8 // bytes of a journal's ID
	maxSteps       = 100_000
	maxJournal     = 64 << 20 // most bytes of a journal
)

// Journal describes a transaction.
type Journal struct {
	Version int      `json:"version"` // version of the format: 1
	ID      string   `json:"id"`      // identifier of the transaction: 16 hexadecimal digits
	Folders []string `json:"folders"` // the directories that the transaction creates, each after its parent
	Steps   []Step   `json:"steps"`
}

// Step is one change. Before and After are the Digests of the old and of the new content; a Digest is empty if there is no file. For a move,
// both are empty.
type Step struct {
	Root   string `json:"root"`
	Path   string `json:"path"`
	Before string `json:"before"`
	After  string `json:"after"`
	From   string `json:"from,omitempty"`
	Prune  bool   `json:"prune,omitempty"`
	// NoFollow is set if Before or After can be a LinkDigest.
	NoFollow bool `json:"no_follow,omitempty"`
}

// Format defines how a Log stores its journal. Fields that are zero have defaults.
type Format struct {
	// Staging, Switching and Committed are the names of the journal's file in the states of a transaction. Renaming the file changes the
	// state, which takes no disk space. Names may be equal, but Recover then cannot distinguish the states with that name. It treats the
	// transaction as committed if all steps are switched or, if the last step is a move, if that move is done.
	Staging, Switching, Committed string
	// Temporary is the atomicfile pattern for the name of a journal while it is being written.
	Temporary string
	// Encode and Decode convert a journal. Decode must refuse a journal that Encode has not written, since Recover moves and removes the
	// files that the journal names. If the journal was not written completely, Decode returns ErrTorn; Recover then removes the file if its
	// name is Staging.
	Encode func(*Journal) ([]byte, error)
	Decode func([]byte) (*Journal, error)
	// Names returns the paths of the files in which a transaction keeps the old and the new content of step i. Both paths must be on the file
	// system of the step's path.
	Names func(j *Journal, i int) (old, new string)
}

// ErrTorn is the error that Format.Decode returns for an incomplete journal. The transaction of such a journal changed nothing.
var ErrTorn = errors.New("the journal is incomplete")

func (l Log) format() Format {
	f := Format{}
	if l.Format != nil {
		f = *l.Format
	}
	f.Staging = cmp.Or(f.Staging, "staging.json")
	f.Switching = cmp.Or(f.Switching, "switching.json")
	f.Committed = cmp.Or(f.Committed, "committed.json")
	f.Temporary = cmp.Or(f.Temporary, "journal*.tmp")
	if f.Encode == nil {
		f.Encode = func(j *Journal) ([]byte, error) { return json.Marshal(j) }
	}
	if f.Decode == nil {
		f.Decode = func(raw []byte) (*Journal, error) {
			if len(raw) == 0 {
				return nil, ErrTorn // an empty file that reserved the name on a file system without hard links
			}
			j := new(Journal)
			return j, json.Unmarshal(raw, j)
		}
	}
	if f.Names == nil {
		f.Names = l.names
	}
	return f
}

// names derives the names of files from the journal's ID and not from paths in the journal, so that a journal cannot name other files.
func (l Log) names(j *Journal, i int) (old, new string) {
	base := filepath.Join(filepath.Dir(j.Steps[i].Path), l.prefix()+j.ID+"-"+strconv.Itoa(i))
	return base + ".old", base + ".new"
}

func (l Log) prefix() string { return cmp.Or(l.Prefix, DefaultPrefix) }

// IsTemporary reports whether name, a file name without its directory, is that of a temporary file. Transactions have such files beside
// their destinations, while in progress and after an interruption. IsTemporary does not recognize the names that Format.Names returns.
func (l Log) IsTemporary(name string) bool { return strings.HasPrefix(name, l.prefix()) }

// Pending reports whether a transaction is in progress, or was interrupted and not recovered.
func (l Log) Pending() (bool, error) {
	state, err := l.state()
	return state != "", l.convert(err)
}

// state returns the name of the journal's file; empty if there is no journal.
func (l Log) state() (string, error) {
	f := l.format()
	for _, name := range slices.Compact([]string{f.Staging, f.Switching, f.Committed}) {
		exists, err := filesystem.Exists(l.fsys(), l.at(name))
		if exists || err != nil {
			return name, about(l.at(name), err)
		}
	}
	return "", nil
}

func (l Log) at(name string) string { return filepath.Join(l.Dir, name) }

func (l Log) temporary(f Format) atomicfile.Options {
	return atomicfile.Options{FS: l.fsys(), Pattern: f.Temporary}
}

// record writes the journal of the transaction.
func (t *run) record() error {
	raw, err := t.format.Encode(t.journal)
	if err != nil {
		return err
	}
	if t.journal.isTooLarge() || len(raw) > maxJournal {
		return fmt.Errorf("a transaction of %d files is too large: at most %d files, and %d MiB of journal, are allowed", len(t.journal.Steps), maxSteps, maxJournal>>20)
	}
	if err := atomicfile.MkdirAll(t.Dir, t.temporary(t.format)); err != nil {
		return about(t.Dir, err)
	}
	file := t.at(t.format.Staging)
	err = atomicfile.Create(file, raw, t.temporary(t.format))
	if errors.Is(err, fs.ErrExist) {
		return ErrPending
	}
	return about(file, err)
}

// enter durably changes the state of the journal. After an error the journal is in the old state: the transaction is then rolled back, and
// a recovery must not treat the transaction as committed.
func (t *run) enter(from, to string) error {
	err := t.flush()
	if err == nil && from != to {
		if err = t.rename(t.at(from), t.at(to)); err == nil {
			if err = t.flush(); err != nil {
				err = errors.Join(err, t.rename(t.at(to), t.at(from)))
			}
		}
	}
	return about(t.at(from), err)
}

func (j *Journal) isTooLarge() bool { return len(j.Steps) > maxSteps || len(j.Folders) > maxSteps }

// validate refuses a journal that Apply cannot have written.
func (j *Journal) validate() error {
	if j.Version != journalVersion {
		return fmt.Errorf("the journal's version is %d, which this program does not support", j.Version)
	}
	if id, err := hex.DecodeString(j.ID); err != nil || len(id) != idSize {
		return fmt.Errorf("the journal's id is %q; it must have %d hexadecimal digits", j.ID, 2*idSize)
	}
	if j.isTooLarge() {
		return fmt.Errorf("the journal has more than %d steps", maxSteps)
	}
	above := map[string]bool{} // all ancestors of the files of the transaction
	for i, s := range j.Steps {
		if err := s.validate(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		for dir := filepath.Dir(s.Path); !above[dir]; dir = filepath.Dir(dir) {
			above[dir] = true
		}
	}
	for _, dir := range j.Folders {
		if !above[dir] {
			return fmt.Errorf("the directory %q contains none of the files of the transaction", dir)
		}
	}
	return nil
}

func (s Step) validate() error {
	paths := []string{s.Path}
	switch {
	case s.From != "" && (s.Before != "" || s.After != ""):
		return errors.New("a step of the journal both moves and replaces a file")
	case s.From != "":
		paths = append(paths, s.From)
	case s.Before == "" && s.After == "":
		return errors.New("the step changes nothing")
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path {
			return fmt.Errorf("%q is not a clean absolute path", path)
		}
		if !filepath.IsAbs(s.Root) || !contain.Below(s.Root, path) {
			return fmt.Errorf("%q is not in %q", path, s.Root)
		}
	}
	for _, sum := range []string{s.Before, s.After} {
		if raw, err := hex.DecodeString(sum); err != nil || len(raw) != 0 && len(raw) != 32 {
			return fmt.Errorf("%q is not a digest", sum)
		}
	}
	return nil
}
