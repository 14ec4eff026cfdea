package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/httpserver"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// tape records the messages that pass a proxy in front of the server, as they would be on stdio. It leaves out what the HTTP
// transport decides by itself: requests that it rejects for their headers or their session.
type tape struct {
	mu      sync.Mutex
	entries []*entry // in the order of the messages
}

// entry is one message.
type entry struct {
	from    byte   // '>' for the client, '<' for the server
	session string // the id of a legacy session; "" in the modern era
	text    string
	skip    bool
}

// exchange is a POST or GET, and what was recorded of it.
type exchange struct {
	tape    *tape
	request *entry // nil for GET
	id      string // of the request; "" for a notification or a response
	modern  bool   // by its header
	session string
	ended   bool // by the response
}

func (t *tape) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = nil
}

func (t *tape) add(e *entry) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = append(t.entries, e)
	return e
}

// skip leaves out messages.
func (t *tape) skip(entries ...*entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range entries {
		e.skip = true
	}
}

// proxy forwards all requests to the server at a URL.
func (t *tape) proxy(server string) http.Handler {
	address := strings.TrimSuffix(strings.TrimPrefix(server, "http://"), httpserver.Path)
	return &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			own := r.In.Context().Value(http.LocalAddrContextKey).(interface{ String() string }).String()
			r.Out.URL.Scheme, r.Out.URL.Host = "http", address
			// A Host of the suite's choice is kept; otherwise the server is told its own.
			if r.Out.Host = r.In.Host; r.In.Host == own {
				r.Out.Host = address
			}
			if r.In.Header.Get("Origin") == "http://"+own {
				r.Out.Header.Set("Origin", "http://"+address)
			}
		},
		Transport: transport{t},
	}
}

// transport records the exchanges that it makes.
type transport struct{ tape *tape }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	x := &exchange{tape: t.tape, session: r.Header.Get("Mcp-Session-Id"), modern: r.Header.Get("Mcp-Protocol-Version") > "2026"}
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		x.said(body)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		x.close()
		return nil, err
	}
	x.answered(response)
	response.Body = &reader{ReadCloser: response.Body, exchange: x, stream: strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream")}
	return response, nil
}

// said records the client's message.
func (x *exchange) said(body []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		}
	}
	if json.Unmarshal(body, &m) != nil {
		return
	}
	if m.Method != "" {
		x.id = string(m.ID)
	}
	x.request = x.tape.add(&entry{from: '>', session: x.session, text: compact(body)})
	// On stdio, only the body tells that a request is modern.
	if x.modern && m.Params.Meta["io.modelcontextprotocol/protocolVersion"] == nil {
		x.tape.skip(x.request)
	}
}

// answered takes the session that the response begins, and skips a request that the HTTP transport has rejected.
func (x *exchange) answered(r *http.Response) {
	x.tape.mu.Lock()
	defer x.tape.mu.Unlock()
	if id := r.Header.Get("Mcp-Session-Id"); id != "" {
		x.session = id
		if x.request != nil {
			x.request.session = id
		}
	}
	isJSON := strings.HasPrefix(r.Header.Get("Content-Type"), "application/json")
	if x.request != nil && r.StatusCode >= http.StatusBadRequest && (!x.modern || !isJSON) {
		x.request.skip = true
	}
}

// heard records a message of the server.
func (x *exchange) heard(message []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
		Error  struct{ Code int }
	}
	if json.Unmarshal(message, &m) != nil {
		return
	}
	e := x.tape.add(&entry{from: '<', session: x.session, text: compact(message)})
	if m.Method == "" && string(m.ID) == x.id {
		x.ended = true
	}
	const headerMismatch = -32020
	isRefusal := m.Method == "" && (m.ID == nil || string(m.ID) == "null" || m.Error.Code == headerMismatch)
	if x.request != nil && (x.request.skip || isRefusal) {
		x.tape.skip(x.request, e)
	}
}

// close ends the exchange. A client that leaves before the response has cancelled its request, which on stdio it has to say.
func (x *exchange) close() {
	if x.request == nil || x.request.skip || x.id == "" || x.ended || !x.modern {
		return
	}
	x.tape.add(&entry{from: '>', text: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + x.id + `}}`})
}

// reader records the messages of a response while the suite reads it.
type reader struct {
	io.ReadCloser
	exchange *exchange
	stream   bool
	rest     []byte
	once     sync.Once
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.rest = append(r.rest, p[:n]...)
	if r.stream {
		for {
			line, after, found := bytes.Cut(r.rest, []byte("\n"))
			if !found {
				break
			}
			if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				r.exchange.heard(bytes.TrimSpace(data))
			}
			r.rest = after
		}
	} else if err == io.EOF {
		r.exchange.heard(bytes.TrimSpace(r.rest))
	}
	return n, err
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.once.Do(r.exchange.close)
	return r.ReadCloser.Close()
}

func compact(message []byte) string {
	var out bytes.Buffer
	if json.Compact(&out, message) != nil {
		return strings.ReplaceAll(string(message), "\n", " ")
	}
	return out.String()
}

// text returns the conversation: the sessions one after the other, with names in place of what differs each time.
func (t *tape) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var order []string
	lines := map[string][]string{}
	for _, e := range t.entries {
		if e.skip {
			continue
		}
		if lines[e.session] == nil {
			order = append(order, e.session)
		}
		lines[e.session] = append(lines[e.session], fmt.Sprintf("%c %s", e.from, e.text))
	}
	var out strings.Builder
	for _, session := range order {
		out.WriteString("=\n")
		for _, line := range name(lines[session]) {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// name replaces the request states that the server made, and the ids of its requests, by STATE1, REQUEST1 and so on.
func name(lines []string) []string {
	var states, requests []string
	for _, line := range lines {
		m := parseLine(line)
		if line[0] != '<' {
			continue
		}
		if m.Result.RequestState != "" {
			states = append(states, m.Result.RequestState)
		}
		if m.Method != "" && m.ID != nil {
			requests = append(requests, string(m.ID))
		}
	}
	named := make([]string, len(lines))
	for i, line := range lines {
		m := parseLine(line)
		for n, state := range states {
			line = strings.ReplaceAll(line, state, fmt.Sprintf("STATE%d", n+1))
		}
		for n, id := range requests {
			if string(m.ID) == id && (line[0] == '<') == (m.Method != "") {
				line = strings.Replace(line, `"id":`+id, fmt.Sprintf(`"id":"REQUEST%d"`, n+1), 1)
			}
		}
		named[i] = line
	}
	return named
}

// message has what the tape and the replay need of a message.
type message struct {
	ID     json.RawMessage
	Method string
	Result struct {
		RequestState string
	}
}

func parseLine(line string) message {
	var m message
	_ = rawjson.ScanObject([]byte(line[2:]), func(key, value []byte) {
		switch string(key) {
		case "id":
			m.ID = value
		case "method":
			m.Method, _ = rawjson.Unquote(value)
		case "result":
			_ = json.Unmarshal(value, &m.Result) // a result of a different form has no state
		}
	}) // a line that is no message has neither
	return m
}
