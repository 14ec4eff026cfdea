//go:build unix

package tests

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/oauth/oauthtest"
)

// A badToken is refused: with its reason, and naming its principal if its issuer did issue it.
type badToken struct {
	token, reason string
	issued        bool
	status        int // 0: unauthorized
}

// badTokens returns tokens of an issuer that publishes the keys ec and rsa, and tokens that name it. Of each group, the audit log has a
// record for each one.
func badTokens(issuer, other string) map[string]map[string]badToken {
	keys, now := oauthtest.Keys(), time.Now()
	claims := func(changed map[string]any) map[string]any {
		all := map[string]any{"scope": "mcp:use"}
		maps.Copy(all, changed)
		return oauthtest.Claims(issuer, resourceAudience, all)
	}
	signed := func(changed map[string]any) string { return keys["ec"].Sign(claims(changed)) }
	with := func(changed map[string]any) string {
		header := map[string]any{"alg": "ES256", "kid": "ec", "typ": "at+jwt"}
		maps.Copy(header, changed)
		return keys["ec"].SignHeader(header, claims(nil))
	}
	typed := func(kind string, changed map[string]any) string {
		return keys["ec"].SignHeader(map[string]any{"alg": "ES256", "kid": "ec", "typ": kind}, claims(changed))
	}
	valid := signed(nil)
	parts := strings.Split(valid, ".")
	public, err := x509.MarshalPKIXPublicKey(keys["rsa"].Private.Public())
	if err != nil {
		panic(err)
	}
	keyed := oauthtest.Encode(`{"alg":"HS256","typ":"at+jwt","kid":"rsa"}`) + "." + parts[1]
	mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	mac.Write([]byte(keyed))
	text := fmt.Sprintf
	return map[string]map[string]badToken{
		"claims": {
			"another audience":      {token: signed(map[string]any{"aud": "https://other.example.com/mcp"}), reason: "another audience", issued: true},
			"a prefix as audience":  {token: signed(map[string]any{"aud": "https://mcp.example.com"}), reason: "another audience", issued: true},
			"other audiences":       {token: signed(map[string]any{"aud": []string{"a", "b"}}), reason: "another audience", issued: true},
			"an endpoint below":     {token: signed(map[string]any{"aud": resourceAudience + "/team"}), reason: "another audience", issued: true},
			"audience of objects":   {token: signed(map[string]any{"aud": []any{map[string]any{"a": resourceAudience}}}), reason: "no audience", issued: true},
			"no audience":           {token: signed(map[string]any{"aud": nil}), reason: "no audience", issued: true},
			"another issuer":        {token: signed(map[string]any{"iss": "https://login.example.com"}), reason: "issuer of the token is not accepted"},
			"key of another issuer": {token: signed(map[string]any{"iss": other}), reason: "no such key"},
			"expired":               {token: signed(map[string]any{"exp": now.Add(-2 * time.Minute).Unix()}), reason: "has expired", issued: true},
			"not yet valid":         {token: signed(map[string]any{"nbf": now.Add(time.Hour).Unix()}), reason: "not valid yet", issued: true},
			"issued in the future":  {token: signed(map[string]any{"iat": now.Add(time.Hour).Unix()}), reason: "future", issued: true},
			"without expiry":        {token: signed(map[string]any{"exp": nil}), reason: "no expiry", issued: true},
			"without subject":       {token: signed(map[string]any{"sub": nil}), reason: "no subject"},
			"without a scope":       {token: signed(map[string]any{"scope": "mcp:read"}), reason: "lacks a scope", issued: true, status: http.StatusForbidden},
			"bound to a key":        {token: signed(map[string]any{"cnf": map[string]any{"jkt": "x"}}), reason: "bound to a key", issued: true},
			"two subjects":          {token: keys["ec"].Sign(text(`{"iss":%q,"sub":"ann","sub":"bob","aud":%q,"exp":9999999999}`, issuer, resourceAudience)), reason: "unique members"},
			"two audiences":         {token: keys["ec"].Sign(text(`{"iss":%q,"sub":"ann","aud":"other","aud":%q,"exp":9999999999}`, issuer, resourceAudience)), reason: "unique members"},
			"two subjects, escaped": {token: keys["ec"].Sign(text(`{"iss":%q,"sub":"ann","s\u0075b":"bob","aud":%q,"exp":9999999999}`, issuer, resourceAudience)), reason: "unique members"},
			"expired, for another":  {token: signed(map[string]any{"exp": 1, "aud": "https://other.example.com/mcp"}), reason: "has expired", issued: true},
			"no scope, for another": {token: signed(map[string]any{"scope": "", "aud": "https://other.example.com/mcp"}), reason: "another audience", issued: true},
		},
		"signature": {
			"unsigned":                 {token: parts[0] + "." + parts[1] + ".", reason: "signature of the token is wrong"},
			"none":                     {token: oauthtest.Encode(`{"alg":"none","typ":"at+jwt"}`) + "." + parts[1] + ".", reason: "algorithm"},
			"none, with a signature":   {token: oauthtest.Encode(`{"alg":"none","typ":"at+jwt"}`) + "." + parts[1] + "." + parts[2], reason: "algorithm"},
			"HMAC with the public key": {token: keyed + "." + oauthtest.Encode(string(mac.Sum(nil))), reason: "algorithm"},
			"changed claims":           {token: parts[0] + "." + oauthtest.Encode(claims(map[string]any{"sub": "root"})) + "." + parts[2], reason: "signature of the token is wrong"},
			"a changed signature":      {token: parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2])), reason: "signature of the token is wrong"},
			"unknown kid":              {token: with(map[string]any{"kid": "unknown"}), reason: "no such key"},
			"kid of another key":       {token: with(map[string]any{"kid": "rsa"}), reason: "no such key"},
			"kid that is no string":    {token: with(map[string]any{"kid": 1}), reason: "key ID"},
			"another algorithm":        {token: with(map[string]any{"alg": "RS256", "kid": "rsa"}), reason: "signature of the token is wrong"},
			"jwk":                      {token: keys["ed"].SignHeader(map[string]any{"alg": "EdDSA", "typ": "at+jwt", "kid": "ed", "jwk": keys["ed"].Public()}, claims(nil)), reason: "no such key"},
			"jku":                      {token: keys["ed"].SignHeader(map[string]any{"alg": "EdDSA", "typ": "at+jwt", "kid": "ed", "jku": other + "/keys"}, claims(nil)), reason: "no such key"},
			"x5u":                      {token: keys["ed"].SignHeader(map[string]any{"alg": "EdDSA", "typ": "at+jwt", "kid": "ed", "x5u": other + "/keys"}, claims(nil)), reason: "no such key"},
			"crit":                     {token: with(map[string]any{"crit": []string{"exp"}, "exp": 1}), reason: "critical headers"},
			"an unencoded payload":     {token: with(map[string]any{"b64": false}), reason: "critical headers"},
			"two algorithms":           {token: keys["ec"].SignHeader(`{"alg":"none","alg":"ES256","kid":"ec"}`, claims(nil)), reason: "unique members"},
		},
		"kind": {
			"an ID token":            {token: typed("JWT", map[string]any{"nonce": "n"}), reason: "not an access token", issued: true},
			"hash of an ID token":    {token: typed("JWT", map[string]any{"at_hash": "h"}), reason: "not an access token", issued: true},
			"a refresh token":        {token: typed("JWT", map[string]any{"typ": "Refresh"}), reason: "not an access token", issued: true},
			"a logout token":         {token: typed("JWT", map[string]any{"events": map[string]any{}}), reason: "not an access token", issued: true},
			"typ of a logout token":  {token: typed("logout+jwt", nil), reason: "not an access token"},
			"typ of a proof":         {token: typed("dpop+jwt", nil), reason: "not an access token"},
			"nested":                 {token: keys["ec"].SignHeader(`{"alg":"ES256","kid":"ec","cty":"JWT"}`, valid), reason: "not a JSON object"},
			"JWE":                    {token: oauthtest.Encode(`{"alg":"RSA-OAEP","enc":"A256GCM"}`) + ".AAAA.AAAA.AAAA.AAAA", reason: "nor a JWT"},
			"JSON serialization":     {token: text(`{"payload":%q,"protected":%q,"signature":%q}`, parts[1], parts[0], parts[2]), reason: "nor a JWT"},
			"opaque":                 {token: "2YotnFZFEjr1zCsicMWpAA", reason: "nor a JWT"},
			"claims that are a list": {token: keys["ec"].Sign(`["a"]`), reason: "not a JSON object"},
			"many claims":            {token: keys["ec"].Sign(`{"a":[` + strings.Repeat("1,", 4000) + `1]}`), reason: "too many values"},
			"deep claims":            {token: keys["ec"].Sign(`{"a":` + strings.Repeat("[", 4000) + strings.Repeat("]", 4000) + `}`), reason: "too deeply"},
			"a giant":                {token: signed(map[string]any{"a": strings.Repeat("a", 20<<10)}), reason: "too long"},
			"a named token unknown":  {token: "bulkhead_aaaaaaaaaaaaaaaa_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", reason: "nor a JWT"},
		},
	}
}

// TestBadAccessTokens has tokens that the built program refuses, each with its status, a challenge and one record, while it goes on
// serving a valid one.
func TestBadAccessTokens(t *testing.T) {
	t.Parallel()
	all := startIssuers(t)
	issuer, other := all.add("team", oauthtest.Published("ec", "rsa")), all.add("other", oauthtest.Published("ed"))
	for group, bad := range badTokens(issuer, other) {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			s := serveResource(t, "", issuer, other)
			valid := oauthtest.Keys()["ec"].Sign(oauthtest.Claims(issuer, resourceAudience, map[string]any{"scope": "mcp:use", "aud": []string{"x", resourceAudience}}))
			s.want(valid, http.StatusOK)
			principal := ""
			names := slices.Sorted(maps.Keys(bad))
			for i, name := range names {
				c := bad[name]
				response, body := s.call(c.token, "")
				challenge, status, code := response.Header.Get("WWW-Authenticate"), c.status, "http_token"
				want := `error="invalid_token"`
				if status == 0 {
					status = http.StatusUnauthorized
				} else {
					code, want = "http_scope", `error="insufficient_scope"`
				}
				if response.StatusCode != status || !strings.Contains(challenge, want) || !strings.Contains(body, c.reason) ||
					!strings.Contains(challenge, `resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp", scope="mcp:use"`) {
					t.Errorf("%s: got %d %s %s", name, response.StatusCode, challenge, body)
				}
				records := s.refusals(i + 1)
				if len(records) != i+1 {
					t.Fatalf("%s: the audit log has %d records, want %d", name, len(records), i+1)
				}
				got := records[i]
				if c.issued && principal == "" {
					principal = got.Principal
				}
				if got.Address != "127.0.0.1" || got.Method != http.MethodPost || got.Outcome != "denied" || got.Code != code || !strings.Contains(got.Reason, c.reason) ||
					c.issued && (got.Principal != principal || !strings.HasPrefix(principal, "oauth:")) || !c.issued && got.Principal != "" {
					t.Errorf("%s: the record is %+v", name, got)
				}
				s.want(valid, http.StatusOK)
			}
			for _, name := range names {
				s.wantNoPartOf(bad[name].token)
			}
			s.wantNoPartOf(valid)
		})
	}
}

// TestRequestWithoutToken checks what a client learns that has no token, at the endpoint of a project, too, and that a header beyond the
// bound is refused before it is a token.
func TestRequestWithoutToken(t *testing.T) {
	t.Parallel()
	all := startIssuers(t)
	issuer := all.add("team", oauthtest.Published("ec"))
	s := serveResource(t, fmt.Sprintf("[[projects]]\nname = \"team\"\npath = %q\n", newDir(t, nil)), issuer)
	token := oauthtest.Keys()["ec"].Sign(oauthtest.Claims(issuer, resourceAudience+"/team", map[string]any{"scope": "mcp:use"}))
	for path, endpoint := range map[string]string{"": "", "/team": "/team", "/unknown": "/unknown"} {
		response, body := s.call("", path)
		at := "/.well-known/oauth-protected-resource/mcp" + endpoint
		if want := `Bearer realm="bulkhead", resource_metadata="https://mcp.example.com` + at + `", scope="mcp:use"`; response.StatusCode != http.StatusUnauthorized || response.Header.Get("WWW-Authenticate") != want {
			t.Errorf("%s: got %d %s %s, want %s", path, response.StatusCode, response.Header.Get("WWW-Authenticate"), body, want)
		}
		metadata, err := http.Get(strings.TrimSuffix(s.url, "/mcp") + at)
		if err != nil {
			t.Fatal(err)
		}
		text := readAll(t, metadata)
		if metadata.StatusCode != http.StatusOK || !strings.Contains(text, fmt.Sprintf(`"resource":%q,"authorization_servers":[%q]`, resourceAudience+endpoint, issuer)) {
			t.Errorf("%s: the metadata is %d %s", at, metadata.StatusCode, text)
		}
		status := map[string]int{"": http.StatusUnauthorized, "/team": http.StatusOK, "/unknown": http.StatusUnauthorized}[path]
		if response, body := s.call(token, path); response.StatusCode != status {
			t.Errorf("%q with a token for /team: got %d %s, want %d", path, response.StatusCode, body, status)
		}
	}
	if response, _ := s.call(strings.Repeat("a", 1<<20), ""); response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a token of 1 MiB: %d", response.StatusCode)
	}
}

func readAll(t *testing.T, r *http.Response) string {
	t.Helper()
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

// TestAccessTokenReachesNoOrigin has a plugin request a page for a user with an access token: no part of it leaves the server.
func TestAccessTokenReachesNoOrigin(t *testing.T) {
	t.Parallel()
	all := startIssuers(t)
	issuer := all.add("team", oauthtest.Published("ec"))
	requests := make(chan string, 16)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dump, err := httputil.DumpRequest(r, true)
		if err != nil {
			t.Error(err)
		}
		requests <- string(dump)
		_, _ = io.WriteString(w, "User-agent: *\n") // the plugin has ended the request if it is not written
	}))
	t.Cleanup(site.Close)
	s := serveResource(t, fmt.Sprintf("[[plugins]]\npath = %q\nhttp = [{ origin = %q, private = true }]\n", filepath.Join(built.plugins(t), "fetch"), site.URL), issuer)
	token := oauthtest.Keys()["ec"].Sign(oauthtest.Claims(issuer, resourceAudience, map[string]any{"scope": "mcp:use"}))
	status, body := modernCall(t, s.url, "fetch", fmt.Sprintf(`{"url":%q,"raw":true}`, site.URL+"/page"), "Authorization", "Bearer "+token)
	if status != http.StatusOK || !strings.Contains(body, "User-agent") {
		t.Fatalf("got %d %s", status, body)
	}
	close(requests)
	seen := 0
	for dump := range requests {
		seen++
		for part := range strings.SplitSeq(token, ".") {
			if strings.Contains(dump, part[:12]) {
				t.Errorf("the site got a part of the token:\n%s", dump)
			}
		}
		if strings.Contains(dump, "Authorization") {
			t.Errorf("the site got credentials:\n%s", dump)
		}
	}
	if seen == 0 {
		t.Error("the site got no request")
	}
	s.wantNoPartOf(token)
}
