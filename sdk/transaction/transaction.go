// Package transaction changes several files atomically, even if the process is killed or a call fails. Log.Apply makes
// the changes; Log.Recover, in a later process, rolls an interrupted transaction back or forward. These are the two
// calls to start with.
//
// How a transaction proceeds:
//
//   - Check: each file is as its change expects, and no symbolic link is between the change's root and the file.
//   - Stage: a journal names the files. New contents are written beside their destinations, and files that are to be
//     replaced get a second name there. Whatever needs disk space has happened when this ends.
//   - Switch: the journal is renamed, and each file is checked once more and switched by a rename or a link.
//   - Commit: the journal is renamed again. The second names and the journal are removed.
//
// Durability: contents, names and each state of the journal are synced before the next step depends on them, so an
// applied transaction survives a loss of power, and an interrupted one can be recovered after it.
//
// Rolling back takes renames and removals only, so a full disk cannot prevent it. Neither a switch nor a rollback
// overwrites a file that another program has changed in the meantime. Only a change between the last check of a file
// and the rename that replaces it goes unnoticed; creating and removing files does not have this race.
//
// One process at a time uses a Log: callers hold a lock, or share the journal's directory with all other writers and
// rely on ErrPending. Readers that hold no lock can see some files switched and others not.
//
// Stability: additions only within a major version; journals of earlier versions stay recoverable.
package transaction

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Log performs transactions and keeps their journal. Dir is required; all other fields have defaults.
type Log struct {
	FS filesystem.FS // nil: filesystem.OS{}
	// Dir is the absolute path of the journal's directory, which is created if it does not exist.
	Dir string
	// Prefix begins the names of temporary files beside the destinations; "": DefaultPrefix.
	Prefix string
	// Format is the caller's own format of journals; nil: JSON in files with fixed names.
	Format *Format
	// OnConflict decides about a file that another program changed after it was switched; its old content is at the
	// path old. An error stops the rollback and keeps the journal. Otherwise, and without OnConflict, the file and its
	// old content stay, and the rollback goes on.
	OnConflict func(path, old string) error
	// OnError converts an error about path before it is returned, for a caller with error codes of its own.
	OnError func(path string, err error) error
	// OnLeftover is called with the reason if temporary files of a committed transaction could not be removed. The next
	// Recover removes them.
	OnLeftover func(err error)
}

// DefaultPrefix begins the names of temporary files if Log.Prefix is empty.
const DefaultPrefix = ".transaction-"

// Change is one file that is written, removed or moved.
type Change struct {
	// Root is the directory that bounds the change: no symbolic link is accepted between it and the file. Root itself
	// may be reached through symbolic links. Root and Path are absolute.
	Root string
	Path string
	// Before is the Digest of the file as it was read; "" if the path does not exist.
	Before string
	After  []byte // the new content
	Delete bool   // the file is removed instead
	Prune  bool   // with Delete: also remove directories that become empty, below Root
	Like   string // the file whose permission bits a new file gets; "": 0644. A replaced file keeps its own.
	// From, if not empty, is a file or directory below Root that is renamed to Path, which must not exist unless an
	// earlier change moves it away. Contents and Before are not checked. A directory is replaced by two moves: the old
	// one to a place that the caller removes afterwards, then the new one to Path.
	From string
}

var (
	// ErrChanged means that a file differs from what the change expects. The transaction had no effect.
	ErrChanged = errors.New("was changed by another program; nothing was written")
	// ErrPending means that the log contains a transaction that was interrupted, which Recover ends, or one that is in
	// progress.
	ErrPending = errors.New("an earlier transaction was interrupted, or is still in progress, and must be recovered first")
)

// Digest returns the SHA-256 of content in hexadecimal.
func Digest(content []byte) string {
	sum := digest.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Apply makes all changes, in their order. If one fails, it undoes the others and returns an error: ErrPending,
// ErrChanged, or an error of the file system. If rolling back fails as well, the error says so, and Recover tries
// again.
//
// Missing directories are created. A change is left out if its file already has the new state.
func (l Log) Apply(changes []Change) error {
	switch found, err := l.state(); {
	case err != nil:
		return l.convert(err)
	case found != "":
		return ErrPending
	}
	t, err := l.check(changes)
	if err == nil && len(t.journal.Steps) > 0 {
		err = t.record()
	}
	if err != nil || len(t.journal.Steps) == 0 {
		return l.convert(err)
	}
	if err = t.stage(); err == nil {
		err = t.enter(t.format.Staging, t.format.Switching)
	}
	if err != nil {
		return l.because(err, t.unstage(t.format.Staging, nil), nil)
	}
	if err = t.switchAll(); err == nil {
		err = t.enter(t.format.Switching, t.format.Committed)
	}
	if err != nil {
		kept, failed := t.rollBack(t.format.Switching)
		return l.because(err, failed, kept)
	}
	if err := t.tidy(); err != nil && l.OnLeftover != nil {
		l.OnLeftover(l.convert(err))
	}
	return nil
}

// because returns the error of a transaction that failed with the error why. It adds the error of the rollback
// ("failed"), if any, and the paths of files that were not rolled back ("kept").
func (l Log) because(why, failed error, kept []string) error {
	why = l.convert(why)
	if len(kept) > 0 {
		why = fmt.Errorf("%w; these files were not rolled back, because another program has changed them: %s", why, strings.Join(kept, ", "))
	}
	if failed != nil {
		why = fmt.Errorf("%w; the rollback also failed, and the next call that writes repeats it: %w", why, l.convert(failed))
	}
	return why
}

// pathError adds the path of a destination to an error whose text may name a temporary file instead.
type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string { return e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }

func about(path string, err error) error {
	if err == nil || errors.As(err, new(*pathError)) {
		return err
	}
	return &pathError{path, err}
}

func changed(path string) error { return about(path, fmt.Errorf("%s %w", path, ErrChanged)) }

func (l Log) convert(err error) error {
	of, ok := err.(*pathError)
	switch {
	case !ok:
		return err
	case l.OnError == nil:
		return of.err
	}
	return l.OnError(of.path, of.err)
}

func (l Log) fsys() filesystem.FS {
	if l.FS == nil {
		return filesystem.OS{}
	}
	return l.FS
}

// run is a transaction in progress, or being recovered.
type run struct {
	Log
	fs      filesystem.FS
	format  Format
	journal *Journal
	changes []Change        // the changes of the journal's steps; nil in a recovery
	reached int             // number of steps that may be switched
	dirty   []string        // directories with changed entries that are not durable yet
	touched map[string]bool // the set of the directories in dirty
}

func (l Log) run(j *Journal) *run {
	return &run{Log: l, fs: l.fsys(), format: l.format(), journal: j, reached: len(j.Steps)}
}

// check checks all files before anything is changed, and plans the journal.
func (l Log) check(changes []Change) (*run, error) {
	id := make([]byte, idSize)
	_, _ = rand.Read(id) // never fails
	t := l.run(&Journal{Version: journalVersion, ID: hex.EncodeToString(id)})
	planned, seen, vacated := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, change := range changes {
		s := Step{Root: change.Root, Path: change.Path, Before: change.Before, From: change.From, Prune: change.Delete && change.Prune}
		if !change.Delete && change.From == "" {
			s.After = Digest(change.After)
		}
		if err := t.expect(s); err != nil && !(s.From != "" && vacated[s.Path] && errors.Is(err, ErrChanged)) {
			return nil, err
		}
		vacated[s.From] = true
		if s.Before == s.After && s.From == "" {
			continue
		}
		if seen[s.Path] {
			return nil, fmt.Errorf("two changes write %s: combine them", s.Path)
		}
		seen[s.Path] = true
		if !change.Delete {
			if err := t.planDir(filepath.Dir(s.Path), planned); err != nil {
				return nil, err
			}
		}
		if err := s.validate(); err != nil {
			return nil, err
		}
		t.journal.Steps = append(t.journal.Steps, s)
		t.changes = append(t.changes, change)
	}
	return t, nil
}

// planDir adds a directory, and those above it, to the journal if they do not exist.
func (t *run) planDir(dir string, planned map[string]bool) error {
	if planned[dir] {
		return nil
	}
	planned[dir] = true
	info, err := t.fs.Lstat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		if info, err = t.fs.Stat(dir); err == nil && info.IsDir() {
			return nil // a root may be reached through a symbolic link
		}
		return about(dir, fmt.Errorf("%s is not a directory, but the change needs one there: remove it", dir))
	case !filesystem.IsAbsent(err):
		return about(dir, err)
	case dir == filepath.Dir(dir):
		return err
	}
	if err := t.planDir(filepath.Dir(dir), planned); err != nil {
		return err
	}
	t.journal.Folders = append(t.journal.Folders, dir)
	return nil
}

// expect returns an error unless the file of a step has the state that is expected before the step.
func (t *run) expect(s Step) error {
	if s.From != "" {
		waits, err := filesystem.Exists(t.fs, s.From)
		if err == nil && !waits {
			return changed(s.From)
		}
		occupied, pathErr := filesystem.Exists(t.fs, s.Path)
		if occupied {
			return changed(s.Path)
		}
		return about(s.Path, errors.Join(err, pathErr))
	}
	now, err := t.digest(s.Path)
	if err != nil {
		return about(s.Path, err)
	}
	if now != s.Before {
		return changed(s.Path)
	}
	return nil
}

// digest returns the Digest of a file, "" if the path does not exist.
func (t *run) digest(path string) (string, error) {
	if exists, err := filesystem.Exists(t.fs, path); err != nil || !exists {
		return "", err
	}
	info, err := t.fs.Stat(path)
	if filesystem.IsAbsent(err) {
		if exists, err := filesystem.Exists(t.fs, path); err != nil || !exists {
			return "", err // another process has removed the file since Lstat
		}
		return "", fmt.Errorf("the target of the symbolic link %s does not exist: remove the link", path)
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: %w", path, filesystem.ErrNotRegular)
	}
	file, err := t.fs.Open(path)
	if filesystem.IsAbsent(err) {
		return "", nil // removed since Lstat
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := digest.New()
	// The limit matters if another program keeps appending to the file.
	if _, err := io.Copy(sum, io.LimitReader(file, info.Size()+1)); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// prove returns ErrChanged unless all paths from a step's root down to its file are still directories. It is called
// right before each write, to shorten the time in which another program can swap in a symbolic link.
func (t *run) prove(root, dir string) error {
	for ; contain.Below(root, dir); dir = filepath.Dir(dir) {
		info, err := t.fs.Lstat(dir)
		if filesystem.IsAbsent(err) || err == nil && !info.IsDir() {
			return changed(dir)
		}
		if err != nil {
			return about(dir, err)
		}
	}
	return nil
}

func (t *run) proveStep(s Step) error { return t.prove(s.Root, filepath.Dir(s.Path)) }
