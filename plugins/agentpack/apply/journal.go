package apply

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// The names of the journal's file say how far an apply is. They change by renames, which take no space,
// so that its content is written once.
const (
	staging   = "staging.json"   // no destination has changed
	switching = "switching.json" // some may have
	committed = "committed.json" // all have
	unwritten = "journal.tmp"    // is being written
)

const (
	journalVersion = 1
	maxSteps       = 100_000
)

// journal is what an apply is about. Paths have no links in them.
type journal struct {
	Version int      `json:"version"`
	ID      string   `json:"id"`      // of 16 hexadecimal digits
	Folders []string `json:"folders"` // that were made, each behind its parent
	Steps   []step   `json:"steps"`
}

// step is one file. Before and After are the sums of its contents, "" where there is no file.
type step struct {
	Root   string `json:"root"`
	Path   string `json:"path"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// names are the files that lie beside a step's own while an apply runs: the new content, and a second name
// of the old one.
type names struct{ old, new string }

const temporaryPrefix = ".agentpack-tmp-"

// IsTemporary tells whether a file's name is one of an apply that is under way or was stopped.
func IsTemporary(name string) bool { return strings.HasPrefix(name, temporaryPrefix) }

// temporary names the files beside that of step i. They follow from the journal's id and not from paths in
// it, so a journal can lead to no other files.
func (j *journal) temporary(i int) names {
	base := filepath.Join(filepath.Dir(j.Steps[i].Path), temporaryPrefix+j.ID+"-"+strconv.Itoa(i))
	return names{old: base + ".old", new: base + ".new"}
}

// root is the root of a file below a folder that was made; "/" for none, below which everything is proved.
func (j *journal) root(folder string) string {
	for _, s := range j.Steps {
		if disk.IsBelow(folder, s.Path) {
			return s.Root
		}
	}
	return string(filepath.Separator)
}

func (a Applier) at(state string) string { return filepath.Join(a.Dir, state) }

// Pending tells whether an apply was stopped midway, so that Recover has something to do.
func (a Applier) Pending() (bool, error) {
	state, err := a.state()
	return state != "", err
}

// state is how far the apply is that was stopped; "" if none was.
func (a Applier) state() (string, error) {
	for _, state := range []string{staging, switching, committed} {
		_, err := a.FS.Lstat(a.at(state))
		if err == nil {
			return state, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fault.IO(a.at(state), err)
		}
	}
	return "", nil
}

// record writes the journal. It is whole under its first name, or not there.
func (a Applier) record(j *journal) error {
	raw, err := json.Marshal(j)
	if err != nil {
		return err
	}
	if len(j.Steps) > maxSteps || len(j.Folders) > maxSteps || len(raw) > maxFile {
		return fmt.Errorf("%d files are too many for one apply: Recover reads journals of %d steps and %d MiB", len(j.Steps), maxSteps, maxFile>>20)
	}
	r := resolver{fs: a.FS}
	folder, err := r.resolve(a.Dir) // it may lie behind a link
	if err != nil {
		return err
	}
	if err := r.requireDir(folder); err != nil {
		return err
	}
	for _, folder := range r.missing {
		if err := a.FS.Mkdir(folder); err != nil && !errors.Is(err, fs.ErrExist) {
			return fault.IO(folder, err)
		}
	}
	temporary := a.at(unwritten)
	if err := a.remove(temporary); err != nil {
		return err
	}
	err = a.FS.WriteNew(temporary, raw, "")
	if err == nil {
		err = a.FS.Rename(temporary, a.at(staging))
	}
	if err != nil {
		return errors.Join(fault.IO(temporary, err), a.remove(temporary))
	}
	return nil
}

// move goes from one state to the next.
func (a Applier) setState(from, to string) error {
	return fault.IO(a.at(from), a.FS.Rename(a.at(from), a.at(to)))
}

// remove removes what may be gone already.
func (a Applier) remove(path string) error {
	if err := a.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.IO(path, err)
	}
	return nil
}

// parse reads a journal. It refuses what no apply has written: Recover moves and removes files by it.
func parse(raw []byte) (*journal, error) {
	var j journal
	if err := json.Unmarshal(raw, &j); err != nil {
		return nil, err
	}
	if j.Version != journalVersion {
		return nil, fmt.Errorf("its version is %d, which this program does not know", j.Version)
	}
	if id, err := hex.DecodeString(j.ID); err != nil || len(id) != 8 {
		return nil, fmt.Errorf("its id %q is none", j.ID)
	}
	if len(j.Steps) > maxSteps || len(j.Folders) > maxSteps {
		return nil, fmt.Errorf("it has more than %d steps", maxSteps)
	}
	above := map[string]bool{} // the folders that an apply can have made
	for i, s := range j.Steps {
		if err := s.validate(); err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
		for folder := filepath.Dir(s.Path); !above[folder]; folder = filepath.Dir(folder) {
			above[folder] = true
		}
	}
	for _, folder := range j.Folders {
		if !above[folder] {
			return nil, fmt.Errorf("the folder %q holds none of its files", folder)
		}
	}
	return &j, nil
}

func (s step) validate() error {
	switch {
	case !filepath.IsAbs(s.Path) || filepath.Clean(s.Path) != s.Path:
		return fmt.Errorf("%q is not an absolute path", s.Path)
	case !filepath.IsAbs(s.Root) || !disk.IsBelow(s.Root, s.Path):
		return fmt.Errorf("%q is not in %q", s.Path, s.Root)
	case s.Before == s.After:
		return errors.New("it changes nothing")
	}
	for _, sum := range []string{s.Before, s.After} {
		if raw, err := hex.DecodeString(sum); err != nil || len(raw) != 0 && len(raw) != 32 {
			return fmt.Errorf("%q is not a sum", sum)
		}
	}
	return nil
}
