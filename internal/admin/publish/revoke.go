package publish

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry"
	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/revocation"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// validity is the time for which a list is valid unless the caller says otherwise.
const validity = 90 * 24 * time.Hour

// RevokeOptions say what is revoked, and in which list.
type RevokeOptions struct {
	File string // the list, which is created if it does not exist
	// Plugins are directories of built plugins, archives, or digests of manifests or modules. Without any, the list is only renewed.
	Plugins []string
	Reason  string // why; required with Plugins
	Expires string // the last day of validity, as YYYY-MM-DD; empty: 90 days from now
	Push    string // reference oci://REGISTRY/NAME:TAG to which the list is pushed too; empty: none
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
}

// RevokedEntry is an entry of a RevokedList.
type RevokedEntry struct {
	SHA256 string `json:"sha256"`
	Plugin string `json:"plugin,omitempty"`
	Reason string `json:"reason"`
}

// Revoke adds plugins to a list, increases its serial number, and signs it. The former content of the list need not be signed: who signs it
// may have edited it, and is shown all of it.
func Revoke(ctx context.Context, o RevokeOptions) (*RevokedList, error) {
	if len(o.Plugins) > 0 && strings.TrimSpace(o.Reason) == "" {
		return nil, usage.Errorf("say why with --reason TEXT: those who use the plugin read it")
	}
	var to registry.Reference
	if o.Push != "" {
		var err error
		if to, err = registry.Parse(o.Push); err == nil && (to.Tag == "" || to.Digest != "") {
			err = errors.New("must have a tag, and no digest")
		}
		if err != nil {
			return nil, usage.Errorf("%s %w", o.Push, err)
		}
	}
	l, err := readList(o.File)
	if err != nil {
		return nil, err
	}
	for _, plugin := range o.Plugins {
		r, err := revoked(plugin)
		if err != nil {
			return nil, err
		}
		r.Reason = o.Reason
		l = l.With(r)
	}
	l.Serial++
	last := cmp.Or(o.Expires, time.Now().UTC().Add(validity).Format(time.DateOnly))
	if l.Expires, err = revocation.ParseExpires(last); err != nil {
		return nil, usage.Errorf("--expires %s: %w", tomlfile.Quote(last), err)
	}
	content := l.Encode()
	if l, err = revocation.Parse(o.File, content); err != nil { // what is signed is what others will read
		return nil, &usage.Error{Err: err}
	}
	key, made, err := openKey(o.Key, o.Password)
	if err != nil {
		return nil, err
	}
	text, err := key.Sign(bytes.NewReader(content), fmt.Sprintf("revocations %d", l.Serial))
	if err != nil {
		return nil, err
	}
	done := &RevokedList{File: o.File, Signature: o.File + signature.Extension, Serial: l.Serial, Expires: l.LastDay(), Signer: key.Public().String(), KeyFile: o.Key, NewKey: made, Revoked: []RevokedEntry{}}
	for _, r := range l.Revoked {
		done.Revoked = append(done.Revoked, RevokedEntry(r))
	}
	// Whoever reads the files in between has a signature that does not fit, and keeps the former list.
	for _, f := range []struct {
		name string
		data []byte
	}{{done.File, content}, {done.Signature, text}} {
		if err := atomicfile.Replace(f.name, f.data, atomicfile.Options{Pattern: ".bulkhead-*.tmp"}); err != nil {
			return nil, usage.Errorf("%s cannot be written: %w", f.name, usage.Cause(err))
		}
	}
	if o.Push != "" {
		if _, err := o.Client.Push(ctx, to, registry.Artifact{Kind: registry.Document, Title: "revocations", Version: fmt.Sprint(l.Serial), Content: content, Signature: text}); err != nil {
			return nil, err
		}
		done.Pushed = to.String()
	}
	return done, nil
}

// readList returns the list in a file, an empty one if there is no file.
func readList(file string) (*revocation.List, error) {
	data, err := tomlfile.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &revocation.List{}, nil
	case err != nil:
		return nil, usage.Errorf("%s: %w", file, err)
	}
	l, err := revocation.Parse(file, data)
	if err != nil {
		return nil, &usage.Error{Err: err}
	}
	return l, nil
}

// revoked returns the entry for a digest, an archive, or the directory of a built plugin.
func revoked(plugin string) (revocation.Revoked, error) {
	if digest := strings.ToLower(plugin); userfile.IsDigest(digest) {
		return revocation.Revoked{SHA256: digest}, nil
	}
	info, err := os.Stat(plugin)
	if err != nil {
		return revocation.Revoked{}, usage.Errorf("%s is neither a SHA-256 nor a file: %w", tomlfile.Quote(plugin), usage.Cause(err))
	}
	m := &manifest.Manifest{}
	if info.IsDir() {
		var problems tomlfile.Problems
		if m, problems = manifest.Load(plugin); m == nil || problems.Err() != nil {
			return revocation.Revoked{}, &usage.Error{Err: problems.Err()}
		}
	} else {
		data, err := filesystem.ReadFile(filesystem.OS{}, plugin, archive.MaxSize)
		if err == nil {
			var p *store.Plugin
			if p, err = store.Open(data); err == nil {
				m = p.Manifest
			}
		}
		if err != nil {
			return revocation.Revoked{}, usage.Errorf("%s: %w", plugin, err)
		}
	}
	return revocation.Revoked{SHA256: m.Digest, Plugin: m.Name + " " + m.Version}, nil
}
