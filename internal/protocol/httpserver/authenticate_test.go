package httpserver

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// accepting returns an Authenticator for one token.
func accepting(token string) ofTokens {
	t := bearer.NewTokens(gateway.TokenHolder)
	t.Set(token, nil)
	return ofTokens{t}
}

// ofTokens is an Authenticator.
type ofTokens struct{ *bearer.Tokens }

func (t ofTokens) Authenticate(_ context.Context, token, _ string) (*bearer.Access, error) {
	return t.Tokens.Authenticate(token)
}

// named makes named tokens: the two last ones have one name.
func named(t *testing.T, expires *time.Time) (file bearer.File, tokens []string, all []bearer.Named) {
	t.Helper()
	file = bearer.In(filepath.Join(t.TempDir(), "state"))
	for _, name := range []string{"ann", "bob", "bob"} {
		token, n, err := file.New(t.Context(), name, expires)
		if err != nil {
			t.Fatal(err)
		}
		tokens, all = append(tokens, token), append(all, n)
	}
	return file, tokens, all
}

func authorization(token string) []string { return []string{"Authorization", "Bearer " + token} }

// TestRequestHasPrincipalOfItsToken checks the principal of calls of both eras, and that sessions are those of one token: not of
// another one with the same name.
func TestRequestHasPrincipalOfItsToken(t *testing.T) {
	_, tokens, all := named(t, nil)
	accepted := bearer.NewTokens(gateway.TokenHolder)
	accepted.Set("0123456789abcdefghij", all)
	run(t, Config{Auth: ofTokens{accepted}}, func(t *testing.T, f *fixture) {
		body, headers := modernCall("echo", `{}`)
		for i, token := range append(tokens, "0123456789abcdefghij") {
			want := call.Principal{ID: "bearer"}
			if i < len(all) {
				want = call.Principal{ID: "token:" + all[i].ID, Name: all[i].Name}
			}
			f.post(body, append(headers, authorization(token)...)...).want(t, http.StatusOK, "result")
			id := f.open("2025-06-18", authorization(token)...)
			f.post(legacyCall(1, "echo"), append(authorization(token), headerSession, id)...).want(t, http.StatusOK, "result")
			for range 2 {
				if r := <-f.b.requests; r.Principal.ID != want.ID || r.Principal.Name != want.Name {
					t.Errorf("token %d: the principal is %+v, want %+v", i, r.Principal, want)
				}
			}
			for _, other := range tokens {
				if other != token {
					f.post(legacyCall(1, "echo"), append(authorization(other), headerSession, id)...).want(t, http.StatusNotFound, "there is no session")
				}
			}
		}
	})
}

// open are what a principal has open: a session with a stream and a call in flight, a stream of the modern era, and a call of it.
type open struct {
	session           string
	stream, listening *events
	legacy, modern    chan answered
}

func (f *fixture) openAll(token string) open {
	f.t.Helper()
	auth := authorization(token)
	o := open{session: f.open("2025-06-18", auth...), legacy: make(chan answered, 1), modern: make(chan answered, 1)}
	o.stream = f.stream(http.MethodGet, "", append(auth, headerSession, o.session)...)
	body, headers := modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true},`)
	o.listening = f.stream(http.MethodPost, body, append(headers, auth...)...)
	o.listening.want("", "notifications/subscriptions/acknowledged")
	go func() { o.legacy <- f.post(legacyCall(1, "hold"), append(auth, headerSession, o.session)...) }()
	body, headers = modernCall("hold", `{}`)
	go func() { o.modern <- f.post(body, append(headers, auth...)...) }()
	<-f.b.started
	<-f.b.started
	return o
}

// wantEnded checks that all ends without further requests.
func (f *fixture) wantEnded(o open) {
	f.t.Helper()
	<-f.b.cancelled
	<-f.b.cancelled
	<-o.legacy
	<-o.modern
	for name, e := range map[string]*events{"GET": o.stream, "subscriptions/listen": o.listening} {
		for data := "?"; data != ""; {
			if _, data = e.next(); strings.Contains(data, "notifications/message") {
				f.t.Errorf("the stream of %s got %s", name, data)
			}
		}
	}
	synctest.Wait()
	f.s.sessions.mu.Lock()
	defer f.s.sessions.mu.Unlock()
	if f.s.sessions.byID[o.session] != nil {
		f.t.Error("the session has not ended")
	}
}

// TestRevocationEndsWhatIsOpen revokes one of two tokens of one name: what the other one has open stays.
func TestRevocationEndsWhatIsOpen(t *testing.T) {
	_, tokens, all := named(t, nil)
	accepted := bearer.NewTokens(gateway.TokenHolder)
	run(t, Config{Auth: ofTokens{accepted}}, func(t *testing.T, f *fixture) {
		accepted.Set("", all)
		revoked := f.openAll(tokens[1])
		kept := f.open("2025-06-18", authorization(tokens[2])...)
		stream := f.stream(http.MethodGet, "", append(authorization(tokens[2]), headerSession, kept)...)
		accepted.Set("", []bearer.Named{all[0], all[2]})
		f.wantEnded(revoked)
		f.post(legacyCall(2, "echo"), append(authorization(tokens[1]), headerSession, revoked.session)...).want(t, http.StatusUnauthorized, "wrong")
		f.post(legacyCall(2, "echo"), append(authorization(tokens[2]), headerSession, kept)...).want(t, http.StatusOK, "result")
		f.g.Warn("bulkhead", "still here")
		stream.want("0-1", "still here")
	})
}

// TestExpiryEndsWhatIsOpen has a fake clock.
func TestExpiryEndsWhatIsOpen(t *testing.T) {
	_, tokens, all := named(t, nil)
	accepted := bearer.NewTokens(gateway.TokenHolder)
	var reported []Refusal
	run(t, Config{Auth: ofTokens{accepted}, Refused: func(r Refusal) { reported = append(reported, r) }}, func(t *testing.T, f *fixture) {
		expires := time.Now().Add(time.Hour)
		all[0].Expires = &expires
		accepted.Set("", all)
		expiring := f.openAll(tokens[0])
		time.Sleep(time.Hour - time.Second)
		f.post(legacyCall(2, "echo"), append(authorization(tokens[0]), headerSession, expiring.session)...).want(t, http.StatusOK, "result")
		f.wantEnded(expiring)
		got := f.post(legacyCall(2, "echo"), append(authorization(tokens[0]), headerSession, expiring.session)...)
		got.want(t, http.StatusUnauthorized, "the token has expired")
		if len(reported) != 1 || reported[0].Principal != "token:"+all[0].ID {
			t.Errorf("reported: %+v", reported)
		}
	})
}

// TestReplacedSingleTokenEndsWhatIsOpen checks that the holder of a new token does not take over what the holder of the former one had.
func TestReplacedSingleTokenEndsWhatIsOpen(t *testing.T) {
	const former, next = "0123456789abcdefghij", "abcdefghij0123456789"
	accepted := accepting(former)
	run(t, Config{Auth: accepted}, func(t *testing.T, f *fixture) {
		accepted.Set(former, nil)
		o := f.openAll(former)
		accepted.Set(next, nil)
		f.wantEnded(o)
		body, headers := modernCall("echo", `{}`)
		f.post(body, append(headers, authorization(former)...)...).want(t, http.StatusUnauthorized, "")
		f.post(body, append(headers, authorization(next)...)...).want(t, http.StatusOK, "")
		f.post(legacyCall(2, "echo"), append(authorization(next), headerSession, o.session)...).want(t, http.StatusNotFound, "")
	})
}
