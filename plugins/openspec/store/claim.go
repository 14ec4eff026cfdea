package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// claimName is the name of a file in the archive directory. The existence of this file means that an archive is in
// progress. Other programs that archive changes use the same name with other content.
const claimName = ".openspec-archive.lock"

const (
	claimFormat = 1
	// claimStart is the beginning of each claim that this package writes.
	claimStart = `{"bulkhead-openspec":`
)

// ErrClaimed means that an archive is in progress, or was in progress when its program ended.
var ErrClaimed = errors.New("an archive is in progress")

// claim is the journal of an archive. It contains all data that is needed to complete the archive or to roll it back.
type claim struct {
	Format   int         `json:"bulkhead-openspec"`
	Owner    string      `json:"owner"`
	Token    string      `json:"token"`
	Change   string      `json:"change"`
	Archived string      `json:"archived"`
	NewDir   bool        `json:"newArchiveFolder,omitempty"`
	NewSpecs bool        `json:"newSpecsFolder,omitempty"`
	Writes   []claimSpec `json:"specs"`
	Folders  []string    `json:"newFolders"` // relative to the specs directory; each directory follows its parent
}

// claimSpec describes a main spec that an archive changes. Before and After are digests of the content; "" stands for a
// file that does not exist.
type claimSpec struct {
	ID     string `json:"id"`
	Before string `json:"before"`
	After  string `json:"after"`
}

var tokenForm = regexp.MustCompile(`^[0-9a-f]{16}$`)

// temporary returns options with the name pattern of temporary files. Temporary files exist only during a call, or
// after a call was killed.
func (r *Root) temporary() atomicfile.Options {
	return atomicfile.Options{FS: r.files, Pattern: ".openspec-*.tmp"}
}

func isTemporary(name string) bool {
	return atomicfile.IsTemporary(name, (&Root{}).temporary())
}

// sweep removes the temporary files of killed calls from the directories to which calls write.
func (r *Root) sweep() error {
	for _, dir := range []string{r.Dir, r.SpecsDir(), r.ChangesDir(), r.ArchiveDir()} {
		entries, err := r.readDir(dir)
		if err == nil {
			err = atomicfile.SweepEntries(dir, entries, 0, r.temporary())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ClaimPath returns the path of the claim file.
func (r *Root) ClaimPath() string { return filepath.Join(r.ArchiveDir(), claimName) }

// log returns a transaction log whose journal is always the claim file. The method Apply of the log writes the claim c.
// The method Recover accepts a claim if its owner is that of c, and copies the claim to c.
func (r *Root) log(c *claim) transaction.Log {
	return transaction.Log{
		FS:  r.files,
		Dir: r.ArchiveDir(),
		Format: &transaction.Format{
			Staging: claimName, Switching: claimName, Committed: claimName, Temporary: r.temporary().Pattern,
			Encode: func(j *transaction.Journal) ([]byte, error) { return r.encode(c, j) },
			Decode: func(raw []byte) (*transaction.Journal, error) { return r.decode(c, raw) },
			Names: func(j *transaction.Journal, i int) (old, new string) {
				dir, name := filepath.Split(j.Steps[i].Path)
				base := dir + "." + name + "-" + j.ID
				return base + ".old", base + ".new"
			},
		},
		OnConflict: func(path, old string) error {
			return fmt.Errorf("%s was changed by another program; resolve the conflict, then remove %s and %s", path, r.ClaimPath(), old)
		},
		OnError: func(path string, err error) error {
			switch {
			case !errors.Is(err, transaction.ErrChanged):
				return err
			case filepath.Base(path) == c.Archived:
				return ErrTargetExists
			}
			return fmt.Errorf("%s %w", path, ErrChanged)
		},
	}
}

// encode adds the data of a transaction's journal to the claim c, and returns the claim as JSON.
func (r *Root) encode(c *claim, j *transaction.Journal) ([]byte, error) {
	id := func(path string) string {
		below, _ := filepath.Rel(r.SpecsDir(), path) // Rel returns no error, because path is below SpecsDir
		return filepath.ToSlash(below)
	}
	c.Token = j.ID
	for _, s := range j.Steps {
		if s.From == "" {
			c.Writes = append(c.Writes, claimSpec{ID: id(filepath.Dir(s.Path)), Before: s.Before, After: s.After})
		}
	}
	for _, dir := range j.Folders {
		if dir == r.SpecsDir() {
			c.NewSpecs = true
		} else {
			c.Folders = append(c.Folders, id(dir))
		}
	}
	raw, err := json.Marshal(c)
	return append(raw, '\n'), err
}

// decode returns the journal that a claim contains, and stores the claim in c. The error is ErrClaimed if another
// program or another owner wrote the claim.
func (r *Root) decode(c *claim, raw []byte) (*transaction.Journal, error) {
	if !bytes.HasPrefix(raw, []byte(claimStart)) {
		return nil, ErrClaimed
	}
	owner := c.Owner
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, transaction.ErrTorn
	}
	if c.Owner != owner || c.check() != nil || r.checkPlaces(c) != nil {
		return nil, ErrClaimed
	}
	j := &transaction.Journal{Version: 1, ID: c.Token}
	if c.NewSpecs {
		j.Folders = append(j.Folders, r.SpecsDir())
	}
	for _, id := range c.Folders {
		j.Folders = append(j.Folders, filepath.Join(r.SpecsDir(), filepath.FromSlash(id)))
	}
	for _, write := range c.Writes {
		j.Steps = append(j.Steps, transaction.Step{
			Root: r.SpecsDir(), Path: r.SpecPath(write.ID), Before: write.Before, After: write.After, Prune: write.After == ""})
	}
	move, err := r.move(c)
	j.Steps = append(j.Steps, transaction.Step{Root: move.Root, Path: move.Path, From: move.From})
	return j, err
}

// check returns an error for a claim with invalid names of specs or changes. The content of a claim is untrusted,
// because other programs may write to its directory.
func (c *claim) check() error {
	if c.Format != claimFormat || !tokenForm.MatchString(c.Token) {
		return errors.New("the claim has an unknown format or an invalid token")
	}
	faults := []error{CheckChange(c.Change), CheckArchived(c.Archived)}
	for _, write := range c.Writes {
		faults = append(faults, CheckSpec(write.ID))
		if write.Before == "" && write.After == "" {
			faults = append(faults, fmt.Errorf("the claim's spec %q has neither a before nor an after digest", write.ID))
		}
	}
	for _, folder := range c.Folders {
		faults = append(faults, CheckSpec(folder))
	}
	return errors.Join(faults...)
}

// checkPlaces returns an error if the path of a spec in the claim contains a symbolic link. An archive never writes
// through symbolic links, and a rollback would change the target of the link.
func (r *Root) checkPlaces(c *claim) error {
	for _, write := range c.Writes {
		if err := r.plain(write.ID); err != nil {
			return err
		}
	}
	for _, folder := range c.Folders {
		if _, err := r.plainDirs(folder); err != nil {
			return err
		}
	}
	return nil
}

// resolver returns a new resolver of symbolic links. Callers must use its cache for one decision only.
func (r *Root) resolver() *contain.Resolver { return &contain.Resolver{FS: r.files} }
