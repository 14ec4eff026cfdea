package oauth

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/oauth/oauthtest"
)

// why returns the text of a refusal.
func why(t *testing.T, err error) *bearer.Refused {
	t.Helper()
	var r *bearer.Refused
	if !errors.As(err, &r) {
		t.Fatalf("got %v, want a refusal", err)
	}
	return r
}

func TestValidTokensAreAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newProvider("ec", "ec521", "ed", "rsa").verifier(t, func(c *Config) { c.Others = []string{"api://x"} })
		for name, claims := range map[string]map[string]any{
			"the usual claims":         nil,
			"several audiences":        {"aud": []string{"https://other.example.com", audience}},
			"another audience":         {"aud": "api://x"},
			"expired within the skew":  {"exp": time.Now().Add(-50 * time.Second).Unix()},
			"not valid until the skew": {"nbf": time.Now().Add(50 * time.Second).Unix(), "iat": time.Now().Add(50 * time.Second).Unix()},
			"without iat":              {"iat": nil},
			"a time with a fraction":   {"exp": float64(time.Now().Unix()) + 100.5},
			"groups":                   {"groups": []string{"a", "b"}},
		} {
			for with := range oauthtest.Keys() {
				access, err := v.Authenticate(t.Context(), sign(with, usual(claims)), "")
				if err != nil {
					t.Errorf("%s, signed with %s: %v", name, with, err)
					continue
				}
				p := access.Principal
				if p.ID != idOf(issuerName, "ann") || p.Issuer != issuerName || p.Subject != "ann" || p.Name != "" || access.Held != nil {
					t.Errorf("%s: the principal is %+v", name, p)
				}
				if got := strings.Join(p.Groups, " "); (got == "a b") != (name == "groups") || p.Claims["client_id"] != "c" {
					t.Errorf("%s: groups %q, claims %v", name, got, p.Claims)
				}
			}
		}
		access, err := v.Authenticate(t.Context(), sign("ec", usual(map[string]any{"exp": time.Now().Add(100 * time.Second).Unix()})), "")
		if err != nil || !access.Expires.Equal(time.Unix(time.Now().Add(160*time.Second).Unix(), 0)) {
			t.Errorf("expires: %+v, %v", access, err)
		}
	})
}

// TestBadTokensAreRefused has tokens of the right issuer that are wrong otherwise, and those that were not issued.
func TestBadTokensAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider("ec", "ec521", "ed", "rsa")
		v := p.verifier(t, func(c *Config) { c.Scopes = []string{"use"} })
		v.Prefetch()
		synctest.Wait()
		requested := p.count()
		keys := oauthtest.Keys()
		scoped := func(changed map[string]any) map[string]any {
			c := map[string]any{"scope": "use more"}
			for name, value := range changed {
				c[name] = value
			}
			return usual(c)
		}
		valid := sign("ec", scoped(nil))
		if _, err := v.Authenticate(t.Context(), valid, ""); err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(valid, ".")
		with := func(header map[string]any) string {
			h := map[string]any{"alg": "ES256", "kid": "ec", "typ": "at+jwt"}
			for name, value := range header {
				h[name] = value
			}
			return keys["ec"].SignHeader(h, scoped(nil))
		}
		// A key of an issuer as the secret of HMAC.
		public, err := x509.MarshalPKIXPublicKey(keys["rsa"].Private.Public())
		if err != nil {
			t.Fatal(err)
		}
		unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"at+jwt","kid":"rsa"}`)) + "." + parts[1]
		mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
		mac.Write([]byte(unsigned))
		none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"at+jwt"}`)) + "." + parts[1] + "."
		now := time.Now()
		for name, c := range map[string]struct{ token, want string }{
			"another audience":           {sign("ec", scoped(map[string]any{"aud": "https://other.example.com/mcp"})), "another audience"},
			"a prefix of the audience":   {sign("ec", scoped(map[string]any{"aud": "https://mcp.example.com"})), "another audience"},
			"an endpoint as audience":    {sign("ec", scoped(map[string]any{"aud": audience + "/team"})), "another audience"},
			"audience with a slash":      {sign("ec", scoped(map[string]any{"aud": audience + "/"})), "another audience"},
			"no audience":                {sign("ec", scoped(map[string]any{"aud": nil})), "no audience"},
			"an empty audience":          {sign("ec", scoped(map[string]any{"aud": []string{}})), "no audience"},
			"a number as audience":       {sign("ec", scoped(map[string]any{"aud": []any{audience, 1}})), "no audience"},
			"another issuer":             {sign("ec", scoped(map[string]any{"iss": "https://evil.example.com"})), "issuer"},
			"issuer with a slash":        {sign("ec", scoped(map[string]any{"iss": issuerName + "/"})), "issuer"},
			"no issuer":                  {sign("ec", scoped(map[string]any{"iss": nil})), "issuer"},
			"no subject":                 {sign("ec", scoped(map[string]any{"sub": nil})), "no subject"},
			"a number as subject":        {sign("ec", scoped(map[string]any{"sub": 7})), "claim sub"},
			"expired":                    {sign("ec", scoped(map[string]any{"exp": now.Add(-time.Minute).Unix()})), "expired"},
			"no expiry":                  {sign("ec", scoped(map[string]any{"exp": nil})), "no expiry"},
			"a string as expiry":         {sign("ec", scoped(map[string]any{"exp": "9999999999"})), "claim exp"},
			"a huge expiry":              {sign("ec", scoped(map[string]any{"exp": 1e300})), "claim exp"},
			"a negative expiry":          {sign("ec", scoped(map[string]any{"exp": -1})), "claim exp"},
			"not valid yet":              {sign("ec", scoped(map[string]any{"nbf": now.Add(2 * time.Minute).Unix()})), "not valid yet"},
			"issued in the future":       {sign("ec", scoped(map[string]any{"iat": now.Add(2 * time.Minute).Unix()})), "future"},
			"bound to a key":             {sign("ec", scoped(map[string]any{"cnf": map[string]any{"jkt": "x"}})), "bound to a key"},
			"no scope":                   {sign("ec", usual(nil)), "lacks a scope"},
			"no scope, for another":      {sign("ec", usual(map[string]any{"aud": "https://other.example.com"})), "for another audience"},
			"another scope":              {sign("ec", usual(map[string]any{"scope": "used user"})), "lacks a scope"},
			"none":                       {none, "algorithm"},
			"none in capitals":           {strings.Replace(none, "bm9uZ", "Tm9uZ", 1), ""},
			"no signature":               {parts[0] + "." + parts[1] + ".", "signature"},
			"two parts":                  {parts[0] + "." + parts[1], "nor a JWT"},
			"four parts":                 {valid + ".", "nor a JWT"},
			"HMAC with the public key":   {unsigned + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), "algorithm"},
			"a changed signature":        {parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2])), "signature"},
			"the signature of another":   {parts[0] + "." + parts[1] + "." + strings.Split(sign("ec", usual(nil)), ".")[2], "signature"},
			"changed claims":             {parts[0] + "." + strings.Split(sign("ec", usual(nil)), ".")[1] + "." + parts[2], "signature"},
			"an unknown key":             {with(map[string]any{"kid": "unknown"}), "no such key"},
			"no key ID":                  {keys["rsa"].SignHeader(map[string]any{"alg": "ES256", "typ": "at+jwt"}, scoped(nil)), "signature"},
			"the ID of another key":      {with(map[string]any{"kid": "rsa"}), "no such key"},
			"another algorithm":          {with(map[string]any{"alg": "ES512"}), "no such key"},
			"a number as key ID":         {with(map[string]any{"kid": 1}), "key ID"},
			"a key in the header":        {with(map[string]any{"jwk": keys["ec"].Public(), "kid": "unknown"}), "no such key"},
			"an address of keys":         {with(map[string]any{"jku": "https://evil.example.com/keys", "kid": "unknown"}), "no such key"},
			"a critical header":          {with(map[string]any{"crit": []string{"exp"}, "exp": 1}), "critical"},
			"an unencoded payload":       {with(map[string]any{"b64": false}), "critical"},
			"an ID token":                {with(map[string]any{"typ": "id+jwt"}), "its type"},
			"a logout token":             {with(map[string]any{"typ": "logout+jwt"}), "its type"},
			"a number as type":           {with(map[string]any{"typ": 1}), "its type"},
			"a nonce":                    {keys["ec"].SignHeader(`{"alg":"ES256","kid":"ec","typ":"JWT"}`, scoped(map[string]any{"nonce": "n"})), "claims of another one"},
			"a refresh token":            {keys["ec"].SignHeader(`{"alg":"ES256","kid":"ec"}`, scoped(map[string]any{"typ": "Refresh"})), "claims of another one"},
			"two subjects":               {keys["ec"].SignHeader(`{"alg":"ES256","kid":"ec"}`, `{"iss":"`+issuerName+`","sub":"a","sub":"b"}`), "unique members"},
			"two subjects, escaped":      {keys["ec"].SignHeader(`{"alg":"ES256","kid":"ec"}`, `{"iss":"`+issuerName+`","sub":"a","s\u0075b":"b"}`), "unique members"},
			"two roles below a claim":    {keys["ec"].SignHeader(`{"alg":"ES256","kid":"ec"}`, `{"iss":"`+issuerName+`","a":[{"r":1,"r":2}]}`), "unique members"},
			"two algorithms":             {keys["ec"].SignHeader(`{"alg":"ES256","alg":"none","kid":"ec"}`, scoped(nil)), "unique members"},
			"a subject that is no UTF-8": {keys["ec"].SignHeader(`{"alg":"ES256","kid":"ec"}`, `{"iss":"`+issuerName+`","sub":"`+"\xff"+`"}`), "in Unicode"},
			"half a character":           {keys["ec"].SignHeader(`{"alg":"ES256","kid":"ec"}`, `{"iss":"`+issuerName+`","sub":"\ud800"}`), "in Unicode"},
			"deep claims":                {keys["ec"].SignHeader(`{"alg":"ES256","kid":"ec"}`, `{"a":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`), "nests"},
			"many claims":                {keys["ec"].SignHeader(`{"alg":"ES256","kid":"ec"}`, `{"a":[`+strings.Repeat("1,", 4000)+`1]}`), "too many"},
			"claims that are no JSON":    {keys["ec"].SignHeader(`{"alg":"ES256","kid":"ec"}`, `{"iss":"`+issuerName+`"`), "JSON object"},
			"an array":                   {keys["ec"].SignHeader(`{"alg":"ES256","kid":"ec"}`, `[]`), "JSON object"},
			"a giant":                    {strings.Repeat("a", 1<<20), "too long"},
			"spaces":                     {" . . ", "encoded"},
			"padding":                    {parts[0] + "=." + parts[1] + "." + parts[2], "encoded"},
			"a line break":               {parts[0][:4] + "\n" + parts[0][4:] + "." + parts[1] + "." + parts[2], "encoded"},
			"JSON serialization":         {`{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`, "nor a JWT"},
			"nothing":                    {"", "nor a JWT"},
		} {
			access, err := v.Authenticate(t.Context(), c.token, "")
			if access != nil {
				t.Errorf("%s: accepted", name)
				continue
			}
			if v.verified.get(digestOf(c.token)) != nil {
				t.Errorf("%s: the token is in the cache, where it displaces others", name)
			}
			got := why(t, err)
			if !strings.Contains(got.Why, c.want) || len(c.token) > 20 && strings.Contains(got.Why, c.token[:20]) || (got.Status == http.StatusForbidden) != strings.Contains(c.want, "scope") {
				t.Errorf("%s: got %d %q, want %q", name, got.Status, got.Why, c.want)
			}
			if signed := got.Principal != nil; signed && got.Principal.Subject != "ann" || !signed && c.want == "expired" {
				t.Errorf("%s: the principal is %+v", name, got.Principal)
			}
		}
		if p.count() > requested+2 {
			t.Errorf("%d requests were made, want at most one more fetch", p.count()-requested)
		}
	})
}

// TestAudienceOfEndpoint checks that a token for one endpoint is for no other one, while a token for the server is for all.
func TestAudienceOfEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newProvider("ec").verifier(t, nil)
		for aud, want := range map[string]string{audience: "+++", audience + "/a": "-+-", audience + "/b": "--+", audience + "/a/": "---", audience + "/": "---"} {
			token, got := sign("ec", usual(map[string]any{"aud": aud})), ""
			for _, endpoint := range []string{"", "/a", "/b"} {
				if _, err := v.Authenticate(t.Context(), token, endpoint); err == nil {
					got += "+"
				} else {
					got += "-"
				}
			}
			if got != want {
				t.Errorf("%s: got %s, want %s", aud, got, want)
			}
		}
	})
}

func TestIdentitiesAreDistinct(t *testing.T) {
	ids := map[string]string{}
	for _, pair := range [][2]string{{"a", "bc"}, {"ab", "c"}, {"abc", ""}, {"1:a", "b"}, {"", "1:ab"}, {"a", "b:c"}, {"a:b", "c"}} {
		id := idOf(pair[0], pair[1])
		if other, ok := ids[id]; ok || len(id) > 64 {
			t.Errorf("%q and %s have the ID %s", pair, other, id)
		}
		ids[id] = fmt.Sprint(pair)
	}
}

// TestVerifiedTokenIsNotVerifiedAgain counts allocations; see BenchmarkAuthenticate.
func TestVerifiedTokenIsNotVerifiedAgain(t *testing.T) {
	v := newProvider("ec").verifier(t, nil)
	token := sign("ec", usual(nil))
	first, err := v.Authenticate(t.Context(), token, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := testing.AllocsPerRun(100, func() {
		if again, err := v.Authenticate(t.Context(), token, ""); again.Principal != first.Principal || err != nil {
			t.Fatal(err)
		}
	}); got > 1 {
		t.Errorf("%v allocations", got)
	}
}

// TestFetchedKeysThatAreTheSameKeepTokens checks that a client that causes the keys to be fetched does not have all tokens verified again.
func TestFetchedKeysThatAreTheSameKeepTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider("ec")
		v := p.verifier(t, nil)
		token := sign("ec", usual(nil))
		if _, err := v.Authenticate(t.Context(), token, ""); err != nil {
			t.Fatal(err)
		}
		known, requested := v.verified.get(digestOf(token)), p.count()
		time.Sleep(fetchPause)
		if _, err := v.Authenticate(t.Context(), sign("ed", usual(nil)), ""); err == nil || p.count() == requested {
			t.Fatalf("got %v after %d requests", err, p.count()-requested)
		}
		if !known.holds(time.Now()) {
			t.Error("a known token is verified again")
		}
	})
}

// TestCacheIsBounded also checks that a cached token expires.
func TestCacheIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newProvider("ec").verifier(t, nil)
		token := sign("ec", usual(nil))
		if _, err := v.Authenticate(t.Context(), token, ""); err != nil {
			t.Fatal(err)
		}
		known := v.verified.get(digestOf(token))
		for i := range 3 * maxCached {
			v.verified.put(digestOf(fmt.Sprint(i)), known)
			if i%100 == 0 && v.verified.get(digestOf(token)) == nil {
				t.Fatal("a token that is used was dropped")
			}
		}
		if n := len(v.verified.young) + len(v.verified.old); n > 2*maxCached {
			t.Errorf("%d tokens are cached", n)
		}
		time.Sleep(time.Hour + 2*time.Minute)
		if _, err := v.Authenticate(t.Context(), token, ""); err == nil || why(t, err).Why != "the token has expired" {
			t.Errorf("after expiry: %v", err)
		}
	})
}

// TestCacheOfLargeTokensIsBounded checks that tokens with many claims, which take far more memory decoded than encoded, displace each other
// before the cache has its number of tokens.
func TestCacheOfLargeTokensIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newProvider("ec").verifier(t, nil)
		token := sign("ec", usual(map[string]any{"many": slices.Repeat([]any{map[string]any{"a": 1}}, 900)}))
		if _, err := v.Authenticate(t.Context(), token, ""); err != nil {
			t.Fatal(err)
		}
		known := v.verified.get(digestOf(token))
		for i := range maxCached {
			v.verified.put(digestOf(fmt.Sprint(i)), known)
		}
		if n := len(v.verified.young) + len(v.verified.old); n*900*256 > 32<<20 { // each of the objects takes more than 256 bytes
			t.Errorf("%d tokens are cached", n)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(sign("ec", usual(nil)))
	f.Add("e30.e30.")
	f.Fuzz(func(t *testing.T, text string) {
		if parsed, err := parse(text); err == nil {
			_, _ = parsed.check(time.Now(), nil)
			parsed.isSignedBy(nil)
		}
	})
}

// BenchmarkAuthenticate measures what a token costs a request: one that is known, and one that must be verified.
func BenchmarkAuthenticate(b *testing.B) {
	for _, with := range []string{"ec", "rsa", "ed"} {
		v := newProvider("ec", "rsa", "ed").verifier(b, nil)
		token := sign(with, usual(nil))
		if _, err := v.Authenticate(b.Context(), token, ""); err != nil {
			b.Fatal(err)
		}
		b.Run(with+"/known", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = v.Authenticate(b.Context(), token, "")
			}
		})
		b.Run(with+"/verified", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.verify(b.Context(), token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
