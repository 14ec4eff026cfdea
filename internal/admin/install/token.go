package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
)

// NewToken returns a random bearer token.
func NewToken() string { return bearer.NewSecret() }

// Token is a named token, without its secret.
type Token = bearer.Named

// CheckTokenName returns an error if a named token cannot have the name.
func CheckTokenName(name string) error { return bearer.CheckName(name) }

// NamedTokens returns the file of the user's named tokens.
func NamedTokens(s discovery.System) (bearer.File, error) {
	state, err := discovery.StateDir(s)
	if err != nil {
		return bearer.File{}, usage.Errorf("%w", err)
	}
	return bearer.In(state), nil
}

// WriteToken writes a random bearer token to a new file that only its owner can access. It creates the file's directory.
func WriteToken(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return usage.Errorf("%w", err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usage.Errorf("%s exists: delete it first if its token is to be replaced", file)
	}
	if err != nil {
		return usage.Errorf("%w", err)
	}
	_, err = fmt.Fprintln(f, NewToken())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return nil
}
