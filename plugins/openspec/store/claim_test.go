package store_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
)

// TestForeignClaimIsKept checks that Recover does not touch the claims of other programs and users.
func TestForeignClaimIsKept(t *testing.T) {
	const path = "changes/archive/.openspec-archive.lock"
	for name, claim := range map[string]string{
		"of another program":                   "{}\n",
		"empty":                                "",
		"of another owner":                     `{"bulkhead-openspec":1,"owner":"else","token":"0123456789abcdef","change":"add-x","archived":"x","specs":null,"newFolders":null}`,
		"with a change outside the project":    `{"bulkhead-openspec":1,"owner":"test","token":"0123456789abcdef","change":"../../x","archived":"x","specs":null,"newFolders":null}`,
		"with a spec outside":                  `{"bulkhead-openspec":1,"owner":"test","token":"0123456789abcdef","change":"add-x","archived":"x","specs":[{"id":"../../../etc","before":"","after":""}],"newFolders":null}`,
		"with a spec without before and after": `{"bulkhead-openspec":1,"owner":"test","token":"0123456789abcdef","change":"add-x","archived":"x","specs":[{"id":"other","before":"","after":""}],"newFolders":null}`,
		"with another token":                   `{"bulkhead-openspec":1,"owner":"test","token":"../../../../abc","change":"add-x","archived":"x","specs":null,"newFolders":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, true)
			if err := os.WriteFile(filepath.Join(s.root, store.DirName, path), []byte(claim), 0o644); err != nil {
				t.Fatal(err)
			}
			s.before[path] = claim
			s.recover(t)
			if _, err := s.archive(unsynced{}); !errors.Is(err, store.ErrClaimed) {
				t.Errorf("got %v, want ErrClaimed", err)
			}
			s.must(t, s.before)
		})
	}
}

// releasedClaim is a file system in which another program removes its claim between its Lstat and its Open.
type releasedClaim struct{ unsynced }

func (r releasedClaim) Open(path string) (io.ReadCloser, error) {
	if filepath.Base(path) == ".openspec-archive.lock" {
		if err := r.Remove(path); err != nil {
			return nil, err
		}
	}
	return r.unsynced.Open(path)
}

// TestClaimThatIsReleasedIsNoInterruptedArchive checks that Recover accepts that the claim of a running program vanishes.
func TestClaimThatIsReleasedIsNoInterruptedArchive(t *testing.T) {
	s := newScene(t, true)
	if err := os.WriteFile(filepath.Join(s.root, store.DirName, "changes/archive/.openspec-archive.lock"), []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := store.At(releasedClaim{}, s.root).Recover(owner); err != nil {
		t.Error(err)
	}
	s.must(t, s.before)
}

// TestClaimThroughLinkIsKept checks that Recover does not touch a claim if the path of a spec in the claim contains a
// symbolic link. No archive writes through symbolic links, so another program wrote the claim.
func TestClaimThroughLinkIsKept(t *testing.T) {
	const form = `{"bulkhead-openspec":1,"owner":"test","token":"0123456789abcdef","change":"add-x","archived":"x","specs":[%s],"newFolders":[%s]}`
	for name, claim := range map[string]string{
		"a created spec":      fmt.Sprintf(form, `{"id":"linked","before":"","after":"0"}`, ``),
		"an existing spec":    fmt.Sprintf(form, `{"id":"linked/deep","before":"0","after":"0"}`, ``),
		"a created directory": fmt.Sprintf(form, ``, `"linked/empty"`),
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, true)
			elsewhere := t.TempDir()
			top := filepath.Join(s.root, store.DirName)
			if err := errors.Join(
				os.MkdirAll(filepath.Join(elsewhere, "empty"), 0o755),
				os.MkdirAll(filepath.Join(elsewhere, "deep"), 0o755),
				os.WriteFile(filepath.Join(elsewhere, ".spec.md-0123456789abcdef.new"), []byte("theirs"), 0o644),
				os.WriteFile(filepath.Join(elsewhere, "deep", ".spec.md-0123456789abcdef.old"), []byte("theirs"), 0o644),
				os.Symlink(elsewhere, filepath.Join(top, "specs", "linked")),
				os.WriteFile(filepath.Join(top, "changes", "archive", ".openspec-archive.lock"), []byte(claim), 0o644),
			); err != nil {
				t.Fatal(err)
			}
			s.recover(t)
			for _, path := range []string{"empty", ".spec.md-0123456789abcdef.new", "deep/.spec.md-0123456789abcdef.old"} {
				if missing(filepath.Join(elsewhere, path)) {
					t.Errorf("Recover removed the file %s", path)
				}
			}
			if _, err := s.archive(unsynced{}); !errors.Is(err, store.ErrClaimed) {
				t.Errorf("got %v, want ErrClaimed", err)
			}
		})
	}
}
