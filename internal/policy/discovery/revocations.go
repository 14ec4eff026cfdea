package discovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signedfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/revocation"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// RevocationList is a list of revoked plugins that the config or the ceiling names.
type RevocationList struct {
	config.SignedFile
	// List is in force: the newest of what was fetched and of the file at a path. It is nil if there is none, so that nothing may be served.
	List *revocation.List
	// Problems say why a file is not used; the list in force is an earlier one then.
	Problems []string

	newer *signedfile.File // the file at the path, if it is newer than what is kept
}

// IsExpired reports whether a newer list is due. The list is in force nevertheless.
func (l RevocationList) IsExpired(now time.Time) bool {
	return l.List != nil && now.After(l.List.Expires)
}

// Remedy returns what to do about Problems, or about a list that is absent or expired.
func (l RevocationList) Remedy() string {
	if l.IsLocal() {
		return "put the newest list at " + l.From + ", with its signature beside it in " + filepath.Base(l.From) + signature.Extension
	}
	return "fetch it with `bulkhead update --pinned`; if that does not help, ask its publisher"
}

// Revocations returns the directory of the lists that were fetched or read last, which need not exist; its path is empty if there is no location
// for it. A list is kept under its key, wherever it comes from: of two lists that are signed with one key, the older one is revoked.
func Revocations(s System) (signedfile.Dir, error) {
	s, err := s.complete()
	return revocationsIn(s), err
}

func revocationsIn(s System) signedfile.Dir {
	if dir := dataDir(s); dir != "" {
		return signedfile.Dir{Path: filepath.Join(dir, "revocations")}
	}
	return signedfile.Dir{}
}

// RevocationLists returns the lists that a ceiling and a config name, each of which may be nil.
func RevocationLists(s System, ceiling *config.Ceiling, c *config.Config) ([]RevocationList, error) {
	s, err := s.complete()
	if err != nil {
		return nil, err
	}
	var sources config.Sources
	if c != nil {
		sources = c.Sources
	}
	return readRevocationLists(s, ceiling, sources), nil
}

func readRevocationLists(s System, ceiling *config.Ceiling, sources config.Sources) []RevocationList {
	named := sources.Revocations
	if ceiling != nil {
		named = slices.Concat(ceiling.Sources.Revocations, named)
	}
	var lists []RevocationList
	for _, from := range named {
		lists = append(lists, readRevocationList(revocationsIn(s), from))
	}
	return lists
}

// readRevocationList reads what is kept of a list, and the file at its path.
func readRevocationList(dir signedfile.Dir, from config.SignedFile) RevocationList {
	l := RevocationList{SignedFile: from}
	kept, err := dir.Read(from.Key.String(), from.Key)
	if err == nil {
		l.List, err = revocation.Parse(from.From, kept.Content)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.Problems = append(l.Problems, fmt.Sprintf("what was fetched cannot be used: %v", err))
	}
	if !from.IsLocal() {
		return l
	}
	file, list, err := readLocalList(from)
	switch {
	case err != nil:
		l.Problems = append(l.Problems, err.Error())
	case l.List == nil || list.Serial > l.List.Serial:
		l.List, l.newer = list, file
	case list.Serial < l.List.Serial || !bytes.Equal(file.Content, kept.Content):
		l.Problems = append(l.Problems, from.From+": "+(&signedfile.OlderError{Serial: list.Serial, Kept: l.List.Serial}).Error())
	}
	return l
}

// readLocalList reads and verifies the list at a path.
func readLocalList(from config.SignedFile) (*signedfile.File, *revocation.List, error) {
	file := &signedfile.File{}
	var err error
	if file.Content, err = filesystem.ReadFile(filesystem.OS{}, from.From, tomlfile.MaxSize); err == nil {
		file.Signature, err = filesystem.ReadFile(filesystem.OS{}, from.From+signature.Extension, signature.MaxSize)
	}
	if err != nil {
		return nil, nil, err
	}
	if err := file.Verify(from.Key); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", from.From, err)
	}
	list, err := revocation.Parse(from.From, file.Content)
	return file, list, err
}

// KeepRevocations keeps each list that is newer than the one that is kept, so that an older one is refused from now on.
func (f *Found) KeepRevocations(ctx context.Context) error {
	var errs []error
	for _, l := range f.Revocations {
		if l.newer == nil {
			continue
		}
		err := revocationsIn(f.Options.System).Put(ctx, l.Key.String(), l.Key, l.newer, revocation.Serial)
		if older := (*signedfile.OlderError)(nil); errors.As(err, &older) {
			continue // another process has kept a newer one
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", l.At(), usage.Cause(err)))
		}
	}
	return errors.Join(errs...)
}

// reportRevocations logs which lists are expired or not used.
func (f *Found) reportRevocations(now time.Time) {
	for _, l := range f.Revocations {
		for _, problem := range l.Problems {
			f.Options.Log.Warn("a list of revoked plugins is not used", "list", l.At(), "reason", problem, "remedy", l.Remedy())
		}
		if l.IsExpired(now) {
			f.Options.Log.Warn("a list of revoked plugins has expired, and stays in force", "list", l.At(), "expired", l.List.LastDay(), "remedy", l.Remedy())
		}
	}
}
