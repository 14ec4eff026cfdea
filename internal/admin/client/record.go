package client

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// replacement is what the record of Bulkhead's entry in a file keeps of a Replace. It can contain credentials, as a backup can.
type replacement struct {
	Names  []string `json:"names"`  // the entries that Replace has removed
	Before []byte   `json:"before"` // content of the file
	After  string   `json:"after"`  // digest of the content that Replace has written
}

// maxRecord bounds a record, in bytes.
const maxRecord = 128 << 20

// readRecord returns the replacements of Bulkhead's entry, the oldest first. It sets c.record to the removal of their file.
func (c *Change) readRecord() (all []replacement, err error) {
	if c.system.State == "" {
		return nil, nil
	}
	dir := filepath.Join(c.system.State, backupDir)
	if err := ownedpath.Check(dir); err != nil {
		return nil, usage.Errorf("the entries that Bulkhead has replaced cannot be read: %s", ownedpath.Explain(err))
	}
	path := filepath.Join(dir, "replaced-"+userfile.Digest([]byte(c.Client+"\x00"+c.file.Target+"\x00"+c.Name))+".json")
	data, err := filesystem.ReadFile(filesystem.OS{}, path, maxRecord)
	c.record = &transaction.Change{Root: dir, Path: path, Delete: true}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		c.record.Before = transaction.Digest(data)
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, usage.Errorf("%s, with the entries that Bulkhead has replaced, cannot be read: %w; remove it to go on without them", path, usage.Cause(err))
	}
	return all, nil
}

// ApplyAll makes changes of Replace and of other files in one transaction: if the process is killed, all of them are made or none, after the
// next call of Recover. New files get the permission bits of a backup.
func ApplyAll(s System, changes []*Change, others []transaction.Change) error {
	edits := slices.Clone(others)
	for _, c := range changes {
		if err := c.backUp(); err != nil {
			return err
		}
		file := transaction.Change{Root: filepath.Dir(c.file.Target), Path: c.file.Target, Before: transaction.Digest(c.file.Data), After: c.content}
		edits = append(edits, *c.record, file)
	}
	for i := range edits {
		edits[i].Like = changes[0].Backup
	}
	_, err := s.recover(func(log transaction.Log) error { return log.Apply(edits) })
	for _, c := range changes {
		c.Changed = err == nil
	}
	return err
}

// log returns the log of transactions.
func (s System) log() transaction.Log {
	return transaction.Log{FS: s.files, Dir: filepath.Join(s.State, backupDir, "transaction"), Prefix: ".bulkhead-"}
}

// IsInterrupted reports whether a process is in a transaction of ApplyAll, or was killed in one.
func IsInterrupted(s System) (bool, error) {
	if s.State == "" {
		return false, nil
	}
	return s.log().Pending()
}

// Recover ends the transaction of a process that was killed. Commands call it before they read the files.
func Recover(s System) (transaction.Report, error) {
	if pending, err := IsInterrupted(s); !pending {
		return transaction.Report{}, err
	}
	return s.recover(func(transaction.Log) error { return nil })
}

// recover ends an interrupted transaction, and then calls do, with exclusive access to the log.
func (s System) recover(do func(log transaction.Log) error) (report transaction.Report, err error) {
	dir := filepath.Join(s.State, backupDir)
	if err := ownedpath.Make(dir); err != nil {
		return report, usage.Errorf("nothing was changed: %s", ownedpath.Explain(err))
	}
	lock, err := filelock.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return report, usage.Errorf("nothing was changed: %w", err)
	}
	defer lock.Close()
	switch free, err := filelock.Try(lock, filelock.Exclusive); {
	case err != nil:
		return report, usage.Errorf("nothing was changed: %w", err)
	case !free:
		return report, usage.Errorf("nothing was changed: another bulkhead changes the files of clients: try again when it has ended")
	}
	if report, err = s.log().Recover(); err != nil {
		return report, usage.Errorf("an interrupted change of clients could not be ended: %w", err)
	}
	return report, do(s.log())
}
