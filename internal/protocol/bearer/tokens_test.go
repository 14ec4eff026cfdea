package bearer

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
)

var single = &call.Principal{ID: "single"}

func TestAuthenticate(t *testing.T) {
	f := newFile(t)
	first, a := make1(t, f, "ann")
	second, b := make1(t, f, "ann")
	other, _ := make1(t, f, "unknown")
	tokens := NewTokens(single)
	if access, err := tokens.Authenticate(first); access != nil || err != nil {
		t.Errorf("without tokens: %+v, %v", access, err)
	}
	tokens.Set("0123456789abcdefghij", []Named{a, b})
	for token, want := range map[string]string{
		first: "token:" + a.ID, second: "token:" + b.ID, "0123456789abcdefghij": "single",
		"": "", other: "", first + "x": "", first[:len(first)-1]: "", prefix + a.ID + "_": "", prefix + a.ID: "", a.ID: "", a.SHA256: "",
		prefix + a.ID + second[len(prefix)+idLength:]: "", strings.ToLower(first): "", strings.Repeat("x", 1<<16): "",
	} {
		access, err := tokens.Authenticate(token)
		got := ""
		if access != nil {
			got = access.Principal.ID
		}
		if got != want || err != nil {
			t.Errorf("%.80q: got %q, %v, want %q", token, got, err, want)
		}
	}
}

// TestSetEndsOnlyWhatIsNotAcceptedAnyMore checks that reading an unchanged file ends nothing.
func TestSetEndsOnlyWhatIsNotAcceptedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		later := now.Add(time.Hour)
		all := []Named{}
		var secrets []string
		for range 3 {
			token, n := newNamed("ann", now, &later)
			all, secrets = append(all, n), append(secrets, token)
		}
		tokens := NewTokens(single)
		set := func(want string, one string, named ...Named) {
			t.Helper()
			added, ended := tokens.Set(one, named)
			if got := strings.Repeat("+", added) + strings.Repeat("-", ended); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		access := func(token string) *Access {
			t.Helper()
			a, err := tokens.Authenticate(token)
			if a == nil || err != nil {
				t.Fatalf("%+v, %v", a, err)
			}
			return a
		}
		set("+++", "0123456789abcdefghij", all[:2]...)
		one, first, second := access("0123456789abcdefghij"), access(secrets[0]), access(secrets[1])
		set("", "0123456789abcdefghij", all[:2]...)
		if access("0123456789abcdefghij") != one || access(secrets[0]) != first {
			t.Error("the access has changed")
		}
		set("+-", "0123456789abcdefghij", all[1:]...)
		if first.Held.Err() == nil || second.Held.Err() != nil || one.Held.Err() != nil {
			t.Errorf("ended: %v, %v, %v", first.Held.Err(), second.Held.Err(), one.Held.Err())
		}
		set("-", "", all[1:]...)
		if one.Held.Err() == nil {
			t.Error("the single token has not ended")
		}
		renamed := all[1]
		renamed.Name = "bob"
		set("+-", "", renamed, all[2])
		if second.Held.Err() == nil {
			t.Error("a token whose record has changed has not ended")
		}
		third := access(secrets[2])
		time.Sleep(time.Hour)
		synctest.Wait()
		if a, err := tokens.Authenticate(secrets[2]); a != nil || !errors.As(err, new(*Refused)) || third.Held.Err() == nil {
			t.Errorf("after expiry: %+v, %v", a, err)
		}
		set("--", "") // ends the timers
	})
}

func TestTokenOfHeader(t *testing.T) {
	for _, c := range []struct {
		values []string
		token  string
		stated bool
	}{
		{nil, "", false}, {[]string{"Bearer a"}, "a", true}, {[]string{"bEARER   a b"}, "a b", true}, {[]string{"Basic a"}, "", true},
		{[]string{""}, "", true}, {[]string{"Bearer"}, "", true}, {[]string{"a"}, "", true}, {[]string{"Bearer a", "Bearer a"}, "", true},
	} {
		if token, stated := Token(http.Header{"Authorization": c.values}); token != c.token || stated != c.stated {
			t.Errorf("%q: got %q, %v", c.values, token, stated)
		}
	}
}

// BenchmarkAuthenticate measures what a token costs a request.
func BenchmarkAuthenticate(b *testing.B) {
	token, n := newNamed("ann", time.Now(), nil)
	tokens := NewTokens(single)
	tokens.Set("0123456789abcdefghij", []Named{n})
	b.ReportAllocs()
	for b.Loop() {
		if a, _ := tokens.Authenticate(token); a == nil {
			b.Fatal("refused")
		}
	}
}

// TestAuthenticateAllocatesOnce checks what a token costs a request: the bytes to digest.
func TestAuthenticateAllocatesOnce(t *testing.T) {
	token, n := newNamed("ann", time.Now(), nil)
	tokens := NewTokens(single)
	tokens.Set("", []Named{n})
	if got := testing.AllocsPerRun(100, func() { _, _ = tokens.Authenticate(token) }); got > 1 {
		t.Errorf("%v allocations", got)
	}
}
