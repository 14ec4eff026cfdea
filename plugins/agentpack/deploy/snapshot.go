// Package snapshot is the record of what each deploy and rollback did: one file of JSON for each, and beside
// it copies of what was there before and of what was put there. Load reads one, List all of them; Managed
// tells what the last one left. Nothing in it writes: Encode gives the text, and Layout the places.
package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
)

// Kind is what a snapshot was made by.
type SnapshotKind string

// The kinds of snapshot. A bootstrap, which another program makes, is a part of the history, but tells
// nothing of which files are managed.
const (
	KindDeploy    SnapshotKind = "deploy"
	KindBootstrap SnapshotKind = "bootstrap"
	KindRollback  SnapshotKind = "rollback"
)

// Op is what happened to a file.
type Op string

// What can have happened to a file.
const (
	OpCreate  Op = "create"
	OpUpdate  Op = "update"
	OpDelete  Op = "delete"
	OpRestore Op = "rollback_restore"
	OpRemove  Op = "rollback_delete"
)

// Snapshot is one record. Sums are SHA-256 in hexadecimal, paths absolute.
type Snapshot struct {
	Kind         SnapshotKind     `json:"kind"`
	ID           string           `json:"id"`         // nanoseconds since the Unix epoch, in decimal
	CreatedAt    string           `json:"created_at"` // RFC 3339
	Targets      []string         `json:"targets"`
	Files        []SnapshotFile   `json:"managed_files,omitempty"` // all that was wanted, by target and path
	Changes      []SnapshotChange `json:"changes"`                 // those of manifests, too
	RolledBackTo string           `json:"rolled_back_to,omitempty"`
	LockSHA256   *string          `json:"lockfile_sha256"`
	BackupRoot   string           `json:"backup_root"`
}

// File is a file that was wanted.
type SnapshotFile struct {
	Target string `json:"target"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Key names the file.
func (f SnapshotFile) Key() output.Key { return output.Key{Target: f.Target, Path: f.Path} }

// Change is what happened to a file. What is not known or was not there is "".
type SnapshotChange struct {
	Target     string `json:"target"`
	Op         Op     `json:"op"`
	Path       string `json:"path"`
	BackupPath string `json:"backup_path,omitempty"`
	Before     string `json:"before_sha256,omitempty"`
	After      string `json:"after_sha256,omitempty"`
}

// maxSize is the largest record that is read, in bytes; maxRecords is how many are.
const (
	maxRecord  = 32 << 20
	maxRecords = 20_000
)

// Encode returns the record as the file's content.
func (s Snapshot) Encode() ([]byte, error) {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	if len(raw) >= maxRecord { // nothing could read it, nor what follows it
		return nil, fmt.Errorf("the snapshot's record would be larger than %d MiB: it lists %d files", maxRecord>>20, len(s.Files))
	}
	return append(raw, '\n'), nil
}

// Parse reads a record.
func ParseSnapshot(text []byte) (*Snapshot, error) {
	var s Snapshot
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	if s.Kind == "" {
		s.Kind = KindDeploy // as those without a kind were
	}
	if s.Kind != KindDeploy && s.Kind != KindBootstrap && s.Kind != KindRollback {
		return nil, fmt.Errorf("its kind %.40q is none of deploy, bootstrap and rollback", s.Kind)
	}
	if s.ID == "" {
		return nil, errors.New("it has no id")
	}
	for _, f := range s.Files {
		if !filepath.IsAbs(f.Path) || filepath.Clean(f.Path) != f.Path {
			return nil, fmt.Errorf("the managed file %.200q is not an absolute path", f.Path)
		}
	}
	for _, c := range s.Changes {
		if !filepath.IsAbs(c.Path) || filepath.Clean(c.Path) != c.Path {
			return nil, fmt.Errorf("the changed file %.200q is not an absolute path", c.Path)
		}
	}
	return &s, nil
}

// Layout are the places of one snapshot in the folder of all.
type Layout struct{ Dir, ID string }

// Record is the file of the record.
func (l Layout) Record() string { return filepath.Join(l.Dir, l.ID+".json") }

// Backups is the folder of copies of what was there before.
func (l Layout) Backups() string { return filepath.Join(l.Dir, l.ID, "backup") }

// Backup is the copy of what was in the place of a file before.
func (l Layout) Backup(key output.Key) string { return copyPath(l.Backups(), key) }

// States is the folder of copies of what was wanted; older snapshots have none.
func (l Layout) States() string { return filepath.Join(l.Dir, l.ID, "state") }

// State is the copy of what was wanted in the place of a file.
func (l Layout) State(key output.Key) string { return copyPath(l.States(), key) }

func copyPath(dir string, key output.Key) string {
	return filepath.Join(dir, env.Sanitize(key.Target), env.FileKey(key.Path))
}

// Load reads the record of an id. An id that no record can have is as one that has none.
func LoadSnapshot(dir, id string) (*Snapshot, error) {
	unknown := fmt.Errorf("there is no snapshot %.100q in %s", id, dir)
	if !env.IsPathComponent(id) {
		return nil, unknown
	}
	s, err := readSnapshot(Layout{dir, id}.Record())
	if disk.IsMissing(err) {
		return nil, unknown
	}
	return s, err
}

func readSnapshot(file string) (*Snapshot, error) {
	text, err := disk.Read(file, maxRecord)
	if err != nil {
		return nil, err
	}
	s, err := ParseSnapshot(text)
	if err != nil {
		return nil, fmt.Errorf("the snapshot %s cannot be read: %w", file, err)
	}
	return s, nil
}

// Dated is a record with the time at which its file was written.
type DatedSnapshot struct {
	*Snapshot
	Written time.Time
}

// List reads all records, by id. One that cannot be read is an error. No folder is no records.
func ListSnapshots(dir string) ([]DatedSnapshot, error) {
	entries, err := readEntries(dir)
	if err != nil {
		return nil, err
	}
	var all []DatedSnapshot
	for _, entry := range entries {
		if entry.IsDir() || !strings.HasSuffix(entry.Name(), ".json") {
			continue
		}
		if len(all) == maxRecords {
			return nil, fmt.Errorf("%s has more than %d snapshots: move the oldest elsewhere", dir, maxRecords)
		}
		file := filepath.Join(dir, entry.Name())
		info, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		s, err := readSnapshot(file)
		if err != nil {
			return nil, err
		}
		all = append(all, DatedSnapshot{s, info.ModTime()})
	}
	slices.SortStableFunc(all, func(a, b DatedSnapshot) int { return compareIDs(a.ID, b.ID) })
	return all, nil
}

func readEntries(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if disk.IsMissing(err) {
		return nil, nil
	}
	return entries, err
}

// compareIDs orders ids by their numbers; those that are none come first, as plain texts.
func compareIDs(a, b string) int {
	first, isFirst := parseID(a)
	second, isSecond := parseID(b)
	switch {
	case isFirst && isSecond:
		return first.Cmp(second)
	case isFirst != isSecond:
		return map[bool]int{true: 1, false: -1}[isFirst]
	}
	return strings.Compare(a, b)
}

func parseID(id string) (*big.Int, bool) {
	const most = 40 // digits; the ids of this millennium have 19
	if len(id) == 0 || len(id) > most || strings.Trim(id, "0123456789") != "" {
		return nil, false
	}
	return new(big.Int).SetString(id, 10)
}

// NextID is the id of a snapshot that is made now. It is larger than all that are in the folder, even if the
// clock is coarse or was set back.
func NextSnapshotID(dir string, now time.Time) (string, error) {
	entries, err := readEntries(dir)
	if err != nil {
		return "", err
	}
	next := big.NewInt(now.UnixNano())
	for _, entry := range entries {
		if id, ok := parseID(strings.TrimSuffix(entry.Name(), ".json")); ok && id.Cmp(next) >= 0 {
			next = id.Add(id, big.NewInt(1))
		}
	}
	return next.String(), nil
}

// At writes a time as records do.
func Timestamp(now time.Time) string { return now.UTC().Format(time.RFC3339Nano) }
