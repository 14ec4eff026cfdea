package install

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
)

// verifySignature returns the key that signed an archive: signer if that is set, which it is an error not to be, else the one that the
// signature names, and the zero value for an archive that is not signed. A signature that does not fit is always an error.
func verifySignature(got *source.Fetched, signer signature.Key) (signature.Key, error) {
	if got.Signature == nil {
		if !signer.IsZero() {
			return signature.Key{}, fmt.Errorf("it is not signed, and must be signed with the key %s", signer)
		}
		return signature.Key{}, nil
	}
	s, err := signature.Parse(got.Signature)
	if err != nil {
		return signature.Key{}, fmt.Errorf("its signature cannot be used: %w", err)
	}
	key := signer
	if key.IsZero() {
		var ok bool
		if key, ok = s.ClaimedKey(); !ok {
			return signature.Key{}, fmt.Errorf("it is signed with the key %s, whose public key is not in the signature: pass --signer KEY with the one that the author publishes", s.KeyID())
		}
	}
	_, err = s.Verify(bytes.NewReader(got.Archive), key)
	switch claimed, ok := s.ClaimedKey(); {
	case errors.Is(err, signature.ErrOtherKey) && ok && claimed != key:
		return signature.Key{}, fmt.Errorf("it is signed with another key, which calls itself %s, and must be signed with %s", claimed, key)
	case errors.Is(err, signature.ErrOtherKey):
		return signature.Key{}, fmt.Errorf("it is signed with another key, with the identifier %s, and must be signed with %s", s.KeyID(), key)
	case err != nil:
		return signature.Key{}, err
	}
	return key, nil
}

// verifyStored returns the key that signed an archive of the store, the zero value if it was not signed.
func verifyStored(archive []byte, o store.Origin) (signature.Key, error) {
	if o.Signature == "" {
		return signature.Key{}, nil
	}
	key, err := signature.ParseKey(o.Signer)
	if err != nil {
		return signature.Key{}, fmt.Errorf("the signer in its record %w", err)
	}
	return verifySignature(&source.Fetched{Archive: archive, Signature: []byte(o.Signature)}, key)
}

// checkSigner returns an error if the plugin is not signed with the key that its table in the config names, unless the user named another
// one.
func (s *Staged) checkSigner(pinned config.Plugin) error {
	switch {
	case pinned.Signer.IsZero() || s.known:
		return nil
	case s.signer == pinned.Signer:
		s.known = true
		return nil
	}
	by := "it is not signed"
	if !s.signer.IsZero() {
		by = "it is signed with the key " + s.signer.String()
	}
	return usage.Errorf("%s: %s, and signer (%s) names %s: ask the author; if the key has changed, pass it with --signer", s.origin.From, by, pinned.At("signer"), pinned.Signer)
}

// originOf returns the record of a fetched archive for the store.
func originOf(got *source.Fetched, signer signature.Key) store.Origin {
	return store.Origin{From: got.From.String(), Fetched: time.Now().UTC().Truncate(time.Second), Signer: signer.String(), Signature: string(got.Signature)}
}
