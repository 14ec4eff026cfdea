// Package journal changes many files and directories below given roots atomically, with sdk/transaction. Begin starts a
// transaction, the methods of Change stage new content in the root of each path, and Commit makes all changes. If the
// process ends before Commit returns, Recover completes the transaction or rolls it back.
//
// A journal must not be used concurrently: callers must hold a lock.
package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// Root is a directory in which transactions change files.
type Root struct {
	Dir string
	// Stage is the staging directory. It is inside of Dir and on the same file system. Begin and Recover remove
	// everything in it.
	Stage string
	// Only lists the entries of Dir that transactions may change, including all files below these entries. Dir is
	// untrusted and can contain a forged log, so Recover changes nothing else.
	Only []string
	// Backup is the directory for content that Change.Keep preserves. It is below an entry of Only. If Backup is "",
	// Keep returns an error.
	Backup string
}

// Journal executes transactions. Its log is in the stage of the first root. A path belongs to the first root that
// contains the path. The directories of roots are created when a transaction needs them.
type Journal struct {
	Files files.System
	Roots []Root
	Stamp string // name of the directory in Root.Backup; if the directory exists, a number is appended
}

// log returns the transaction log of the journal.
func (j Journal) log() transaction.Log {
	return transaction.Log{
		FS: j.Files, Dir: j.Roots[0].Stage, Format: &transaction.Format{Decode: j.decode, Names: j.names},
		OnError: func(path string, err error) error {
			if errors.Is(err, transaction.ErrChanged) {
				return fmt.Errorf("%s %w", path, ErrChanged)
			}
			return err
		},
	}
}

// names returns the paths in the stage at which step i of the transaction keeps the old and the new content of a file.
func (j Journal) names(t *transaction.Journal, i int) (old, fresh string) {
	stage := j.Roots[0].Stage
	for _, root := range j.Roots {
		if root.Dir == t.Steps[i].Root {
			stage = root.Stage
		}
	}
	return filepath.Join(stage, fmt.Sprintf("old.%d", i)), filepath.Join(stage, fmt.Sprintf("new.%d", i))
}

// decode parses and validates the log of a transaction. The log is untrusted.
func (j Journal) decode(raw []byte) (*transaction.Journal, error) {
	if len(raw) == 0 {
		return nil, transaction.ErrTorn
	}
	t := new(transaction.Journal)
	if err := json.Unmarshal(raw, t); err != nil {
		return nil, err
	}
	for _, s := range t.Steps {
		if err := j.check(s); err != nil {
			return nil, err
		}
	}
	for _, dir := range t.Folders {
		if _, _, err := j.root(dir); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// check returns an error unless the step s changes a path that transactions may change, or moves such a path to or from
// the stage or to the backup.
func (j Journal) check(s transaction.Step) error {
	path, staged := s.Path, s.From
	if root, _, err := j.root(path); err == nil && staged != "" && root.Backup != "" && contain.Below(root.Backup, path) {
		path, staged = staged, "" // the step moves a path to the backup, so the path that is moved must be validated
	}
	if slices.ContainsFunc(j.Roots, func(r Root) bool { return filepath.Dir(path) == r.Stage }) {
		path, staged = staged, path
	}
	root, _, err := j.root(path)
	if err == nil && (s.Root != root.Dir || s.Prune || staged != "" && filepath.Dir(staged) != root.Stage) {
		err = fmt.Errorf("%s is not a path that the plugin may change: %w", path, fs.ErrPermission)
	}
	return err
}

// root returns the root to which path belongs, and path with the symbolic links in its directory resolved. It returns
// an error if transactions must not change the resolved path.
func (j Journal) root(path string) (Root, string, error) {
	for _, root := range j.Roots {
		if !root.holds(path) {
			continue
		}
		folder, err := files.Inside(j.Files, root.Dir, filepath.Dir(path))
		real := filepath.Join(folder, filepath.Base(path))
		if errors.Is(err, contain.ErrOutside) || err == nil && !root.holds(real) {
			return Root{}, "", linkError(path + ": a symbolic link in the path resolves to a path that the plugin must not change")
		}
		return root, real, err
	}
	return Root{}, "", fmt.Errorf("%s is not a path that the plugin may change: %w", path, fs.ErrPermission)
}

// linkError is an error about a path that is not changed because of a symbolic link. It matches fs.ErrPermission and contain.ErrOutside.
type linkError string

func (e linkError) Error() string { return string(e) }

func (linkError) Is(target error) bool {
	return target == fs.ErrPermission || target == contain.ErrOutside
}

// holds reports whether transactions may change path. They must not change the stage and its ancestors.
func (r Root) holds(path string) bool {
	if contain.Within(r.Stage, path) || contain.Within(path, r.Stage) {
		return false
	}
	return slices.ContainsFunc(r.Only, func(name string) bool { return contain.Within(filepath.Join(r.Dir, name), path) })
}

// Recover completes or rolls back an interrupted transaction, and empties the stages.
func (j Journal) Recover() error {
	if err := j.checkStages(); err != nil {
		return err
	}
	report, err := j.log().Recover()
	if err == nil && len(report.Kept) > 0 {
		err = fmt.Errorf("%s is not rolled back, because another program has changed it since; the old content is in the directory %s until the next call",
			strings.Join(report.Kept, ", "), filepath.Base(j.Roots[0].Stage))
	}
	if err != nil {
		return fmt.Errorf("cannot recover an interrupted transaction: %w", err)
	}
	return j.clear()
}

// checkStages returns an error if the path of a stage contains a symbolic link below its root. Emptying such a stage
// would remove files in another directory.
func (j Journal) checkStages() error {
	for _, root := range j.existing() {
		real, err := files.Inside(j.Files, root.Dir, root.Stage)
		if errors.Is(err, contain.ErrOutside) || err == nil && real != root.Stage {
			return linkError(root.Stage + " resolves through a symbolic link, so the plugin does not change it")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// existing returns the roots that may have a stage: the first root, and each other root whose directory exists. To find
// out whether a root exists, it lists the parent directory of the root. It does not access the root itself, because
// each access to a path that is not granted adds a record to the audit log.
func (j Journal) existing() []Root {
	roots := slices.Clone(j.Roots[:1])
	for _, root := range j.Roots[1:] {
		entries, err := j.Files.ReadDir(filepath.Dir(root.Dir))
		if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == filepath.Base(root.Dir) }) {
			roots = append(roots, root)
		}
	}
	return roots
}

// Interrupted reports whether a transaction was interrupted and has not been recovered.
func (j Journal) Interrupted() bool {
	pending, err := j.log().Pending()
	return pending || err != nil
}

// clear removes everything in the stages.
func (j Journal) clear() error {
	for _, root := range j.existing() {
		if err := files.RemoveAll(j.Files, root.Stage); err != nil {
			return err
		}
	}
	return nil
}
