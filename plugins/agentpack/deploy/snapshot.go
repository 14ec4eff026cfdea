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
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// SnapshotKind is the kind of command that recorded a snapshot.
type SnapshotKind string

// The kinds of snapshots. The agentpack program itself records bootstrap snapshots, which belong to the history but do
// not list managed files.
const (
	KindDeploy    SnapshotKind = "deploy"
	KindBootstrap SnapshotKind = "bootstrap"
	KindRollback  SnapshotKind = "rollback"
)

// Op is the operation on a file that a snapshot records.
type Op string

const (
	OpCreate  Op = "create"
	OpUpdate  Op = "update"
	OpDelete  Op = "delete"
	OpRestore Op = "rollback_restore"
	OpRemove  Op = "rollback_delete"
)

// Snapshot is the record of a deploy or rollback. All sums are SHA-256 in hexadecimal, and all paths are absolute.
// Layout returns the paths of the copies of the files before and after the deploy.
type Snapshot struct {
	Kind         SnapshotKind     `json:"kind"`
	ID           string           `json:"id"`         // the time of the snapshot in nanoseconds since the Unix epoch, as a decimal number
	CreatedAt    string           `json:"created_at"` // RFC 3339
	Targets      []string         `json:"targets"`
	Files        []SnapshotFile   `json:"managed_files,omitempty"` // the desired files, sorted by target and path
	Changes      []SnapshotChange `json:"changes"`                 // changes of files and of target manifests
	RolledBackTo string           `json:"rolled_back_to,omitempty"`
	LockSHA256   *string          `json:"lockfile_sha256"`
	BackupRoot   string           `json:"backup_root"`
}

// SnapshotFile is a desired file in the record of a snapshot.
type SnapshotFile struct {
	Target string `json:"target"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Key returns the key of the file.
func (f SnapshotFile) Key() output.Key { return output.Key{Target: f.Target, Path: f.Path} }

// SnapshotChange is the recorded change of one file. A value that is unknown or absent is "".
type SnapshotChange struct {
	Target     string `json:"target"`
	Op         Op     `json:"op"`
	Path       string `json:"path"`
	BackupPath string `json:"backup_path,omitempty"`
	Before     string `json:"before_sha256,omitempty"`
	After      string `json:"after_sha256,omitempty"`
	BeforeLink string `json:"before_link,omitempty"` // the target of the symbolic link that the change replaced or removed
}

// maxRecord is the maximum size of a record in bytes, and maxRecords the maximum number of records.
const (
	maxRecord  = 32 << 20
	maxRecords = 20_000
)

// Encode returns the content of the file that holds the record.
func (s Snapshot) Encode() ([]byte, error) {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	if len(raw) >= maxRecord { // LoadSnapshot and ListSnapshots would refuse a larger record
		return nil, fmt.Errorf("the snapshot's record would be larger than %d MiB: it lists %d files", maxRecord>>20, len(s.Files))
	}
	return append(raw, '\n'), nil
}

// ParseSnapshot decodes the content of a file that holds a record.
func ParseSnapshot(text []byte) (*Snapshot, error) {
	var s Snapshot
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	if s.Kind == "" {
		s.Kind = KindDeploy // older records have no kind
	}
	if s.Kind != KindDeploy && s.Kind != KindBootstrap && s.Kind != KindRollback {
		return nil, fmt.Errorf("kind %.40q is not one of deploy, bootstrap, rollback", s.Kind)
	}
	if s.ID == "" {
		return nil, errors.New("id is missing")
	}
	return &s, nil
}

func isClean(path string) bool { return filepath.IsAbs(path) && filepath.Clean(path) == path }

// checkPaths returns an error unless all paths in the record are absolute and clean. Rollback calls checkPaths before
// it writes any file.
func (s *Snapshot) checkPaths() error {
	for _, f := range s.Files {
		if !isClean(f.Path) {
			return fmt.Errorf("the managed file %.200q is not an absolute path", f.Path)
		}
	}
	for _, c := range s.Changes {
		if !isClean(c.Path) {
			return fmt.Errorf("the changed file %.200q is not an absolute path", c.Path)
		}
	}
	return nil
}

// Layout returns the paths of the files of one snapshot. Dir is the directory of all snapshots, and ID the id of the
// snapshot.
type Layout struct{ Dir, ID string }

// Record returns the path of the file that holds the snapshot's record.
func (l Layout) Record() string { return filepath.Join(l.Dir, l.ID+".json") }

// Backups returns the directory with the copies of the files that the deploy replaced.
func (l Layout) Backups() string { return filepath.Join(l.Dir, l.ID, "backup") }

// Backup returns the path of the copy of one file that the deploy replaced.
func (l Layout) Backup(key output.Key) string { return copyPath(l.Backups(), key) }

// States returns the directory with the copies of the desired files; snapshots of older versions have no such
// directory.
func (l Layout) States() string { return filepath.Join(l.Dir, l.ID, "state") }

// State returns the path of the copy of one desired file.
func (l Layout) State(key output.Key) string { return copyPath(l.States(), key) }

func copyPath(dir string, key output.Key) string {
	return filepath.Join(dir, env.Sanitize(key.Target), env.FileKey(key.Path))
}

// LoadSnapshot reads the record of the snapshot with the given id. The error for an invalid id is the same as for an
// unknown id.
func LoadSnapshot(dir, id string) (*Snapshot, error) {
	unknown := fmt.Errorf("there is no snapshot %.100q in %s", id, dir)
	if !env.IsPathComponent(id) {
		return nil, unknown
	}
	s, err := readSnapshot(Layout{dir, id}.Record())
	if filesystem.IsAbsent(err) {
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

// DatedSnapshot is a snapshot together with the modification time of the file that holds its record.
type DatedSnapshot struct {
	*Snapshot
	Written time.Time
}

// ListSnapshots returns all snapshots, sorted by id. It fails if it cannot read one of the records. If the directory of
// the snapshots does not exist, the list is empty.
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
			return nil, fmt.Errorf("%s has more than %d snapshots: move the oldest to another directory", dir, maxRecords)
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
	if filesystem.IsAbsent(err) {
		return nil, nil
	}
	return entries, err
}

// compareIDs orders ids numerically. Ids that are not numbers come first, in the order of strings.
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
	const most = 40 // the maximum number of digits; an id in nanoseconds has 19 digits
	if len(id) == 0 || len(id) > most || strings.Trim(id, "0123456789") != "" {
		return nil, false
	}
	return new(big.Int).SetString(id, 10)
}

// NextSnapshotID returns an id for a new snapshot. The id is the current time, or a larger number if an existing id is
// not smaller than the current time, because the clock is coarse or was set back.
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

// Timestamp formats a time for the record of a snapshot.
func Timestamp(now time.Time) string { return now.UTC().Format(time.RFC3339Nano) }
