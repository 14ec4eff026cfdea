package ui

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestLinkIsExchangedForAStrictCookie(t *testing.T) {
	r := start(t)
	answer, _ := r.request(http.MethodGet, linkPath+r.session.link, nil)
	if got, want := answer.Header.Get("Set-Cookie"), cookieName+"="+r.session.cookie+"; Path="+r.session.base+"/; HttpOnly; SameSite=Strict"; got != want {
		t.Errorf("the cookie is %q, want %q", got, want)
	}
	if r.session.link == r.session.cookie || len(r.session.link) < 40 {
		t.Errorf("the link is %q", r.session.link)
	}
}

func TestLinkUsedTwiceIsRefused(t *testing.T) {
	r := start(t)
	cookie := r.open()
	answer, body := r.request(http.MethodGet, linkPath+r.session.link, nil)
	if answer.StatusCode != http.StatusForbidden || len(answer.Cookies()) > 0 || !strings.Contains(body, "was used already") {
		t.Errorf("got %s with cookies %v: %s", answer.Status, answer.Cookies(), body)
	}
	if answer, body := r.request(http.MethodGet, "/hello", cookie); answer.StatusCode != http.StatusOK {
		t.Errorf("the session of the first browser is answered with %s: %s", answer.Status, body)
	}
}

// TestLinkIsExchangedOnceByConcurrentRequests detects a race between the check of the link and its use.
func TestLinkIsExchangedOnceByConcurrentRequests(t *testing.T) {
	s := newSession(time.Now())
	var accepted, group = make(chan int, 50), sync.WaitGroup{}
	for range cap(accepted) {
		group.Go(func() { accepted <- s.exchange(s.link, time.Now()) })
	}
	group.Wait()
	count := 0
	for range cap(accepted) {
		if <-accepted == linkAccepted {
			count++
		}
	}
	if count != 1 {
		t.Errorf("%d requests got the cookie, want 1", count)
	}
}

func TestLinkIsNotUsedInAdvance(t *testing.T) {
	r := start(t)
	r.request(http.MethodHead, linkPath+r.session.link, nil)
	r.request(http.MethodGet, linkPath+r.session.link, func(q *http.Request) { q.Header.Set("Sec-Purpose", "prefetch;prerender") })
	r.open()
}

func TestExpiredLinkIsRefused(t *testing.T) {
	s := newSession(time.Now())
	if got := s.exchange(s.link, time.Now().Add(linkTime)); got != linkExpired {
		t.Errorf("got %d, want %d", got, linkExpired)
	}
}

// TestCookieIsSentToItsSessionOnly has a browser with the pages of two sessions. It sends cookies to all ports of a host.
func TestCookieIsSentToItsSessionOnly(t *testing.T) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	first, second := start(t), start(t)
	for _, r := range []*running{first, second} {
		answer, _ := r.request(http.MethodGet, linkPath+r.session.link, nil)
		jar.SetCookies(answer.Request.URL, answer.Cookies())
	}
	sent := func(address string) []*http.Cookie {
		at, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return jar.Cookies(at)
	}
	for _, r := range []*running{first, second} {
		answer, body := r.request(http.MethodGet, "/hello", func(q *http.Request) {
			for _, c := range sent(q.URL.String()) {
				q.AddCookie(c)
			}
		})
		if answer.StatusCode != http.StatusOK {
			t.Errorf("a session is answered with %s: %s", answer.Status, body)
		}
	}
	for _, path := range []string{"/", "/hello", "/link/x"} {
		if got := sent("http://127.0.0.1:1" + path); len(got) > 0 {
			t.Errorf("a server at another port gets %d cookies for %s", len(got), path)
		}
	}
}

// TestPathOfSessionIsNotTold requests paths of other sessions, also with the cookie.
func TestPathOfSessionIsNotTold(t *testing.T) {
	r := start(t)
	cookie := r.open()
	base := r.session.base
	for _, path := range []string{"/", "/hello", "/assets/style.css", "/link/x", "/link/" + r.session.link, base, base + "x/hello", "//" + base[1:] + "/hello", "/x" + base + "/hello"} {
		answer, body := r.send(http.MethodGet, "http://"+r.authority+path, cookie)
		if answer.StatusCode != http.StatusForbidden || strings.Contains(body, base) || answer.Header.Get("Location") != "" {
			t.Errorf("%s is answered with %s, %v: %s", path, answer.Status, answer.Header, body)
		}
	}
}
