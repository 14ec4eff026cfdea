package store

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

const (
	originName = "origin.json"
	// MaxOrigin bounds a record of an origin, in bytes.
	MaxOrigin = 64 << 10
)

// Origin records where a plugin of the store comes from. It explains, and grants nothing.
type Origin struct {
	From    string    `json:"from"`    // the reference by which it was fetched first
	Archive string    `json:"archive"` // SHA-256 of the archive
	Size    int64     `json:"size"`    // bytes of the archive
	Fetched time.Time `json:"fetched"`
	// Signer is the key with which the archive was signed, and Signature the file with the signature, as they were verified when it was
	// fetched last with one; both are empty if it never was.
	Signer    string `json:"signer,omitempty"`
	Signature string `json:"signature,omitempty"`
	// Imported is set if From is what an import claims: nothing was fetched from there on this machine.
	Imported bool `json:"imported,omitempty"`
}

func (o Origin) encode() ([]byte, error) {
	text, err := rawjson.MarshalIndent(o, "  ")
	return append(text, '\n'), err
}

// readOrigin returns the origin of the plugin in dir.
func readOrigin(dir string) (Origin, error) {
	var o Origin
	data, err := filesystem.ReadFile(filesystem.OS{}, filepath.Join(dir, originName), MaxOrigin)
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return o, fmt.Errorf("%s: %w", originName, err)
	}
	if !userfile.IsDigest(o.Archive) {
		return o, fmt.Errorf("%s: archive is not a SHA-256 in hex", originName)
	}
	return o, nil
}

// SignedComment returns the comment that the signature of a plugin's archive contains. It ties the signature to what a config pins, so that
// the signer can be verified without the archive.
func SignedComment(m *manifest.Manifest) string {
	return m.Name + " " + m.Version + " " + manifest.FileName + " sha256:" + m.Digest
}

// ReadSignature returns the signature with which the plugin in dir was fetched; nil if it was not signed. The store belongs to the user, so
// nothing but the signature itself proves who made it.
func ReadSignature(dir string) (*signature.Signature, error) {
	o, err := readOrigin(dir)
	if err != nil || o.Signature == "" {
		return nil, err
	}
	return signature.Parse([]byte(o.Signature))
}
