package bearer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bounds of the file.
const (
	maxNamed = 4096    // tokens
	maxFile  = 2 << 20 // bytes; maxNamed tokens with the longest names fit
	lockWait = 10 * time.Second
	version  = 1
)

// File is the file of the named tokens of one user, in a directory that only the user can write. It contains digests, no secrets.
type File struct{ path string }

// In returns the file below the host's state directory. If state is empty there is no place for it.
func In(state string) File {
	if state == "" {
		return File{}
	}
	return File{filepath.Join(state, ".tokens", "tokens.json")}
}

// Path returns the path of the file, which need not exist; empty if there is no place for it.
func (f File) Path() string { return f.path }

var errNoPlace = errors.New("there is no directory for named tokens: set HOME or XDG_STATE_HOME to a directory of the user")

// content is what the file contains.
type content struct {
	Version int     `json:"version"`
	Tokens  []Named `json:"tokens"`
}

// Read returns the named tokens in the order in which they were made, the expired ones too; none if there is no file.
func (f File) Read() ([]Named, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(f.path, os.O_RDONLY|platform.NoFollow|platform.NonBlock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: remove it", f.path)
	case !ownedpath.IsPrivate(file):
		return nil, fmt.Errorf("%s %s: remove it, and make new tokens", f.path, ownedpath.NotPrivate)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	tokens, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return tokens, nil
}

// decode decodes what encode has written, and refuses anything else.
func decode(data []byte) ([]Named, error) {
	const remedy = "restore the file, or remove it and make new tokens"
	if len(data) > maxFile {
		return nil, fmt.Errorf("it is larger than %d bytes: %s", maxFile, remedy)
	}
	var newer struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(data, &newer) == nil && newer.Version > version {
		return nil, errors.New("it was written by a newer version of bulkhead: use that version")
	}
	var c content
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return nil, fmt.Errorf("it is not a file of tokens: %w: %s", err, remedy)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) || c.Version != version || len(c.Tokens) > maxNamed {
		return nil, fmt.Errorf("it is not a file of tokens: %s", remedy)
	}
	ids := make(map[string]bool, len(c.Tokens))
	for _, n := range c.Tokens {
		if err := n.check(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, remedy)
		}
		if ids[n.ID] {
			return nil, fmt.Errorf("two tokens have the ID %s: %s", n.ID, remedy)
		}
		ids[n.ID] = true
	}
	return c.Tokens, nil
}

// New makes a token and stores its record. If expires is nil, it does not expire. The token is nowhere but in the result.
func (f File) New(ctx context.Context, name string, expires *time.Time) (token string, n Named, err error) {
	if err := CheckName(name); err != nil {
		return "", Named{}, err
	}
	err = f.update(ctx, func(all []Named) ([]Named, error) {
		if len(all) >= maxNamed {
			return nil, fmt.Errorf("there are %d tokens, and more are not kept: revoke some with `bulkhead token revoke`", len(all))
		}
		token, n = newNamed(name, time.Now(), expires)
		return append(all, n), nil
	})
	if err != nil {
		return "", Named{}, err
	}
	return token, n, nil
}

// Revoke removes the token with an ID, or all tokens with a name, and returns them.
func (f File) Revoke(ctx context.Context, nameOrID string) (revoked []Named, err error) {
	err = f.update(ctx, func(all []Named) ([]Named, error) {
		named := func(n Named) bool { return n.Name == nameOrID }
		if slices.ContainsFunc(all, func(n Named) bool { return n.ID == nameOrID }) {
			named = func(n Named) bool { return n.ID == nameOrID }
		}
		kept := make([]Named, 0, len(all))
		revoked = nil
		for _, n := range all {
			if named(n) {
				revoked = append(revoked, n)
			} else {
				kept = append(kept, n)
			}
		}
		return kept, nil
	})
	return revoked, err
}

// update replaces the tokens by those that change returns. Only one process does so at a time.
func (f File) update(ctx context.Context, change func([]Named) ([]Named, error)) error {
	if err := f.check(); err != nil {
		return err
	}
	dir := filepath.Dir(f.path)
	if err := ownedpath.Make(dir); err != nil {
		return errors.New(ownedpath.Explain(err))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockWait, fmt.Errorf("another process has changed the tokens for %s: try again", lockWait))
	defer cancel()
	lock, err := filelock.Lock(ctx, filepath.Join(dir, "lock"), filelock.Exclusive)
	if err != nil {
		return err
	}
	defer lock.Close()
	old, err := f.Read()
	if err != nil {
		return err
	}
	next, err := change(slices.Clone(old))
	if err != nil || len(next) == len(old) { // each change adds or removes tokens
		return err
	}
	data, err := rawjson.MarshalIndent(content{version, next}, "  ")
	if err != nil {
		return err
	}
	return atomicfile.Replace(f.path, append(data, '\n'), atomicfile.Options{FS: files, Mode: 0o600})
}

// files is the file system for the file. It does not give a new file the permission bits of the file that it replaces, because these may have
// allowed other users to read or write.
var files = filesystem.OS{Modes: func(string, string) error { return nil }}

// check returns an error if other users can change the file: they could add tokens.
func (f File) check() error {
	if f.path == "" {
		return errNoPlace
	}
	dir := filepath.Dir(f.path)
	if err := ownedpath.Check(dir); err != nil {
		return errors.New(ownedpath.Explain(err))
	}
	if err := ownedpath.CheckState(filepath.Dir(dir)); err != nil {
		return errors.New(ownedpath.Explain(err))
	}
	return nil
}
