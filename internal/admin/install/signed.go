package install

import (
	"fmt"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
)

// verifyStored returns the key that signed an archive of the store, the zero value if it was not signed.
func verifyStored(archive []byte, o store.Origin) (signature.Key, error) {
	if o.Signature == "" {
		return signature.Key{}, nil
	}
	key, err := signature.ParseKey(o.Signer)
	if err != nil {
		return signature.Key{}, fmt.Errorf("the signer in its record %w", err)
	}
	return source.Verify(archive, []byte(o.Signature), key)
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
