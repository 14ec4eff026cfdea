package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// NewToken returns a random bearer token.
func NewToken() string { return bearer.NewSecret() }

// Token is a named token, without its secret.
type Token = bearer.Named

// CheckTokenName returns an error if a named token cannot have the name.
func CheckTokenName(name string) error { return bearer.CheckName(name) }

// NamedTokens returns the file of the user's named tokens.
func NamedTokens(s discovery.System) (bearer.File, error) {
	file, err := discovery.NamedTokens(s)
	if err != nil {
		return bearer.File{}, usage.Errorf("%w", err)
	}
	return file, nil
}

// NewNamedToken makes a named token that is valid until expires, if that is not nil. unrecorded says why the audit log of the config in force has
// no record of it: see recorded.
func NewNamedToken(ctx context.Context, o discovery.Options, name string, expires *time.Time) (token string, made Token, unrecorded string, err error) {
	file, err := NamedTokens(o.System)
	if err != nil {
		return "", Token{}, "", err
	}
	unrecorded, err = recorded(discovery.FindAudit(o), true, func() (_ []audit.Record, err error) {
		token, made, err = file.New(ctx, name, expires)
		return tokenChanges("new", made), err
	})
	return token, made, unrecorded, err
}

// RevokeTokens revokes the named token with an ID, or all with a name.
func RevokeTokens(ctx context.Context, o discovery.Options, nameOrID string) (revoked []Token, unrecorded string, err error) {
	file, err := NamedTokens(o.System)
	if err != nil {
		return nil, "", err
	}
	unrecorded, err = recorded(discovery.FindAudit(o), false, func() (_ []audit.Record, err error) {
		revoked, err = file.Revoke(ctx, nameOrID)
		return tokenChanges("revoke", revoked...), err
	})
	return revoked, unrecorded, err
}

// tokenChanges returns the records of changes of tokens.
func tokenChanges(what string, all ...Token) (records []audit.Record) {
	for _, t := range all {
		records = append(records, audit.Record{Kind: audit.KindTokens, Method: what, Subject: t.PrincipalID(), Name: t.Name})
	}
	return records
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
