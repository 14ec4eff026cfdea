package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
)

const (
	issuerName = "https://login.example.com/realms/team"
	audience   = "https://mcp.example.com/mcp"
	metadata   = "https://login.example.com/.well-known/oauth-authorization-server/realms/team"
	jwks       = "https://login.example.com/keys"
)

// key is a private key of the provider.
type key struct {
	private   crypto.Signer
	id        string
	algorithm jose.SignatureAlgorithm
}

var makeKeys = sync.OnceValue(func() map[string]key {
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	p521, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		panic(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return map[string]key{
		"ec": {p256, "ec", jose.ES256}, "ec521": {p521, "ec521", jose.ES512}, "ed": {edwards, "ed", jose.EdDSA},
		"rsa": {r, "rsa", jose.RS256}, "pss": {r, "rsa", jose.PS384},
	}
})

func (k key) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: k.private.Public(), KeyID: k.id, Use: "sig"}
}

// provider answers requests for the documents of an issuer.
type provider struct {
	mu       sync.Mutex
	pages    map[string]string // by address; a page that is absent has status 404
	requests []string
	hang     bool // do not answer before the request is ended
}

func newProvider(keys ...string) *provider {
	p := &provider{pages: map[string]string{metadata: `{"issuer":"` + issuerName + `","jwks_uri":"` + jwks + `"}`}}
	p.publish(keys...)
	return p
}

// publish replaces the keys.
func (p *provider) publish(names ...string) {
	var set jose.JSONWebKeySet
	for _, name := range names {
		set.Keys = append(set.Keys, makeKeys()[name].public())
	}
	data, err := json.Marshal(set)
	if err != nil {
		panic(err)
	}
	p.set(jwks, string(data))
}

func (p *provider) set(address, page string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages[address] = page
}

func (p *provider) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.requests)
}

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	p.requests = append(p.requests, r.URL.String())
	page, ok := p.pages[r.URL.String()]
	hang := p.hang
	p.mu.Unlock()
	if hang {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	status := http.StatusOK
	if !ok {
		status = http.StatusNotFound
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(page)), ContentLength: -1}, nil
}

// verifier returns a Verifier that uses the provider.
func (p *provider) verifier(t testing.TB, change func(*Config)) *Verifier {
	t.Helper()
	c := Config{Issuers: []string{issuerName}, Audience: audience, Client: &download.Client{Transport: p}, Log: hclog.NewNullLogger()}
	if change != nil {
		change(&c)
	}
	v := New(c)
	t.Cleanup(v.Close)
	return v
}

// usual returns the claims of a valid token, in which changed ones replace others; nil removes one.
func usual(changed map[string]any) map[string]any {
	now := time.Now()
	c := map[string]any{"iss": issuerName, "sub": "ann", "aud": audience, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "client_id": "c"}
	maps.Copy(c, changed)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// sign signs claims with a key.
func sign(t testing.TB, with string, claims any) string {
	t.Helper()
	k := makeKeys()[with]
	return signHeader(t, k, map[string]any{"alg": string(k.algorithm), "kid": k.id, "typ": "at+jwt"}, claims)
}

// signHeader signs any header and claims: a string is used as it is.
func signHeader(t testing.TB, k key, header, claims any) string {
	t.Helper()
	encode := func(v any) string {
		if text, ok := v.(string); ok {
			return base64.RawURLEncoding.EncodeToString([]byte(text))
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(data)
	}
	text := encode(header) + "." + encode(claims)
	hash := map[jose.SignatureAlgorithm]crypto.Hash{jose.ES256: crypto.SHA256, jose.ES512: crypto.SHA512, jose.RS256: crypto.SHA256, jose.PS384: crypto.SHA384}[k.algorithm]
	message, options := []byte(text), crypto.SignerOpts(crypto.Hash(0))
	if hash != 0 {
		h := hash.New()
		h.Write(message)
		message, options = h.Sum(nil), hash
	}
	var signature []byte
	var err error
	switch private := k.private.(type) {
	case *ecdsa.PrivateKey:
		r, s, failed := ecdsa.Sign(rand.Reader, private, message)
		size := (private.Curve.Params().BitSize + 7) / 8
		signature, err = append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...), failed
	default:
		if k.algorithm == jose.PS384 {
			options = &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: hash}
		}
		signature, err = k.private.Sign(rand.Reader, message, options)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}
