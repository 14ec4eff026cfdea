package oauth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bounds of a set of keys.
const (
	maxKeys    = 64
	maxSameID  = 4 // keys with one ID that are tried
	minRSABits = 2048
	maxRSABits = 8192 // a larger key would make each verification slow
)

// keySet are the keys of an issuer at one time. It is immutable.
type keySet struct {
	keys    []jose.JSONWebKey
	digest  digest // of the document that they are from
	fetched time.Time
}

// members are those of a key that are used. A chain of certificates, for example, is not.
var members = []string{"kty", "crv", "x", "y", "n", "e", "kid", "alg"}

// readKeys reads a set. Keys that cannot verify tokens are skipped, since a set can have keys for other purposes.
func readKeys(data []byte) ([]jose.JSONWebKey, error) {
	if err := rawjson.Bound(data, 8192, maxDepth); err != nil {
		return nil, err
	}
	if !rawjson.Valid(data) || rawjson.Kind(rawjson.Member(data, "keys")) != '[' {
		return nil, errors.New("it is not a set of keys")
	}
	var keys []jose.JSONWebKey
	for _, value := range rawjson.Elements(rawjson.Member(data, "keys")) {
		if len(keys) == maxKeys {
			return nil, errors.New("it has too many keys")
		}
		if k, ok := readKey(value); ok {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("it has no key that can verify tokens")
	}
	return keys, nil
}

func readKey(value []byte) (k jose.JSONWebKey, ok bool) {
	if use, stated := rawjson.Unquote(rawjson.Member(value, "use")); stated && use != "sig" {
		return k, false
	}
	if operations := rawjson.Member(value, "key_ops"); operations != nil && !hasElement(operations, "verify") {
		return k, false
	}
	for _, private := range []string{"d", "k", "p", "q"} {
		if rawjson.Member(value, private) != nil {
			return k, false // every reader of the set can sign with it
		}
	}
	used := map[string]string{}
	for _, name := range members {
		if member := rawjson.Member(value, name); member != nil {
			text, isString := rawjson.Unquote(member)
			if !isString {
				return k, false
			}
			used[name] = text
		}
	}
	encoded, err := rawjson.Marshal(used)
	if err != nil || k.UnmarshalJSON(encoded) != nil || !k.Valid() || !k.IsPublic() {
		return k, false
	}
	if public, isRSA := k.Key.(*rsa.PublicKey); isRSA {
		bits := public.N.BitLen()
		return k, bits >= minRSABits && bits <= maxRSABits && public.E > 1 && public.E&1 == 1 && public.E <= math.MaxInt32
	}
	return k, fits(k, jose.ES256) || fits(k, jose.ES384) || fits(k, jose.ES512) || fits(k, jose.EdDSA)
}

// hasElement reports whether a value is an array with a string.
func hasElement(array []byte, want string) bool {
	for _, element := range rawjson.Elements(array) {
		if text, ok := rawjson.Unquote(element); ok && text == want {
			return true
		}
	}
	return false
}

// fits reports whether a key is one of an algorithm.
func fits(k jose.JSONWebKey, a jose.SignatureAlgorithm) bool {
	if k.Algorithm != "" && k.Algorithm != string(a) {
		return false
	}
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		return slices.Contains([]jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512}, a)
	case *ecdsa.PublicKey:
		return map[jose.SignatureAlgorithm]int{jose.ES256: 256, jose.ES384: 384, jose.ES512: 521}[a] == key.Curve.Params().BitSize
	case ed25519.PublicKey:
		return a == jose.EdDSA
	}
	return false
}

// find returns the keys with the ID and for the algorithm of a header. A header without ID has one key only if the set has only one for it.
func (s *keySet) find(h header) []jose.JSONWebKey {
	if s == nil {
		return nil
	}
	var found []jose.JSONWebKey
	for _, k := range s.keys {
		if (h.keyID == "" || k.KeyID == h.keyID) && fits(k, h.algorithm) {
			found = append(found, k)
		}
	}
	if h.keyID == "" && len(found) > 1 || len(found) > maxSameID {
		return nil
	}
	return found
}
