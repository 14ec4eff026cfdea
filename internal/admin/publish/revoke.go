package publish

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/revocation"
)

// validity is the time for which a list is valid unless the caller says otherwise.
const validity = 90 * 24 * time.Hour

// RevokeOptions say what is revoked, and in which list.
type RevokeOptions struct {
	File string // the list, which is created if it does not exist
	// Plugins are directories of built plugins, archives, references to archives, NAME@VERSION of the catalogue, or digests of manifests or
	// modules. Without any, the list is only renewed.
	Plugins []string
	// Catalogue is the file or oci:// reference of the catalogue, signed with the key, that has the versions among Plugins; empty: none.
	Catalogue string
	Reason    string // why; required with Plugins
	Expires   string // the last day of validity, as YYYY-MM-DD; empty: 90 days from now
	Push      string // reference oci://REGISTRY/NAME:TAG to which the list is pushed too; empty: none
	// Withdraw allows that entries of the list in the registry are missing in the one that replaces it.
	Withdraw bool
	// Key and Password are as in Options.
	Key      string
	Password func() (string, error)
	Client   *registry.Client
}

// RevokedList is a list that was signed.
type RevokedList struct {
	File      string         `json:"file"`
	Signature string         `json:"signature"` // the file with the signature
	Serial    int64          `json:"serial"`
	Expires   string         `json:"expires"`
	Revoked   []RevokedEntry `json:"revoked"`
	Signer    string         `json:"signer"` // public key
	KeyFile   string         `json:"key_file"`
	NewKey    bool           `json:"new_key"`          // whether the key was made
	Pushed    string         `json:"pushed,omitempty"` // reference of the artifact
	// New says that there was no list, neither in the file nor, if it is pushed, in the registry. Continued is the serial number of the list in
	// the registry that was continued, since there was no file; 0: none.
	New       bool  `json:"new"`
	Continued int64 `json:"continued,omitempty"`
}

// RevokedEntry is an entry of a RevokedList.
type RevokedEntry struct {
	SHA256 string `json:"sha256"`
	Plugin string `json:"plugin,omitempty"`
	Reason string `json:"reason"`
}

// Revoke adds plugins to a list, increases its serial number, and signs it. The former content of the file need not be signed: who signs it
// may have edited it, and is shown all of it. A list in the registry is replaced by a newer one that has all of its entries.
func Revoke(ctx context.Context, o RevokeOptions) (*RevokedList, error) {
	if len(o.Plugins) > 0 && strings.TrimSpace(o.Reason) == "" {
		return nil, usage.Errorf("say why with --reason TEXT: those who use the plugin read it")
	}
	to, err := o.target()
	if err != nil {
		return nil, err
	}
	done := &RevokedList{File: o.File, Signature: o.File + signature.Extension, KeyFile: o.Key, Revoked: []RevokedEntry{}}
	l, err := readList(o.File)
	if err != nil {
		return nil, err
	}
	key := sync.OnceValues(func() (key signature.Private, err error) {
		key, done.NewKey, err = openKey(o.Key, o.Password)
		return key, err
	})
	var before *revocation.List
	if o.Push != "" {
		if before, err = pushedList(ctx, o.Client, to, key); err != nil {
			return nil, err
		}
	}
	if l, err = done.start(o, l, before); err != nil {
		return nil, err
	}
	l, content, err := o.next(ctx, l, key)
	if err != nil {
		return nil, err
	}
	private, err := key()
	if err != nil {
		return nil, err
	}
	text, err := private.Sign(bytes.NewReader(content), fmt.Sprintf("revocations %d", l.Serial))
	if err != nil {
		return nil, err
	}
	done.Serial, done.Expires, done.Signer = l.Serial, l.LastDay(), private.Public().String()
	for _, r := range l.Revoked {
		done.Revoked = append(done.Revoked, RevokedEntry(r))
	}
	if err := writeSigned(done.File, content, text); err != nil {
		return nil, err
	}
	if o.Push != "" {
		if _, err := o.Client.Push(ctx, to, registry.Artifact{Kind: registry.Document, Title: "revocations", Version: fmt.Sprint(l.Serial), Content: content, Signature: text}); err != nil {
			return nil, err
		}
		done.Pushed = to.String()
	}
	return done, nil
}

// next returns the list that follows l, with the plugins, the next serial number and a new last day, as its readers parse the content.
func (o RevokeOptions) next(ctx context.Context, l *revocation.List, key func() (signature.Private, error)) (next *revocation.List, content []byte, err error) {
	for _, plugin := range o.Plugins {
		r, err := o.revoked(ctx, plugin, key)
		if err != nil {
			return nil, nil, err
		}
		r.Reason = o.Reason
		l = l.With(r)
	}
	l.Serial++
	last := cmp.Or(o.Expires, time.Now().UTC().Add(validity).Format(time.DateOnly))
	if l.Expires, err = revocation.ParseExpires(last); err != nil {
		return nil, nil, usage.Errorf("--expires %s: %w", tomlfile.Quote(last), err)
	}
	content = l.Encode()
	if next, err = revocation.Parse(o.File, content); err != nil {
		return nil, nil, &usage.Error{Err: err}
	}
	return next, content, nil
}

// target returns the reference to which the list is pushed.
func (o RevokeOptions) target() (registry.Reference, error) {
	if o.Push == "" {
		return registry.Reference{}, nil
	}
	to, err := registry.Parse(o.Push)
	if err == nil && (to.Tag == "" || to.Digest != "") {
		err = errors.New("must have a tag, and no digest")
	}
	if err != nil {
		return to, usage.Errorf("%s %w", o.Push, err)
	}
	return to, nil
}

// start returns the list to which plugins are added: the one in the file, or, without a file, the one in the registry. Either may be nil. A
// registry does not compare lists: who pushed a list that is older than, or lacks entries of, the one there would offer what is revoked to
// each machine that has not seen it.
func (d *RevokedList) start(o RevokeOptions, file, pushed *revocation.List) (*revocation.List, error) {
	switch {
	case file == nil && pushed == nil:
		d.New = true
		return &revocation.List{}, nil
	case file == nil:
		d.Continued = pushed.Serial
		return pushed, nil
	case pushed == nil:
		return file, nil
	case file.Serial < pushed.Serial:
		return nil, usage.Errorf("%s has the serial number %d, and %s has the newer list %d: to continue that one, move %s away and revoke again", o.File, file.Serial, o.Push, pushed.Serial, o.File)
	}
	for _, r := range pushed.Revoked {
		if _, has := file.Reason(r.SHA256); !has && !o.Withdraw {
			return nil, usage.Errorf("%s revokes %s, and %s does not: put the entry back, or pass --withdraw if the plugin may be served again", o.Push, strings.TrimSpace(r.Plugin+" "+r.SHA256), o.File)
		}
	}
	return file, nil
}

// pushedList returns the list in a registry, nil if there is none. It must be signed with the key.
func pushedList(ctx context.Context, client *registry.Client, at registry.Reference, key func() (signature.Private, error)) (*revocation.List, error) {
	content, text, err := pullDocument(ctx, client, at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, usage.Errorf("%w", err)
	}
	private, err := key()
	if err != nil {
		return nil, err
	}
	if _, err := source.Verify(content, text, private.Public()); err != nil {
		return nil, usage.Errorf("%s has a list already: %w: use the key that signs it, with --key, or push to another tag", at, err)
	}
	l, err := revocation.Parse(at.String(), content)
	if err != nil {
		return nil, &usage.Error{Err: err}
	}
	return l, nil
}

// readList returns the list in a file, nil if there is no file.
func readList(file string) (*revocation.List, error) {
	data, err := tomlfile.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, usage.Errorf("%s: %w", file, err)
	}
	l, err := revocation.Parse(file, data)
	if err != nil {
		return nil, &usage.Error{Err: err}
	}
	return l, nil
}
