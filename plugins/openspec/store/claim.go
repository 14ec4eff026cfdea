package store

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
)

// claimName is the file in the archive folder that says that an archive is under way. Other programs that
// archive use the same name, with content of their own.
const claimName = ".openspec-archive.lock"

// maxClaim bounds a claim that is read, in bytes.
const maxClaim = MaxFile

// claimStart is what each claim of this package begins with.
const claimStart = `{"bulkhead-openspec":`

// ErrClaimed says that an archive is under way, or was when its program died.
var ErrClaimed = errors.New("an archive is under way")

// claim is the journal of an archive: all that is needed to finish it or to undo it.
type claim struct {
	Format   int         `json:"bulkhead-openspec"`
	Owner    string      `json:"owner"`
	Token    string      `json:"token"`
	Change   string      `json:"change"`
	Archived string      `json:"archived"`
	NewDir   bool        `json:"newArchiveFolder,omitempty"`
	NewSpecs bool        `json:"newSpecsFolder,omitempty"`
	Writes   []claimSpec `json:"specs"`
	Folders  []string    `json:"newFolders"` // below specs, the outer ones first
}

// claimSpec is a main spec that an archive changes. Before and After are digests; "" means no file.
type claimSpec struct {
	ID     string `json:"id"`
	Before string `json:"before"`
	After  string `json:"after"`
}

var tokenForm = regexp.MustCompile(`^[0-9a-f]{16}$`)

// newToken returns a text that no other call uses. It comes from the system: in a module that is put back
// after each call any other source repeats itself.
func newToken() (string, error) {
	var salt [8]byte
	if _, err := rand.Read(salt[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(salt[:]), nil
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// ClaimPath is the path of the claim file.
func (r *Root) ClaimPath() string { return filepath.Join(r.ArchiveDir(), claimName) }

// readClaim returns the claim that is there; nil for none. What another program wrote, or another owner,
// is ErrClaimed.
func (r *Root) readClaim(owner string) (*claim, error) {
	raw, err := r.files.Read(r.ClaimPath(), maxClaim)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var c claim
	if !bytes.HasPrefix(raw, []byte(claimStart)) {
		return nil, ErrClaimed
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		// The write of the claim itself was stopped, and that comes before any other.
		return &claim{Owner: owner}, nil
	}
	if c.Owner != owner || c.check() != nil || r.checkPlaces(&c) != nil {
		return nil, ErrClaimed
	}
	return &c, nil
}

// check refuses a claim that names anything but specs and changes. The file lies in a folder that others
// may write: what it says is not to be trusted.
func (c *claim) check() error {
	if c.Format != 1 || !tokenForm.MatchString(c.Token) {
		return errors.New("is of another form")
	}
	faults := []error{CheckChange(c.Change), CheckArchived(c.Archived)}
	for _, write := range c.Writes {
		faults = append(faults, CheckSpec(write.ID))
		if write.Before == "" && write.After == "" {
			faults = append(faults, errors.New("has a spec of which nothing is said"))
		}
	}
	for _, folder := range c.Folders {
		faults = append(faults, CheckSpec(folder))
	}
	return errors.Join(faults...)
}

// checkPlaces refuses a claim whose specs are reached through links: an archive takes none like that, and
// putting it in order would change what is behind them.
func (r *Root) checkPlaces(c *claim) error {
	for _, write := range c.Writes {
		if err := r.plain(write.ID); err != nil {
			return err
		}
	}
	for _, folder := range c.Folders {
		if _, err := r.plainFolders(folder); err != nil {
			return err
		}
	}
	return nil
}

// place makes a file that must not exist (fs.ErrExist), with all of its content or not at all.
func (r *Root) place(path, content string) error {
	token, err := newToken()
	if err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(path), tempPrefix+token+tempSuffix)
	if err := r.files.Create(temp, []byte(content), 0o644); err != nil {
		return errors.Join(err, r.discard(temp))
	}
	// A link is the one step that refuses an existing name and shows only whole files.
	err = r.files.Link(temp, path)
	gone := r.discard(temp)
	switch {
	case err == nil && gone == nil:
		return nil
	case err == nil:
		return errors.Join(gone, r.discard(path), r.discard(temp))
	case gone != nil || errors.Is(err, fs.ErrExist):
		return errors.Join(err, gone, r.discard(temp))
	}
	return r.placeDirectly(path, content) // a file system without hard links
}

func (r *Root) placeDirectly(path, content string) error {
	err := r.files.Create(path, []byte(content), 0o644)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return errors.Join(err, r.discard(path))
}

// discard removes a file that need not be there.
func (r *Root) discard(path string) error { return ignoreMissing(r.files.Remove(path)) }

// Names of files that are there only while a call runs, or after one was killed.
const (
	tempPrefix = ".openspec-"
	tempSuffix = ".tmp"
)

func isTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// waiting is where a spec waits: its "new" text for its turn, its "old" one for the end.
func (c *claim) waiting(path, what string) string {
	return filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s-%s.%s", filepath.Base(path), c.Token, what))
}
