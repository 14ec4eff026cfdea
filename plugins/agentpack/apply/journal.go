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

// The journal's file name is the state of the transaction. A state change is a rename, which takes no space,
// so the content is written only once.
const (
	staging   = "staging.json"   // no destination has changed
	switching = "switching.json" // some destinations may have changed
	committed = "committed.json" // all destinations have changed
	unwritten = "journal.tmp"    // the journal is being written
)

const (
	journalVersion = 1
	maxSteps       = 100_000
)

// journal describes a transaction. Its paths have their symbolic links resolved.
type journal struct {
	Version int      `json:"version"`
	ID      string   `json:"id"`      // 16 hexadecimal digits
	Dirs    []string `json:"folders"` // directories that were created, parents first
	Steps   []step   `json:"steps"`
}

// step is the change of one file. Before and After are SHA-256 sums; "" if the file does not exist.
type step struct {
	Root   string `json:"root"`
	Path   string `json:"path"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// temporaryNames are the temporary files beside a step's file: the new content, and the old file.
type temporaryNames struct{ old, new string }

const temporaryPrefix = ".agentpack-tmp-"

// IsTemporary reports whether a file name belongs to a transaction that is in progress or was interrupted.
func IsTemporary(name string) bool { return strings.HasPrefix(name, temporaryPrefix) }

// temporary returns the temporary names of step i. They derive from the journal's id, not from paths in the
// journal, so a forged journal cannot name other files.
func (j *journal) temporary(i int) temporaryNames {
	base := filepath.Join(filepath.Dir(j.Steps[i].Path), temporaryPrefix+j.ID+"-"+strconv.Itoa(i))
	return temporaryNames{old: base + ".old", new: base + ".new"}
}

// root returns the root of a file below a created directory; "/" if there is none, so that checkDir checks
// every directory.
func (j *journal) root(dir string) string {
	for _, s := range j.Steps {
		if disk.IsBelow(dir, s.Path) {
			return s.Root
		}
	}
	return string(filepath.Separator)
}

func (a Applier) at(state string) string { return filepath.Join(a.Dir, state) }

// Pending reports whether an Apply was interrupted, so that Recover is needed.
func (a Applier) Pending() (bool, error) {
	state, err := a.state()
	return state != "", err
}

// state returns the state of the interrupted transaction; "" if there is none.
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

// record writes the journal atomically.
func (a Applier) record(j *journal) error {
	raw, err := json.Marshal(j)
	if err != nil {
		return err
	}
	if len(j.Steps) > maxSteps || len(j.Dirs) > maxSteps || len(raw) > maxFile {
		return fmt.Errorf("%d files are too many for one transaction: Recover reads journals of up to %d steps and %d MiB", len(j.Steps), maxSteps, maxFile>>20)
	}
	r := resolver{fs: a.FS}
	dir, err := r.resolve(a.Dir) // Dir may be below a symbolic link
	if err != nil {
		return err
	}
	if err := r.requireDir(dir); err != nil {
		return err
	}
	for _, dir := range r.missing {
		if err := a.FS.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
			return fault.IO(dir, err)
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

// setState renames the journal from one state to the next.
func (a Applier) setState(from, to string) error {
	return fault.IO(a.at(from), a.FS.Rename(a.at(from), a.at(to)))
}

// remove removes a file or an empty directory; it need not exist.
func (a Applier) remove(path string) error {
	if err := a.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.IO(path, err)
	}
	return nil
}

// parse decodes a journal. It refuses anything that record does not write, since Recover moves and removes
// files by it.
func parse(raw []byte) (*journal, error) {
	var j journal
	if err := json.Unmarshal(raw, &j); err != nil {
		return nil, err
	}
	if j.Version != journalVersion {
		return nil, fmt.Errorf("version %d is not supported", j.Version)
	}
	if id, err := hex.DecodeString(j.ID); err != nil || len(id) != 8 {
		return nil, fmt.Errorf("invalid id %q", j.ID)
	}
	if len(j.Steps) > maxSteps || len(j.Dirs) > maxSteps {
		return nil, fmt.Errorf("more than %d steps", maxSteps)
	}
	above := map[string]bool{} // the directories that the transaction can have created
	for i, s := range j.Steps {
		if err := s.validate(); err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
		for dir := filepath.Dir(s.Path); !above[dir]; dir = filepath.Dir(dir) {
			above[dir] = true
		}
	}
	for _, dir := range j.Dirs {
		if !above[dir] {
			return nil, fmt.Errorf("the directory %q holds none of the files of the journal", dir)
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
		return errors.New("the step changes nothing")
	}
	for _, sum := range []string{s.Before, s.After} {
		if raw, err := hex.DecodeString(sum); err != nil || len(raw) != 0 && len(raw) != 32 {
			return fmt.Errorf("%q is not a SHA-256 sum", sum)
		}
	}
	return nil
}
