// Package ui is the web server of `bulkhead ui`, for a browser of the user on this machine. It serves any pages: those of an installation are
// in package pages. Pages only read: the server accepts GET and HEAD. Start with Page, New and Server.Serve.
//
// A connection is accepted by guarded, which looks for its user in refusedPeer. A request goes through Server.ServeHTTP, which refuses those of
// other sites, exchanges the link for the cookie of the session, and shows pages to the browser with that cookie.
package ui

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Bounds of the server. All clients are processes of the user.
const (
	maxConnections = 64
	maxModels      = 4 // pages whose content is computed at once
	maxStreams     = 8
	maxHeader      = 16 << 10
	headerTimeout  = 10 * time.Second
	writeTimeout   = 2 * time.Minute // also for the content of a page to be computed
	idleConnection = time.Minute
	eventTimeout   = 10 * time.Second // for a client to take an event
	stopGrace      = 300 * time.Millisecond
)

// Server serves pages. It has one session.
type Server struct {
	pages     []Page
	session   *session
	authority string // HOST:PORT, as browsers send it: HOST at port 80
	models    chan struct{}
	streams   chan struct{}
	assets    map[string]asset
	now       func() time.Time
	log       *logger
}

// New returns a Server of pages, the first of which is the start page. It is served at the address of l.
func New(l net.Listener, pages []Page, log hclog.Logger) (*Server, error) {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	s := &Server{
		pages: pages, authority: strings.TrimSuffix(l.Addr().String(), ":80"), assets: assets(), now: time.Now, log: &logger{Logger: log},
		models: make(chan struct{}, maxModels), streams: make(chan struct{}, maxStreams),
	}
	s.session = newSession(s.now())
	for i := range s.pages {
		if err := s.pages[i].parse(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Listen listens on this machine only. Port 0 is any free port.
func Listen(port uint16) (net.Listener, error) {
	return net.Listen("tcp4", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
}

// Link returns the URL that opens the session, once and soon.
func (s *Server) Link() string { return "http://" + s.authority + linkPath + s.session.link }

// Ended is why Serve ended before its context.
type Ended struct{ Reason string }

func (e *Ended) Error() string { return e.Reason }

// Serve serves l, which it closes, until ctx ends or the session does. Then it returns an *Ended or the cause of ctx.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleConnection, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    s.log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	failed := make(chan error, 1)
	go func() {
		failed <- server.Serve(&guarded{Listener: l, slots: make(chan struct{}, maxConnections), log: s.log})
	}()
	err := s.await(ctx, failed)
	stop() // ends streams
	grace, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	_ = server.Shutdown(grace)
	_ = server.Close()
	return err
}

// await waits until ctx, the server or the session ends.
func (s *Server) await(ctx context.Context, failed <-chan error) error {
	for {
		now := s.now()
		at, opened := s.session.ends(now)
		if !now.Before(at) {
			if !opened {
				return &Ended{fmt.Sprintf("the link was not opened within %s", linkTime)}
			}
			return &Ended{fmt.Sprintf("no page was opened for %s", idleTime)}
		}
		timer := time.NewTimer(at.Sub(now))
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case err := <-failed:
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "The pages change nothing: only GET is accepted.")
		return
	}
	if why := refusedSite(r, s.authority); why != "" {
		s.log.refused(why, "a request", why)
		refuse(w, http.StatusForbidden, why)
		return
	}
	if token, ok := linkToken(r.URL.Path); ok {
		s.open(w, r, token)
		return
	}
	path, below := s.session.below(r.URL.Path)
	switch {
	case !below:
		refuse(w, http.StatusForbidden, "Open the link that bulkhead ui has printed in the terminal. If you have opened it before, go on in that tab of the browser, or run bulkhead ui again.")
	case !s.session.admits(r, s.now()):
		refuseBelow(w, http.StatusForbidden, "This browser has not opened the link that bulkhead ui has printed in the terminal, or the session has ended. If you have just opened the link, follow “Continue”. Otherwise run bulkhead ui again.")
	default:
		s.route(w, r, path)
	}
}

// open exchanges the link for the cookie. Browsers fetch addresses in advance with HEAD, or with a header of that purpose.
func (s *Server) open(w http.ResponseWriter, r *http.Request, token string) {
	if r.Method == http.MethodHead || strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch") {
		refuse(w, http.StatusForbidden, "The link can be opened only once, so it is not fetched in advance.")
		return
	}
	switch s.session.exchange(token, s.now()) {
	case linkAccepted:
		s.session.grant(w)
		http.Redirect(w, r, s.session.base+"/", http.StatusSeeOther)
	case linkUsed:
		s.log.refused("link", "a link", "it was used before")
		refuse(w, http.StatusForbidden, "This link was used already. If it was not you who opened it, press Ctrl-C in the terminal: then the pages cannot be used any more. To open them in another browser, run bulkhead ui again.")
	case linkExpired:
		refuse(w, http.StatusForbidden, "This link has expired. Run bulkhead ui again.")
	default:
		refuse(w, http.StatusForbidden, "This is not the link of this server. Run bulkhead ui again.")
	}
}

// route answers a request of the session for a path below its own.
func (s *Server) route(w http.ResponseWriter, r *http.Request, path string) {
	if a, ok := s.assets[path]; ok {
		w.Header().Set("Content-Type", a.mediaType)
		_, _ = w.Write(a.content)
		return
	}
	if path == "/" {
		http.Redirect(w, r, s.session.base+s.pages[0].Path, http.StatusSeeOther)
		return
	}
	for i := range s.pages {
		switch p := &s.pages[i]; {
		case path == p.Path:
			s.show(w, r, p)
			return
		case p.Events != nil && path == p.Path+"/events":
			s.stream(w, r, p)
			return
		}
	}
	refuseBelow(w, http.StatusNotFound, "There is no such page.")
}

// setHeaders sets what holds for every response.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Embedder-Policy", "require-corp")
}

// IsEnd reports whether err, of Serve, is the end that the user or the idle time wanted.
func IsEnd(err error) bool {
	var ended *Ended
	return errors.As(err, &ended) || errors.Is(err, context.Canceled)
}
