package oauth

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/oauth/oauthtest"
)

// long returns a valid token of a week.
func long(with string) string {
	return sign(with, usual(map[string]any{"exp": time.Now().Add(7 * 24 * time.Hour).Unix()}))
}

// TestKeysAreRotated checks that a new key is found by its ID at a bounded rate, and that a removed one verifies nothing, not even tokens that
// were verified before.
func TestKeysAreRotated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider("ec")
		v := p.verifier(t, nil)
		former, next := long("ec"), long("ed")
		want := func(token, text string) {
			t.Helper()
			_, err := v.Authenticate(t.Context(), token, "")
			switch {
			case text == "" && err != nil:
				t.Error(err)
			case text != "" && (err == nil || !strings.Contains(why(t, err).Why, text)):
				t.Errorf("got %v, want %s", err, text)
			}
		}
		want(former, "")
		p.publish("ec", "ed")
		want(next, "no such key") // the keys were fetched just before
		requested := p.count()
		for range 100 {
			want(next, "no such key")
		}
		if p.count() != requested {
			t.Errorf("%d requests for a token with an unknown key", p.count()-requested)
		}
		time.Sleep(fetchPause)
		want(next, "")
		p.publish("ed")
		want(former, "")
		time.Sleep(refreshAfter + time.Second)
		want(former, "") // has the keys fetched again
		synctest.Wait()
		want(former, "no such key")
		want(next, "")
	})
}

// TestKeyIsReplacedUnderItsID has issuers that give a new key the ID of the former one, or whose tokens name no key.
func TestKeyIsReplacedUnderItsID(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	next := oauthtest.Key{Private: private, ID: "ec", Algorithm: jose.ES256}
	for name, header := range map[string]string{"the same ID": `{"alg":"ES256","kid":"ec"}`, "no ID": `{"alg":"ES256"}`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProvider("ec")
				v := p.verifier(t, nil)
				if _, err := v.Authenticate(t.Context(), long("ec"), ""); err != nil {
					t.Fatal(err)
				}
				p.set(jwks, oauthtest.Set(next.Public()))
				token, before := next.SignHeader(header, usual(nil)), p.count()
				for range 100 {
					if _, err := v.Authenticate(t.Context(), token, ""); err == nil || why(t, err).Why != "the signature of the token is wrong" {
						t.Fatalf("just after a fetch: %v", err)
					}
				}
				time.Sleep(fetchPause)
				if _, err := v.Authenticate(t.Context(), token, ""); err != nil || p.count() != before+2 {
					t.Errorf("%v after %d requests", err, p.count()-before)
				}
				if _, err := v.Authenticate(t.Context(), long("ec"), ""); err == nil {
					t.Error("the former key is still accepted")
				}
			})
		})
	}
}

// TestKeysWithOneIDAreBounded checks that each of a few keys with one ID is tried, and none of many: each try takes time.
func TestKeysWithOneIDAreBounded(t *testing.T) {
	set := []jose.JSONWebKey{oauthtest.Keys()["ec"].Public()}
	for range maxSameID {
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		set = append([]jose.JSONWebKey{{Key: private.Public(), KeyID: "ec"}}, set...)
	}
	for name, c := range map[string]struct {
		keys []jose.JSONWebKey
		want string
	}{"few": {set[1:], ""}, "many": {set, "the issuer of the token has no such key"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProvider()
				p.set(jwks, oauthtest.Set(c.keys...))
				v := p.verifier(t, nil)
				if _, err := v.Authenticate(t.Context(), long("ec"), ""); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
					t.Errorf("got %v, want %q", err, c.want)
				}
			})
		})
	}
}

// TestIssuerThatIsDown checks that known keys are kept for a bounded time, and that a server without keys answers at once.
func TestIssuerThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider("ec")
		v := p.verifier(t, nil)
		token := long("ec")
		if _, err := v.Authenticate(t.Context(), token, ""); err != nil {
			t.Fatal(err)
		}
		delete(p.pages, metadata)
		for range 23 {
			time.Sleep(keepKeys / 24)
			if _, err := v.Authenticate(t.Context(), token, ""); err != nil {
				t.Fatalf("after %v: %v", time.Since(v.issuers[issuerName].keys.Load().fetched), err)
			}
		}
		time.Sleep(keepKeys / 12)
		for range 2 { // one that waits for the fetch, and one that comes after it
			if _, err := v.Authenticate(t.Context(), token, ""); err == nil || why(t, err).Status != http.StatusServiceUnavailable {
				t.Fatalf("got %v", err)
			}
		}
		p.set(metadata, `{"issuer":"`+issuerName+`","jwks_uri":"`+jwks+`"}`)
		time.Sleep(fetchPause)
		if _, err := v.Authenticate(t.Context(), token, ""); err != nil {
			t.Errorf("when the issuer is back: %v", err)
		}
	})
}

// TestIssuerThatIsSlow checks the bound of the time, and that a request that is ended does not wait.
func TestIssuerThatIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider("ec")
		p.hang = true
		v := p.verifier(t, nil)
		token, begin := long("ec"), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := v.Authenticate(ctx, token, ""); err == nil || why(t, err).Status != http.StatusServiceUnavailable || time.Since(begin) != time.Second {
			t.Errorf("a request that is ended: %v after %v", err, time.Since(begin))
		}
		if _, err := v.Authenticate(t.Context(), token, ""); err == nil || why(t, err).Status != http.StatusServiceUnavailable || time.Since(begin) != fetchTimeout {
			t.Errorf("got %v after %v", err, time.Since(begin))
		}
		v.Close()
		synctest.Wait()
	})
}

// TestTokensThatWaitAreBounded checks that tokens that wait for a slow issuer keep no memory beyond a bound, and hold no token up
// whose key is known, whether or not the token is.
func TestTokensThatWaitAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider("ec")
		v := p.verifier(t, nil)
		known, unknown := long("ec"), long("ed")
		if _, err := v.Authenticate(t.Context(), known, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(fetchPause)
		p.mu.Lock()
		p.hang = true
		p.mu.Unlock()
		results := make(chan error, 2*maxWaiting)
		for range 2 * maxWaiting {
			go func() {
				_, err := v.Authenticate(t.Context(), unknown, "")
				results <- err
			}()
		}
		synctest.Wait()
		if len(results) != maxWaiting {
			t.Errorf("%d tokens do not wait, want %d", len(results), maxWaiting)
		}
		for name, token := range map[string]string{"a known token": known, "a token of a known key": sign("ec", usual(map[string]any{"sub": "another", "exp": time.Now().Add(time.Hour).Unix()}))} {
			if _, err := v.Authenticate(t.Context(), token, ""); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for range 2 * maxWaiting {
			if err := <-results; err == nil {
				t.Error("accepted")
			}
		}
	})
}

// TestIssuerThatLies has documents that must not be used.
func TestIssuerThatLies(t *testing.T) {
	keys := newProvider("ec").pages[jwks]
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	public := oauthtest.Keys()["ec"].Public()
	encrypting, private := public, public
	encrypting.Use, private.Key = "enc", oauthtest.Keys()["ec"].Private
	for name, c := range map[string]struct{ metadata, keys, want string }{
		"the metadata of another issuer":   {`{"issuer":"https://evil.example.com","jwks_uri":"` + jwks + `"}`, keys, "another issuer"},
		"no issuer":                        {`{"jwks_uri":"` + jwks + `"}`, keys, "another issuer"},
		"no address of keys":               {`{"issuer":"` + issuerName + `"}`, keys, "no address of keys"},
		"keys without TLS":                 {`{"issuer":"` + issuerName + `","jwks_uri":"http://login.example.com/keys"}`, keys, "without TLS"},
		"keys on this machine":             {`{"issuer":"` + issuerName + `","jwks_uri":"https://127.0.0.1/keys"}`, keys, "this machine"},
		"keys on localhost":                {`{"issuer":"` + issuerName + `","jwks_uri":"https://LOCALHOST/keys"}`, keys, "this machine"},
		"keys at an unspecified address":   {`{"issuer":"` + issuerName + `","jwks_uri":"https://0.0.0.0/keys"}`, keys, "this machine"},
		"a file as keys":                   {`{"issuer":"` + issuerName + `","jwks_uri":"file:///etc/passwd"}`, keys, "jwks_uri"},
		"a long address":                   {`{"issuer":"` + issuerName + `","jwks_uri":"https://x/` + strings.Repeat("x", 5000) + `"}`, keys, "no address of keys"},
		"huge metadata":                    {strings.Repeat(" ", maxDocument+1), keys, "more than"},
		"deep metadata":                    {strings.Repeat("[", 100_000), keys, ""},
		"HTML":                             {"<html>", keys, "not metadata"},
		"huge keys":                        {"", strings.Repeat(" ", maxDocument+1), "more than"},
		"no keys":                          {"", `{"keys":[]}`, "no key that can verify"},
		"keys that are no array":           {"", `{"keys":{}}`, "not a set of keys"},
		"a symmetric key":                  {"", `{"keys":[{"kty":"oct","kid":"ec","k":"AAAA"}]}`, "no key that can verify"},
		"a private key":                    {"", oauthtest.Set(private), "no key that can verify"},
		"a key for encryption":             {"", oauthtest.Set(encrypting), "no key that can verify"},
		"a key that is not for signatures": {"", strings.Replace(keys, `"use":"sig"`, `"key_ops":["encrypt"]`, 1), "no key that can verify"},
		"a short key":                      {"", oauthtest.Set(jose.JSONWebKey{Key: &short.PublicKey, KeyID: "ec"}), "no key that can verify"},
		"a huge key":                       {"", `{"keys":[{"kty":"RSA","kid":"ec","e":"AQAB","n":"` + strings.Repeat("_", 1<<16) + `"}]}`, "no key that can verify"},
		"a point that is not on the curve": {"", `{"keys":[{"kty":"EC","crv":"P-256","kid":"ec","x":"` + strings.Repeat("A", 43) + `","y":"` + strings.Repeat("A", 43) + `"}]}`,
			"no key that can verify"},
		"many keys": {"", `{"keys":[` + strings.Repeat(strings.TrimSuffix(strings.TrimPrefix(keys, `{"keys":[`), `]}`)+",", maxKeys) + strings.TrimPrefix(keys, `{"keys":[`), "too many keys"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProvider("ec")
				if c.metadata != "" {
					p.set(metadata, c.metadata)
				}
				p.set(jwks, c.keys)
				var log bytes.Buffer
				v := p.verifier(t, func(o *Config) { o.Log = hclog.New(&hclog.LoggerOptions{Output: &log}) })
				_, err := v.Authenticate(t.Context(), long("ec"), "")
				if err == nil || why(t, err).Status != http.StatusServiceUnavailable {
					t.Errorf("got %v", err)
				}
				synctest.Wait()
				if !strings.Contains(log.String(), c.want) || log.Len() > 4096 {
					t.Errorf("the log has %d bytes: %.300s", log.Len(), log.String())
				}
			})
		})
	}
}

// TestMetadataIsDiscovered has the three addresses, in their order.
func TestMetadataIsDiscovered(t *testing.T) {
	for name, c := range map[string]struct{ issuer, at string }{
		"RFC 8414":                  {"https://a.example.com", "https://a.example.com/.well-known/oauth-authorization-server"},
		"RFC 8414 with a path":      {"https://a.example.com/x/y", "https://a.example.com/.well-known/oauth-authorization-server/x/y"},
		"RFC 8414 with a slash":     {"https://a.example.com/", "https://a.example.com/.well-known/oauth-authorization-server"},
		"OpenID Connect":            {"https://a.example.com", "https://a.example.com/.well-known/openid-configuration"},
		"OpenID Connect, inserted":  {"https://a.example.com/x", "https://a.example.com/.well-known/openid-configuration/x"},
		"OpenID Connect, appended":  {"https://a.example.com/x", "https://a.example.com/x/.well-known/openid-configuration"},
		"appended to a final slash": {"https://a.example.com/x/", "https://a.example.com/x/.well-known/openid-configuration"},
		"loopback":                  {"http://127.0.0.1:8080", "http://127.0.0.1:8080/.well-known/openid-configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProvider("ec")
				delete(p.pages, metadata)
				p.set(c.at, `{"issuer":"`+c.issuer+`","jwks_uri":"`+jwks+`"}`)
				v := p.verifier(t, func(o *Config) { o.Issuers = []string{c.issuer} })
				if _, err := v.Authenticate(t.Context(), sign("ec", usual(map[string]any{"iss": c.issuer})), ""); err != nil {
					t.Errorf("%v; requested: %q", err, p.requests)
				}
			})
		})
	}
}

// TestTokensOfOneIssuerAreNotThoseOfAnother checks that each issuer has its own keys and subjects.
func TestTokensOfOneIssuerAreNotThoseOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider("ec")
		const other = "https://other.example.com"
		p.set(other+"/.well-known/oauth-authorization-server", `{"issuer":"`+other+`","jwks_uri":"`+other+`/keys"}`)
		p.set(other+"/keys", oauthtest.Published("ed"))
		v := p.verifier(t, func(c *Config) { c.Issuers = append(c.Issuers, other) })
		ids := map[string]bool{}
		for _, c := range []struct {
			issuer, with string
			ok           bool
		}{{issuerName, "ec", true}, {other, "ed", true}, {issuerName, "ed", false}, {other, "ec", false}} {
			access, err := v.Authenticate(t.Context(), sign(c.with, usual(map[string]any{"iss": c.issuer})), "")
			if (err == nil) != c.ok {
				t.Errorf("%+v: %v", c, err)
			}
			if access != nil {
				ids[access.Principal.ID] = true
			}
		}
		if len(ids) != 2 {
			t.Errorf("the principals are %v", ids)
		}
	})
}

// FuzzReadMetadata checks that no metadata has a server request keys without TLS, or from itself.
func FuzzReadMetadata(f *testing.F) {
	f.Add([]byte(`{"issuer":"` + issuerName + `","jwks_uri":"` + jwks + `"}`))
	f.Add([]byte(`{"issuer":"` + issuerName + `","jwks_uri":"https://[::]:8443/keys"}`))
	f.Add([]byte(`{"issuer":"` + issuerName + `","jwks_uri":"https://LocalHost/keys"}`))
	base, err := url.Parse(issuerName)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		address, err := (&issuer{name: issuerName}).readMetadata(base, data)
		if err != nil {
			return
		}
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "https" || download.IsThisMachine(strings.ToLower(u.Hostname())) || u.User != nil || len(address) > maxAddress {
			t.Errorf("keys at %q: %v", address, err)
		}
	})
}

func FuzzReadKeys(f *testing.F) {
	f.Add([]byte(newProvider("ec", "rsa", "ed", "ec521").pages[jwks]))
	f.Add([]byte(`{"keys":[{"kty":"RSA","e":"AQAB","n":"AA"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, err := readKeys(data)
		if err == nil && len(keys) == 0 || len(keys) > maxKeys {
			t.Errorf("%d keys", len(keys))
		}
		for _, k := range keys {
			if !k.IsPublic() {
				t.Error(fmt.Sprint("a private key: ", k.KeyID))
			}
		}
	})
}
