package gateway

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const (
	maxURI     = 4 << 10 // bytes of a URI that is subscribed to
	maxWatched = 1024    // URIs that a session, or a stream, is subscribed to

	maxWatchedBytes = 1 << 20 // of all URIs of a session and its streams, with what each takes beside
	watchedOverhead = 64
)

// watchedCost is what a URI that is subscribed to counts.
func watchedCost(uri string) int { return len(uri) + watchedOverhead }

// watch is what one session wants to hear of changes. Calls of any session tell it of them.
type watch struct {
	mu      sync.Mutex
	greeted bool            // by initialize, which asks for changes of lists
	uris    map[string]bool // resources subscribed to in that era
	streams []stream        // of the modern era
	cost    int             // of all their URIs
}

// stream is an open subscriptions/listen request.
type stream struct {
	id        []byte
	prompts   bool
	resources bool
	uris      []string
}

func (s stream) cost() (sum int) {
	for _, uri := range s.uris {
		sum += watchedCost(uri)
	}
	return sum
}

// tooMuchWatched refuses what would take more memory than a session has for URIs.
func tooMuchWatched() *abi.Error {
	return invalidRequest(fmt.Sprintf("the URIs that this client is subscribed to would take more than %d bytes: close streams, or unsubscribe from some", maxWatchedBytes))
}

// greet notes that the client has sent initialize.
func (w *watch) greet() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.greeted = true
}

// tell sends what is wanted of a call's changes.
func (w *watch) tell(out *writer, c changes) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.greeted {
		stream{prompts: true, resources: true}.tell(out, c, func(uri string) bool {
			for watched := range w.uris {
				if covers(watched, uri) {
					return true
				}
			}
			return false
		})
	}
	for _, s := range w.streams {
		s.tell(out, c, func(uri string) bool {
			return slices.ContainsFunc(s.uris, func(watched string) bool { return covers(watched, uri) })
		})
	}
}

func (s stream) tell(out *writer, c changes, watched func(uri string) bool) {
	if c.prompts && s.prompts {
		out.put(changeNote(mcp.MethodNotificationPromptsListChanged, "", s.id))
	}
	if c.resources && s.resources {
		out.put(changeNote(mcp.MethodNotificationResourcesListChanged, "", s.id))
	}
	for _, uri := range c.updated {
		if watched(uri) {
			out.put(changeNote(mcp.MethodNotificationResourceUpdated, uri, s.id))
		}
	}
}

// covers tells whether who watches a resource hears of uri: of the resource itself and of those below it.
func covers(watched, uri string) bool {
	below, ok := strings.CutPrefix(uri, strings.TrimSuffix(watched, "/"))
	return uri == watched || ok && strings.HasPrefix(below, "/")
}

// subscribe answers resources/subscribe and resources/unsubscribe, which the modern era has not.
func (s *session) subscribe(m *message, to answers) {
	uri, ok := rawjson.Unquote(m.params.uri)
	w := &s.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !ok || uri == "" || len(uri) > maxURI:
		putError(to, m.id, invalidParams(fmt.Sprintf("uri must be a string of 1 to %d bytes", maxURI)))
		return
	case m.method == string(mcp.MethodResourcesUnsubscribe):
		if w.uris[uri] {
			w.cost -= watchedCost(uri)
		}
		delete(w.uris, uri)
	case !s.g.backend.Watch(Request{Method: m.method, Name: uri, Params: m.params.all, Client: s.client}):
		putError(to, m.id, Unknown(m.method, uri, ""))
		return
	case len(w.uris) >= maxWatched && !w.uris[uri]:
		putError(to, m.id, invalidRequest(fmt.Sprintf("more than %d subscriptions: unsubscribe from some", maxWatched)))
		return
	case !w.uris[uri] && w.cost+watchedCost(uri) > maxWatchedBytes:
		putError(to, m.id, tooMuchWatched())
		return
	case !w.uris[uri]:
		if w.uris == nil {
			w.uris = map[string]bool{}
		}
		w.uris[uri] = true
		w.cost += watchedCost(uri)
	}
	putResult(to, m.id, []byte(`{}`))
}

// listen opens a stream. Its request is answered when the client's stream ends, and not at all when
// the client cancels it.
func (s *session) listen(m *message, meta requestMeta) {
	asked := rawjson.Member(m.params.all, "notifications")
	w := &s.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case rawjson.Kind(asked) != '{':
		putError(s.out, m.id, invalidParams("notifications must be an object"))
		return
	case w.index(m.id) >= 0:
		putError(s.out, m.id, streamOpen())
		return
	case s.calls.runs(m.id):
		putError(s.out, m.id, callRuns())
		return
	case len(w.streams) >= s.g.config.MaxInFlight:
		putError(s.out, m.id, &abi.Error{Code: abi.CodeInternal, Message: fmt.Sprintf("too many open streams (%d)", len(w.streams))})
		return
	}
	open, err := s.g.establish(m, asked, s.clientOf(meta))
	if err != nil {
		putError(s.out, m.id, err)
		return
	}
	cost := open.cost()
	if w.cost+cost > maxWatchedBytes {
		putError(s.out, m.id, tooMuchWatched())
		return
	}
	open.id = bytes.Clone(open.id) // else it would keep the whole line
	w.streams, w.cost = append(w.streams, open), w.cost+cost
	s.out.put(open.acknowledgement())
}

// establish is as much of the notifications that a stream asks for as there is.
func (g *Gateway) establish(m *message, asked []byte, client string) (stream, *abi.Error) {
	o := g.config.Offers
	wants := func(name string) bool { return string(bytes.TrimSpace(rawjson.Member(asked, name))) == "true" }
	s := stream{
		id:        m.id,
		prompts:   o.PromptsChange && wants("promptsListChanged"),
		resources: o.ResourcesChange && wants("resourcesListChanged"),
	}
	uris := rawjson.Member(asked, "resourceSubscriptions")
	if uris == nil || !o.Subscribe {
		return s, nil
	}
	if rawjson.Kind(uris) != '[' {
		return s, badSubscriptions()
	}
	for i, value := range rawjson.Elements(uris) {
		uri, ok := rawjson.Unquote(value)
		if !ok || i == maxWatched {
			return s, badSubscriptions()
		}
		if uri != "" && len(uri) <= maxURI && g.backend.Watch(Request{Method: m.method, Name: uri, Client: client}) {
			s.uris = append(s.uris, uri)
		}
	}
	return s, nil
}

func badSubscriptions() *abi.Error {
	return invalidParams(fmt.Sprintf("resourceSubscriptions must be at most %d strings", maxWatched))
}

// acknowledgement says what of a stream's notifications will come.
func (s stream) acknowledgement() []byte {
	var parts [][]byte
	if s.prompts {
		parts = append(parts, []byte(`"promptsListChanged":true`))
	}
	if s.resources {
		parts = append(parts, []byte(`"resourcesListChanged":true`))
	}
	if len(s.uris) > 0 {
		quoted := make([][]byte, len(s.uris))
		for i, uri := range s.uris {
			quoted[i] = rawjson.Quote(uri)
		}
		parts = append(parts, fmt.Appendf(nil, `"resourceSubscriptions":[%s]`, bytes.Join(quoted, []byte(","))))
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"%s","params":{"notifications":{%s},"_meta":{"%s":%s}}}`,
		mcp.MethodNotificationSubscriptionsAcknowledged, bytes.Join(parts, []byte(",")), mcp.MetaKeySubscriptionID, s.id)
}

func (w *watch) index(id []byte) int {
	return slices.IndexFunc(w.streams, func(open stream) bool { return bytes.Equal(open.id, id) })
}

// open tells whether a stream with that id is open.
func (w *watch) open(id []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.index(id) >= 0
}

// streamOpen refuses a request that has the id of an open stream, which is still to be answered.
func streamOpen() *abi.Error { return invalidRequest("a stream with this id is still open") }

// cancel closes a stream without an answer.
func (w *watch) cancel(id []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := w.index(id); i >= 0 {
		w.cost -= w.streams[i].cost()
		w.streams = slices.Delete(w.streams, i, i+1)
	}
}

// close answers the open streams; nothing is told any more.
func (w *watch) close(out *writer, info []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, open := range w.streams {
		putResult(out, open.id, fmt.Appendf(nil, `{%s,"_meta":{"%s":%s,%s}}`, resultComplete, mcp.MetaKeySubscriptionID, open.id, info))
	}
	w.streams, w.greeted = nil, false
}
