package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	cookieName = "bulkhead-ui"
	linkPath   = "/link/"         // outside of the path of the pages, which only the redirect has
	linkTime   = 5 * time.Minute  // in which the link can be opened
	idleTime   = 30 * time.Minute // without a request, after which the session ends
)

// session is the only session of a server. Its link can be exchanged once for its cookie. Browsers send a cookie to all ports of a host: the
// cookie is for a random path, so that neither a server of another user gets it nor two servers of this user replace the cookies of each other.
type session struct {
	link, cookie string
	base         string // path of the pages, with a slash at its begin only

	mu     sync.Mutex
	opened bool      // whether the link was exchanged
	until  time.Time // when the link expires or, once it was exchanged, the session
	inUse  int       // streams that are open, during which the session does not expire
}

func newSession(now time.Time) *session {
	return &session{link: rand.Text() + rand.Text(), cookie: rand.Text() + rand.Text(), base: "/" + rand.Text(), until: now.Add(linkTime)}
}

// The results of exchange.
const (
	linkAccepted = iota
	linkUnknown
	linkUsed
	linkExpired
)

// exchange accepts the token of the link once.
func (s *session) exchange(token string, now time.Time) int {
	if !equal(token, s.link) {
		return linkUnknown
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.opened:
		return linkUsed
	case !now.Before(s.until):
		return linkExpired
	}
	s.opened, s.until = true, now.Add(idleTime)
	return linkAccepted
}

// admits reports whether a request has the cookie of the session, which it prolongs.
func (s *session) admits(r *http.Request, now time.Time) bool {
	sent := r.CookiesNamed(cookieName)
	if len(sent) != 1 || !equal(sent[0].Value, s.cookie) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.opened || s.inUse == 0 && !now.Before(s.until) {
		return false
	}
	s.until = now.Add(idleTime)
	return true
}

// hold keeps the session from expiring until release is called.
func (s *session) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inUse++
}

func (s *session) release(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inUse--
	s.until = now.Add(idleTime)
}

// ends returns when the session ends unless it is used before, and whether its link was exchanged.
func (s *session) ends(now time.Time) (at time.Time, opened bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inUse > 0 {
		return now.Add(idleTime), true
	}
	return s.until, s.opened
}

// grant sets the cookie of the session. It has no expiry, so that the browser forgets it.
func (s *session) grant(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: s.cookie, Path: s.base + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// refusedSite returns why a request may come from another site; empty if it does not. authority is the address of the server, which is the
// only accepted host: the name of another site may resolve to this machine.
func refusedSite(r *http.Request, authority string) string {
	origins, sites := r.Header["Origin"], r.Header["Sec-Fetch-Site"]
	switch {
	case r.Host != authority:
		return "This server is at http://" + authority + " only, and not at any other name or address."
	case len(origins) > 1 || len(origins) == 1 && origins[0] != "http://"+authority:
		return "The request comes from the page of another site."
	case len(sites) > 1 || len(sites) == 1 && sites[0] != "same-origin" && sites[0] != "none":
		return "The request comes from the page of another site. Copy the address into the address bar of the browser."
	}
	return ""
}

// linkToken returns the token of a path that is a link.
func linkToken(path string) (string, bool) { return strings.CutPrefix(path, linkPath) }

// below returns the path of a page in the path of a request, if that is one of this session.
func (s *session) below(path string) (page string, ok bool) {
	page, ok = strings.CutPrefix(path, s.base)
	return page, ok && strings.HasPrefix(page, "/")
}
