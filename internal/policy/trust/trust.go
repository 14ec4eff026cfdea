// Package trust stores the user's trust decisions: files and directories that a host may discover in a working directory or
// project, each with the digest of the reviewed content. A path is untrusted if it has no record or if its digest differs. Start
// with In and Store.Lookup. The package does not ask for consent: commands add records after the user has agreed.
package trust

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Record is the decision to trust a path while the digest of its content is SHA256, and the digests of the files that it
// includes are those in Includes.
type Record struct {
	Path     string    `json:"path"`
	SHA256   string    `json:"sha256"`
	Includes []File    `json:"includes,omitempty"`
	At       time.Time `json:"trusted_at"`
}

// File is a file that a trusted config includes.
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Trusts reports whether the record covers an included file whose content has the digest.
func (r *Record) Trusts(path, digest string) bool {
	return slices.Contains(r.Includes, File{path, digest})
}

// Store is a directory with one file for each record. It needs no lock, because records are written and removed
// atomically.
type Store struct{ dir string }

// In returns the store below the host's state directory. If state is empty the store has no directory, and no path is
// trusted.
func In(state string) Store {
	if state == "" {
		return Store{}
	}
	return Store{filepath.Join(state, ".trust")}
}

// File returns the path of the file for the record of path. The file need not exist. The result is empty if there is no store.
func (s Store) File(path string) string {
	if s.dir == "" {
		return ""
	}
	return filepath.Join(s.dir, fileName(path))
}

const (
	suffix = ".json"
	// version is the newest version of a record that decode accepts. Records without a version have version 1.
	version = 1
	// tempPattern begins with a dot, by which List recognizes the temporary file of an interrupted write.
	tempPattern = ".new-*"
	// maxRecord bounds the file of a record in bytes. An escaped path of maxPath bytes fits, and so do 64 included files with
	// paths of usual length.
	maxRecord = 64 << 10
	maxPath   = 4096
	// maxRecords bounds List.
	maxRecords = 10_000
)

var errNoStore = errors.New("there is no directory for trust records: set HOME or XDG_STATE_HOME to a directory of the user")

// Lookup returns the record of a path, or nil if there is none. It returns an error if other users can modify the store,
// or if the record is not in the format of Add.
func (s Store) Lookup(path string) (*Record, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	r, err := s.read(fileName(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && r.Path != path {
		err = fmt.Errorf("%s is the record of a different path: remove it", filepath.Join(s.dir, fileName(path)))
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Add durably records that path is trusted while its content has the digest and the files that it includes are includes.
func (s Store) Add(path, digest string, includes ...File) error {
	file, record, err := s.Record(path, digest, includes...)
	if err != nil {
		return err
	}
	return atomicfile.Replace(file, record, atomicfile.Options{FS: files, Mode: 0o600, Pattern: tempPattern, SweepAge: atomicfile.LongestWrite})
}

// Record returns what Add writes, and the path of its file, for a transaction that writes it. It creates the store.
func (s Store) Record(path, digest string, includes ...File) (file string, record []byte, err error) {
	for _, f := range append([]File{{path, digest}}, includes...) {
		switch {
		case !isPath(f.Path):
			return "", nil, fmt.Errorf("%q cannot be trusted: the path must be absolute, without . and .., and at most %d bytes long", f.Path, maxPath)
		case !utf8.ValidString(f.Path):
			return "", nil, fmt.Errorf("%q cannot be trusted: the path is not UTF-8", f.Path)
		case !userfile.IsDigest(f.SHA256):
			return "", nil, fmt.Errorf("%q cannot be trusted: the digest %q is not a SHA-256 in lower-case hex", f.Path, f.SHA256)
		}
	}
	if err := s.check(); err != nil {
		return "", nil, err
	}
	if err := ownedpath.Make(s.dir); err != nil {
		return "", nil, errors.New(ownedpath.Explain(err))
	}
	if record, err = rawjson.Marshal(Record{Path: path, SHA256: digest, Includes: includes, At: time.Now().UTC().Truncate(time.Second)}); err != nil {
		return "", nil, err
	}
	if len(record) >= maxRecord {
		return "", nil, fmt.Errorf("%q cannot be trusted: it includes too many files", path)
	}
	return filepath.Join(s.dir, fileName(path)), append(record, '\n'), nil
}

// Remove durably removes the record of a path; it returns false if there is none.
func (s Store) Remove(path string) (bool, error) {
	if err := s.check(); err != nil {
		return false, err
	}
	err := os.Remove(filepath.Join(s.dir, fileName(path)))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, files.SyncDir(s.dir)
}

// List returns all valid records, sorted by path. The error names ignored files.
func (s Store) List() ([]Record, error) {
	list := []Record{}
	if err := s.check(); err != nil {
		return list, err
	}
	dir, err := os.Open(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return list, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxRecords + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return list, err
	}
	var ignored []error
	if len(names) > maxRecords {
		names = names[:maxRecords]
		ignored = append(ignored, fmt.Errorf("%s contains more than %d files: the rest is ignored", s.dir, maxRecords))
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasPrefix(name, ".") {
			continue // the temporary file of an interrupted write
		}
		r, err := s.read(name)
		if err == nil && fileName(r.Path) != name {
			err = fmt.Errorf("%s is the record of a different path: remove it", filepath.Join(s.dir, name))
		}
		if err == nil {
			list = append(list, *r)
		} else if !errors.Is(err, fs.ErrNotExist) && len(ignored) < 10 {
			ignored = append(ignored, err)
		}
	}
	slices.SortFunc(list, func(a, b Record) int { return strings.Compare(a.Path, b.Path) })
	return list, errors.Join(ignored...)
}

// check returns an error if other users can modify the store: they could add records.
func (s Store) check() error {
	if s.dir == "" {
		return errNoStore
	}
	if err := ownedpath.Check(s.dir); err != nil {
		return errors.New(ownedpath.Explain(err))
	}
	if err := ownedpath.CheckState(filepath.Dir(s.dir)); err != nil {
		return errors.New(ownedpath.Explain(err))
	}
	return nil
}

// read reads a record. It validates the opened file, so that a swap after the open has no effect, and bounds the
// size.
func (s Store) read(name string) (*Record, error) {
	path := filepath.Join(s.dir, name)
	file, err := os.OpenFile(path, os.O_RDONLY|platform.NoFollow|platform.NonBlock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ignored := func(why string) error { return fmt.Errorf("%s is ignored: it %s", path, why) }
	if err != nil {
		return nil, ignored("cannot be opened: " + err.Error())
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, ignored("is not a regular file")
	case !ownedpath.IsPrivate(file):
		return nil, ignored(ownedpath.NotPrivate)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxRecord+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxRecord {
		return nil, ignored("is too large for a record")
	}
	r, err := decode(data)
	if err != nil {
		return nil, ignored(err.Error())
	}
	return r, nil
}

// decode decodes a record that Add has written. It refuses anything else.
func decode(data []byte) (*Record, error) {
	var r struct {
		Record
		Version int `json:"version"`
	}
	var newer struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(data, &newer) == nil && newer.Version > version {
		return nil, errors.New("was written by a newer version of bulkhead: use that version, or remove the record with `bulkhead trust --revoke PATH`")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return nil, fmt.Errorf("is not a record: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("contains more than one record")
	}
	if key := ambiguous(data); key != "" {
		return nil, fmt.Errorf("is not a record: the member %q is a duplicate, or is not in lower case", key)
	}
	for _, f := range append([]File{{r.Path, r.SHA256}}, r.Includes...) {
		if !isPath(f.Path) || !userfile.IsDigest(f.SHA256) {
			return nil, errors.New("has an invalid path or digest")
		}
	}
	return &r.Record, nil
}

// ambiguous returns a key of a record that Add does not write, but that encoding/json accepts for a known one; empty if there is none.
func ambiguous(record []byte) string {
	key, _ := rawjson.Ambiguous(record, "path", "sha256", "includes", "trusted_at", "version")
	for _, file := range rawjson.Elements(rawjson.Member(record, "includes")) {
		if key == "" {
			key, _ = rawjson.Ambiguous(file, "path", "sha256")
		}
	}
	return key
}

// files is the file system for records. It does not give a new record the permission bits of the file that it replaces,
// because these may have allowed other users to write.
var files = filesystem.OS{Modes: func(string, string) error { return nil }}

// fileName returns the file name of a path's record.
func fileName(path string) string { return userfile.Digest([]byte(path)) + suffix }

func isPath(path string) bool {
	return filepath.IsAbs(path) && filepath.Clean(path) == path && len(path) <= maxPath
}
