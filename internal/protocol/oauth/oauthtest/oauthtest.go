// Package oauthtest has keys and signs tokens for tests, as an issuer does. Start with Keys and Key.Sign.
package oauthtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Key is a private key that signs tokens.
type Key struct {
	Private   crypto.Signer
	ID        string
	Algorithm jose.SignatureAlgorithm
}

// Keys returns one key of each kind by its name. All calls return the same ones.
var Keys = sync.OnceValue(func() map[string]Key {
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	r := must(rsa.GenerateKey(rand.Reader, 2048))
	return map[string]Key{
		"ec":    {must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), "ec", jose.ES256},
		"ec521": {must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)), "ec521", jose.ES512},
		"ed":    {must(edwards, err), "ed", jose.EdDSA}, "rsa": {r, "rsa", jose.RS256}, "pss": {r, "rsa", jose.PS384},
	}
})

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Public returns the public key as an issuer publishes it.
func (k Key) Public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: k.Private.Public(), KeyID: k.ID, Use: "sig"}
}

// Set returns the document with keys that an issuer publishes.
func Set(keys ...jose.JSONWebKey) string {
	return string(must(json.Marshal(jose.JSONWebKeySet{Keys: keys})))
}

// Published returns the document with the public keys of these names.
func Published(names ...string) string {
	var all []jose.JSONWebKey
	for _, name := range names {
		all = append(all, Keys()[name].Public())
	}
	return Set(all...)
}

// Claims returns the claims of a valid token, in which changed ones replace others; nil removes one.
func Claims(issuer, audience string, changed map[string]any) map[string]any {
	now := time.Now()
	c := map[string]any{"iss": issuer, "sub": "ann", "aud": audience, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "client_id": "c"}
	maps.Copy(c, changed)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// Sign signs claims with the usual header. Claims that are a string are signed as they are.
func (k Key) Sign(claims any) string {
	return k.SignHeader(map[string]any{"alg": string(k.Algorithm), "kid": k.ID, "typ": "at+jwt"}, claims)
}

// Encode returns a part of a token: a string as it is, anything else as JSON.
func Encode(part any) string {
	text, ok := part.(string)
	if !ok {
		text = string(must(json.Marshal(part)))
	}
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// SignHeader signs any header and claims, by the key's own algorithm. Strings are signed as they are.
func (k Key) SignHeader(header, claims any) string {
	text := Encode(header) + "." + Encode(claims)
	hash := map[jose.SignatureAlgorithm]crypto.Hash{jose.ES256: crypto.SHA256, jose.ES512: crypto.SHA512, jose.RS256: crypto.SHA256, jose.PS384: crypto.SHA384}[k.Algorithm]
	message, options := []byte(text), crypto.SignerOpts(crypto.Hash(0))
	if hash != 0 {
		h := hash.New()
		h.Write(message)
		message, options = h.Sum(nil), hash
	}
	if k.Algorithm == jose.PS384 {
		options = &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: hash}
	}
	var signature []byte
	if private, ok := k.Private.(*ecdsa.PrivateKey); ok {
		r, s, err := ecdsa.Sign(rand.Reader, private, message)
		size := (private.Curve.Params().BitSize + 7) / 8
		signature = append(must(r, err).FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
	} else {
		signature = must(k.Private.Sign(rand.Reader, message, options))
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}
