package discovery

import (
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
)

// checkSigned returns the refusal of a plugin that is not signed with a key that each part of the ceiling and of the config accepts that
// requires a signature of it; nil if it is.
func (a *Admission) checkSigned(entry config.Plugin, m *manifest.Manifest) *Refusal {
	required := a.ceiling.RequiredSigners(m)
	if entry.From != "" {
		required = append(required, a.sources.RequiredSigners(m)...)
	}
	for _, r := range required {
		if why, remedy := whyNotSigned(entry, m, r.Keys); why != "" {
			return &Refusal{What: fmt.Sprintf("%s is not allowed: %s, and %s requires a signature", m.Name, why, r.At), Remedy: remedy}
		}
	}
	return nil
}

const orAskAdmin = ", or ask the administrator of this machine to allow its key or its sha256"

// whyNotSigned returns why the plugin with the manifest m is not signed with one of the keys, and the remedy; empty if it is.
func whyNotSigned(entry config.Plugin, m *manifest.Manifest, keys []signature.Key) (why, remedy string) {
	if entry.From == "" {
		return "it is a directory, which is not signed", "add it from a signed archive with `bulkhead add REF`" + orAskAdmin
	}
	const again = "fetch it again with `bulkhead update --pinned`" + orAskAdmin
	s, err := store.ReadSignature(entry.Path)
	switch {
	case err != nil:
		return "the record of its signature cannot be used: " + err.Error(), again
	case s == nil:
		return "it is not signed", again
	}
	switch _, err := s.VerifyComment(keys...); {
	case errors.Is(err, signature.ErrOtherKey):
		return "it is signed with " + signerOf(s), "use a version that is signed with an accepted key" + orAskAdmin
	case err != nil:
		return "its signature was changed", again
	case m.Module.SHA256 == "":
		return "its manifest does not contain the digest of the module, so that the signature says nothing about that", again
	case s.Comment() != store.SignedComment(m):
		return fmt.Sprintf("its signature is for %s and not for %s", visible.Quote(visible.Truncate(s.Comment(), 200)), store.SignedComment(m)),
			"ask its author to sign it with `bulkhead plugin push`" + orAskAdmin
	}
	return "", ""
}

// signerOf names the key of a signature that was not verified.
func signerOf(s *signature.Signature) string {
	if claimed, ok := s.ClaimedKey(); ok && claimed.ID() == s.KeyID() {
		return "the key " + claimed.String()
	}
	return "a key with the identifier " + s.KeyID()
}
