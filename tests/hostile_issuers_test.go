//go:build unix

package tests

import (
	"compress/gzip"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/oauth/oauthtest"
)

// drip sends a byte at a time, until the client ends the request.
func drip(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		_, _ = w.Write([]byte(" "))
		_ = http.NewResponseController(w).Flush()
		time.Sleep(50 * time.Millisecond)
	}
}

// flood sends as much as the client takes.
func flood(w http.ResponseWriter, r *http.Request) {
	for chunk := []byte(strings.Repeat(" ", 64<<10)); r.Context().Err() == nil; {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// hang does not answer.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// floodHeader sends a header without end.
func floodHeader(w http.ResponseWriter, r *http.Request) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	_, err = buffered.WriteString("HTTP/1.1 200 OK\r\n")
	for i := 0; err == nil; i++ {
		_, err = fmt.Fprintf(buffered, "X-%d: %s\r\n", i, strings.Repeat("x", 1000))
	}
}

func compressed(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write([]byte(text))
		_ = z.Close()
	}
}

// hostileIssuers adds issuers whose tokens cannot be verified, with the reason in the log. The token of each one has the key ec.
func hostileIssuers(t *testing.T, all *issuers) (reasons map[string]string) {
	t.Helper()
	keys := oauthtest.Published("ec")
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	redirect := func(to string) http.HandlerFunc { return http.RedirectHandler(to, http.StatusFound).ServeHTTP }
	metadata := func(name, issuer, keys string) {
		all.set(metadataPath(name), page(fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, issuer, keys)))
	}
	reasons = map[string]string{}
	for name, c := range map[string]struct {
		keys   http.HandlerFunc
		reason string
	}{
		"slow-keys":       {drip, "not answered within 10s"},
		"silent-keys":     {hang, "not answered within 10s"},
		"endless-keys":    {flood, "more than 262144 bytes"},
		"endless-header":  {floodHeader, "header"},
		"giant-keys":      {page(strings.Repeat(" ", 300<<10) + keys), "more than 262144 bytes"},
		"many-keys":       {page(oauthtest.Set(slices.Repeat([]jose.JSONWebKey{oauthtest.Keys()["ec"].Public()}, 65)...)), "too many keys"},
		"html-keys":       {page("<html>"), "not a set of keys"},
		"short-key":       {page(oauthtest.Set(jose.JSONWebKey{Key: &short.PublicKey, KeyID: "ec"})), "no key that can verify"},
		"private-key":     {page(oauthtest.Set(jose.JSONWebKey{Key: oauthtest.Keys()["ec"].Private, KeyID: "ec"})), "no key that can verify"},
		"symmetric-key":   {page(`{"keys":[{"kty":"oct","kid":"ec","k":"AAAA"}]}`), "no key that can verify"},
		"compressed-keys": {compressed(keys), "compressed"},
		"failing-keys":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "status 500"},
		"keys-elsewhere":  {redirect("http://192.0.2.1/keys"), "without TLS"},
		"keys-in-circles": {redirect("keys"), "redirects more than 5 times"},
	} {
		all.add(name, "")
		all.set("/"+name+"/keys", c.keys)
		reasons[name] = c.reason
	}
	for name, metadata := range map[string]struct {
		page   http.HandlerFunc
		reason string
	}{
		"slow-metadata":   {drip, "not answered within 10s"},
		"html-metadata":   {page("<html>"), "not metadata"},
		"giant-metadata":  {page(strings.Repeat(" ", 300<<10)), "more than 262144 bytes"},
		"another-issuer":  {page(fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, all.base+"/good", all.base+"/good/keys")), "another issuer"},
		"without-keys":    {page(fmt.Sprintf(`{"issuer":%q}`, all.base+"/without-keys")), "no address of keys"},
		"moved-metadata":  {redirect("http://192.0.2.1/"), "without TLS"},
		"nested-metadata": {page(strings.Repeat("[", 1000)), "nested more than 16 deep"},
	} {
		all.set(metadataPath(name), metadata.page)
		reasons[name] = metadata.reason
	}
	metadata("private-address", all.base+"/private-address", "http://10.0.0.1/keys")
	metadata("file", all.base+"/file", "file:///etc/passwd")
	metadata("link-local", all.base+"/link-local", "http://169.254.169.254/latest")
	for _, name := range []string{"private-address", "file", "link-local"} {
		reasons[name] = "jwks_uri"
	}
	return reasons
}

// TestHostileIssuers has issuers that are down, slow or lie, all at once. Their tokens get status 503, each is logged with what is wrong, and the
// tokens of another issuer are served meanwhile.
func TestHostileIssuers(t *testing.T) {
	t.Parallel()
	all := startIssuers(t)
	good := all.add("good", oauthtest.Set(oauthtest.Keys()["ec"].Public(), jose.JSONWebKey{Key: oauthtest.Keys()["ec521"].Private.Public(), KeyID: "ec"}))
	typed := all.add("text", oauthtest.Published("ec"))
	all.set("/text/keys", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(oauthtest.Published("ec"))) })
	reasons := hostileIssuers(t, all)
	accepted := []string{good, typed}
	for name := range reasons {
		accepted = append(accepted, all.base+"/"+name)
	}
	untrusted := httptest.NewUnstartedServer(all)
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	closed := httptest.NewServer(all)
	closed.Close()
	accepted = append(accepted, untrusted.URL+"/good", closed.URL+"/good")
	reasons[untrusted.URL+"/good"], reasons[closed.URL+"/good"] = "certificate", "refused"
	s := serveResource(t, "", accepted...)
	token := func(issuer string) string {
		return oauthtest.Keys()["ec"].Sign(oauthtest.Claims(issuer, resourceAudience, map[string]any{"scope": "mcp:use"}))
	}
	var ended sync.WaitGroup
	var tokens []string
	for name := range reasons {
		issuer := name
		if !strings.Contains(name, "://") {
			issuer = all.base + "/" + name
		}
		bad := token(issuer)
		tokens = append(tokens, bad)
		ended.Go(func() {
			response, body := s.call(bad, "")
			if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" || response.Header.Get("WWW-Authenticate") != "" || !strings.Contains(body, "not available") {
				t.Errorf("%s: got %d %v %s", name, response.StatusCode, response.Header, body)
			}
		})
	}
	for range 50 {
		s.want(token(good), http.StatusOK)
		s.want(token(typed), http.StatusOK)
	}
	ended.Wait()
	for name, reason := range reasons {
		logged := func() bool {
			return slices.ContainsFunc(strings.Split(s.log.String(), "keys of an issuer cannot be fetched"), func(entry string) bool {
				about, _, _ := strings.Cut(entry, "Z [") // the time of the next entry
				return strings.Contains(about, name) && strings.Contains(about, reason)
			})
		}
		for end := time.Now().Add(patience); !logged(); time.Sleep(20 * time.Millisecond) { // the log arrives through a pipe
			if time.Now().After(end) {
				t.Fatalf("the log does not say of %s: %s\n%s", name, reason, s.log)
			}
		}
	}
	records := s.refusals(20)
	if len(records) < 20 { // there are more refusals, whose records are bounded
		t.Errorf("the audit log has %d records", len(records))
	}
	for _, r := range records {
		if r.Principal != "" || r.Address != "127.0.0.1" || r.Code != "http_token" || !strings.Contains(r.Reason, "not available") {
			t.Errorf("the record is %+v", r)
		}
	}
	for _, bad := range tokens {
		s.wantNoPartOf(bad)
	}
}

// TestKeysOfIssuerAreRotated checks that a new key is accepted without a restart, by few requests to the issuer whatever number of clients use
// it, and that tokens of a removed key are refused once the keys were fetched again.
func TestKeysOfIssuerAreRotated(t *testing.T) {
	t.Parallel()
	all := startIssuers(t)
	issuer := all.add("team", oauthtest.Published("ec"))
	s := serveResource(t, "", issuer)
	token := func(with, subject string) string {
		return oauthtest.Keys()[with].Sign(oauthtest.Claims(issuer, resourceAudience, map[string]any{"scope": "mcp:use", "sub": subject}))
	}
	former := token("ec", "ann")
	s.want(former, http.StatusOK)
	all.add("team", oauthtest.Published("rsa"))
	before := all.count("team")
	var ended sync.WaitGroup
	for client := range 50 {
		ended.Go(func() {
			for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				if response, _ := s.call(token("rsa", fmt.Sprint(client)), ""); response.StatusCode == http.StatusOK {
					return
				}
			}
			t.Errorf("client %d: the new key is not accepted", client)
		})
	}
	ended.Wait()
	s.want(former, http.StatusUnauthorized)
	if got := all.count("team") - before; got > 2 {
		t.Errorf("the keys were requested %d times", got)
	}
}

// TestRevokedTokenBesideIssuers revokes a named token of a server that accepts access tokens too.
func TestRevokedTokenBesideIssuers(t *testing.T) {
	t.Parallel()
	all := startIssuers(t)
	s := serveResource(t, "", all.add("team", oauthtest.Published("ec")))
	run := func(args ...string) string {
		t.Helper()
		cmd := programCommand(t, append([]string{"token"}, args...)...)
		cmd.Env = s.env
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("token %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	status := func(token string, want int) {
		t.Helper()
		for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			response, body := s.call(token, "")
			if response.StatusCode == want {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("got %d %s, want %d", response.StatusCode, body, want)
			}
		}
	}
	token := run("new", "ann")
	status(token, http.StatusOK)
	run("revoke", "ann")
	status(token, http.StatusUnauthorized)
	if got := s.refusals(1); len(got) == 0 || got[0].Code != "http_token" || got[0].Address != "127.0.0.1" {
		t.Errorf("the records are %+v", got)
	}
	s.wantNoPartOf(token)
}
