// Package transaction changes several files atomically, even if the process is killed or a call fails. Start with Log.Apply, which makes the
// changes, and Log.Recover, which a later process calls to roll an interrupted transaction back or forward.
//
// A transaction has four phases:
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
// Rolling back takes renames and removals only, so a full disk cannot prevent it. Neither a switch nor a rollback overwrites a file that
// another program has changed in the meantime. There is one exception: a change between the last check of a file and the rename that
// replaces the file is not detected. Creating and removing files does not have this race.
//
// Only one process at a time may use a Log: callers hold a lock, or share the journal's directory with all other writers and rely on
// ErrPending. A reader that holds no lock can see some files switched and others not.
//
// Stability: additions only within a major version; journals of earlier versions stay recoverable.
package transaction

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Log performs transactions and keeps their journal. Dir is required; all other fields have defaults.
type Log struct {
	FS filesystem.FS // file system of the files; nil: filesystem.OS{}
	// Dir is the absolute path of the journal's directory, which is created if it does not exist.
	Dir string
	// Prefix begins the names of temporary files beside the destinations. Empty: DefaultPrefix.
	Prefix string
	// Format is the caller's own format of journals. If it is nil, journals are JSON in files with fixed names.
	Format *Format
	// OnConflict decides about a file that another program has changed after the file was switched. The old content is at the path old. If
	// OnConflict returns an error, the rollback stops and the journal is kept. Otherwise, and if OnConflict is nil, the file and its old
	// content stay, and the rollback continues.
	OnConflict func(path, old string) error
	// OnError converts an error about path before the error is returned, for a caller that has error codes of its own.
	OnError func(path string, err error) error
	// OnLeftover is called with the reason if temporary files of a committed transaction could not be removed. The next Recover removes these
	// files.
	OnLeftover func(err error)
}

// DefaultPrefix begins the names of temporary files if Log.Prefix is empty.
const DefaultPrefix = ".transaction-"

// Change is a change of one file, which is written, removed or moved.
type Change struct {
	// Root is the directory that bounds the change: no component of the path between Root and the file may be a symbolic link. The path of
	// Root itself may contain symbolic links. Root and Path are absolute.
	Root string
	Path string
	// Before is the Digest of the file as the caller read it; empty if the path does not exist.
	Before string
	After  []byte // the new content of the file
	Delete bool   // whether to remove the file instead of writing it
	Prune  bool   // with Delete: whether to remove directories below Root that become empty too
	// NoFollow changes a symbolic link at Path instead of its target. Before is then the LinkDigest of the link. Without NoFollow, Before is the
	// Digest of the target, and callers that want to write the target pass the path of the target.
	NoFollow bool
	// Link, if not empty, is the target of a symbolic link that replaces the file at Path. It requires NoFollow.
	Link string
	Like string // path of a file whose permission bits a new file gets; empty: 0644; a replaced file keeps its own bits
	// From, if not empty, is a file or directory below Root that is renamed to Path. Path must not exist unless an earlier change moves it
	// away. Contents and Before are not checked. To replace a directory, make two moves: move the old directory to a place that is removed
	// after the transaction, then move the new directory to Path.
	From string
}

var (
	// ErrChanged means that a file differs from what its change expects. The transaction had no effect.
	ErrChanged = errors.New("was changed by another program; nothing was written")
	// ErrPending means that the log contains a transaction that is in progress, or one that was interrupted. Recover ends an interrupted one.
	ErrPending = errors.New("an earlier transaction was interrupted, or is still in progress, and must be recovered first")
)

// Digest returns the SHA-256 of content in hexadecimal digits.
func Digest(content []byte) string { return digest.Hex(content) }

// LinkDigest returns the digest that stands for a symbolic link with the given target in a Change with NoFollow.
func LinkDigest(target string) string { return digest.Hex([]byte("symbolic link\x00" + target)) }

// Apply makes all changes in their order. If one of them fails, Apply undoes the others and returns an error: ErrPending, ErrChanged, or an
// error of the file system. If the rollback fails as well, the error contains both reasons, and Recover tries the rollback again.
//
// Apply creates missing directories. It leaves out a change whose file already has the new state.
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
	t.switched = true
	if err := t.tidy(); err != nil && l.OnLeftover != nil {
		l.OnLeftover(l.convert(err))
	}
	return nil
}

// because returns the error of a transaction that failed with the error why. If the rollback failed too, failed is its error. kept are the
// paths of the files that were not rolled back. The returned error contains all of this.
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

// pathError adds the path of a destination to an error. Without it, the text of the error may name a temporary file only.
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

// changedIfAbsent returns ErrChanged for an error that says that a file does not exist which the change of path needs: it existed when it was
// checked.
func changedIfAbsent(path string, err error) error {
	if filesystem.IsAbsent(err) {
		return changed(path)
	}
	return err
}

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

// run is a transaction that is in progress or is being recovered.
type run struct {
	Log
	fs      filesystem.FS
	format  Format
	journal *Journal
	changes []Change // the changes that belong to the journal's steps; nil in a recovery
	reached int      // number of steps that may have been switched
	// switched is set once this process has switched all steps: no temporary file with new content exists then.
	switched bool
	dirty    []string        // directories with changed entries that are not durable yet
	touched  map[string]bool // the directories in dirty, as a set
}

func (l Log) run(j *Journal) *run {
	return &run{Log: l, fs: l.fsys(), format: l.format(), journal: j, reached: len(j.Steps), touched: map[string]bool{}}
}

// check checks all files before anything is changed, and creates the journal.
func (l Log) check(changes []Change) (*run, error) {
	id := make([]byte, idSize)
	_, _ = rand.Read(id) // crypto/rand does not fail
	t := l.run(&Journal{Version: journalVersion, ID: hex.EncodeToString(id)})
	planned, seen, vacated := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, change := range changes {
		s := Step{Root: change.Root, Path: change.Path, Before: change.Before, From: change.From, Prune: change.Prune, NoFollow: change.NoFollow}
		switch {
		case change.Delete || change.From != "":
		case change.Link != "" && change.NoFollow:
			s.After = LinkDigest(change.Link)
		case change.Link != "":
			return nil, fmt.Errorf("%s: a symbolic link is written only with NoFollow", change.Path)
		default:
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
		if err := t.planDir(filepath.Dir(s.Path), planned); err != nil {
			return nil, err
		}
		if err := s.validate(); err != nil {
			return nil, err
		}
		t.journal.Steps = append(t.journal.Steps, s)
		t.changes = append(t.changes, change)
	}
	return t, nil
}

// planDir adds a directory and its ancestors to the journal, as far as they do not exist.
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
			return nil // the path of a root may contain symbolic links
		}
		return about(dir, fmt.Errorf("%s is not a directory, but the change needs one there: remove it", dir))
	case !filesystem.IsAbsent(err):
		return about(dir, err)
	}
	if err := t.planDir(filepath.Dir(dir), planned); err != nil {
		return err
	}
	t.journal.Folders = append(t.journal.Folders, dir)
	return nil
}

// expect returns an error unless the file of a step has the state that it must have before the step.
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
	now, err := t.digest(s.Path, s.NoFollow)
	if err != nil {
		return about(s.Path, err)
	}
	if now != s.Before {
		return changed(s.Path)
	}
	return nil
}

// digest returns the Digest of a file; empty if the path does not exist. With noFollow, it returns the LinkDigest of a symbolic link.
func (t *run) digest(path string, noFollow bool) (string, error) {
	info, err := t.fs.Lstat(path)
	if err != nil {
		return "", filesystem.IgnoreAbsent(err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if noFollow {
			if target, isLink, err := t.readLink(path); err != nil || isLink {
				return LinkDigest(target), err
			}
		}
		info, err = t.fs.Stat(path)
		if filesystem.IsAbsent(err) {
			if exists, err := filesystem.Exists(t.fs, path); !exists {
				return "", err // another process removed the link after the call of Lstat
			}
			return "", fmt.Errorf("the target of the symbolic link %s does not exist: remove the link", path)
		}
		if err != nil {
			return "", err
		}
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: %w", path, filesystem.ErrNotRegular)
	}
	file, err := t.fs.Open(path)
	if filesystem.IsAbsent(err) {
		return "", nil // the file was removed after the call of Lstat
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := digest.New()
	// The limit is reached only if another program keeps appending to the file.
	if _, err := io.Copy(sum, io.LimitReader(file, info.Size()+1)); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// readLink returns the target of a symbolic link. isLink is false if the path is no symbolic link or does not exist.
func (t *run) readLink(path string) (target string, isLink bool, err error) {
	info, err := t.fs.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return "", false, filesystem.IgnoreAbsent(err)
	}
	target, err = t.fs.Readlink(path)
	return target, err == nil, filesystem.IgnoreAbsent(err)
}

// prove returns ErrChanged unless every path from a step's root down to its file is still a directory. It is called right before each write,
// to shorten the time in which another program can replace a directory with a symbolic link.
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

// proveMove is proveStep for both paths of a move.
func (t *run) proveMove(s Step) error {
	if err := t.proveStep(s); err != nil {
		return err
	}
	return t.prove(s.Root, filepath.Dir(s.From))
}
