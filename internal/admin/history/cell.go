package history

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
)

// Key is what calls are counted by. Its strings are untrusted, as those of the log. A tool or a client of which only a bounded number
// is counted by name is Other beyond it.
type Key struct {
	Plugin    string `json:"plugin,omitempty"` // empty: the host itself
	Method    string `json:"method,omitempty"` // of MCP; of refused HTTP requests that of HTTP
	Tool      string `json:"tool,omitempty"`   // tool or prompt; empty for resources, which are counted together, and for what no plugin has
	Principal string `json:"principal,omitempty"`
	Client    string `json:"client,omitempty"` // name and version that a client without a principal of its own reports
}

// Other is the plugin of a Key for calls beyond those that are counted by name.
const Other = "(other)"

// Bounds of what is counted by name.
const (
	maxText     = 256 // bytes of a string
	maxKeys     = 256 // keys of an hour
	maxCodes    = 32
	maxRefusals = 16
	maxTargets  = 8 // refusals after which the targets of one cause are not told apart
)

// Stats are the calls of a Key in a time.
type Stats struct {
	Calls     int64                   `json:"calls,omitempty"`
	Outcomes  map[audit.Outcome]int64 `json:"outcomes,omitempty"` // of calls
	Codes     map[string]int64        `json:"codes,omitempty"`    // of calls that failed
	Durations Durations               `json:"durations,omitempty"`
	Longest   int64                   `json:"longest_us,omitempty"`
	Fuel      uint64                  `json:"fuel,omitempty"`
	BytesIn   int64                   `json:"bytes_in,omitempty"`
	BytesOut  int64                   `json:"bytes_out,omitempty"`
	Refused   []Refusal               `json:"refused,omitempty"`
	Last      time.Time               `json:"last,omitzero"`
	Table     string                  `json:"table,omitempty"` // of [[clients]] that has decided about the latest; empty: none, or it is not known
}

// Refusal is one thing that was refused for one reason: a call, a request for what is not offered, an HTTP request, or an operation of a module.
type Refusal struct {
	Op      string    `json:"op,omitempty"` // host operation; empty: the request or call itself
	Code    string    `json:"code"`
	Reason  string    `json:"reason,omitempty"`
	Example string    `json:"example,omitempty"` // target of the operation, or name that was requested
	Several bool      `json:"several,omitempty"` // whether there are other targets or names too, and Example is the latest
	Count   int64     `json:"count"`
	Last    time.Time `json:"last"`
	// LastPrincipal and LastClient are those of the latest one. They are not stored, since the Key of the Stats has them.
	LastPrincipal string `json:"last_principal,omitempty"`
	LastClient    string `json:"last_client,omitempty"`
}

// keyOf returns the key of an entry, and whether it is about a call or a refusal. Names that only the client has chosen are no keys:
// it could choose any number of them.
func keyOf(e *audit.Entry) (Key, bool) {
	if e.Kind != audit.KindCall && e.Kind != audit.KindRefused {
		return Key{}, false
	}
	k := CallerKey(e.Principal, e.Client)
	k.Plugin, k.Method, k.Tool = e.Plugin, e.Method, e.Tool
	if !namesTool(e) {
		k.Tool = ""
	}
	if e.Reason != "" && !slices.Contains(httpMethods, e.Method) { // of a request that the HTTP server has refused, before it looked at the method
		k.Method = Other
	}
	for _, text := range []*string{&k.Plugin, &k.Method, &k.Tool, &k.Principal, &k.Client} {
		*text = bounded(*text)
	}
	return k, true
}

// CallerKey returns what the calls of a client are counted by: its principal, and what it reports if the principal is not its own.
func CallerKey(principal, client string) Key {
	k := Key{Principal: principal}
	if scheme, _, named := strings.Cut(principal, ":"); !named || scheme == "" {
		k.Client = client
	}
	return k
}

// httpMethods are the methods that refused HTTP requests are counted by.
var httpMethods = []string{http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodHead, http.MethodOptions}

// namesTool reports whether the tool of an entry is the name of one: the client chooses the URIs of resources, and the names of what it
// is refused unless the plugin has such a tool.
func namesTool(e *audit.Entry) bool {
	if e.Kind == audit.KindRefused && len(e.Operations) == 0 {
		return e.Plugin != "" && e.Method == "tools/call"
	}
	return e.Method != "resources/read"
}

// bounded returns at most maxText bytes of a text, without splitting a character.
func bounded(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText-len("…")], "") + "…"
}

// Called names what was called, for people.
func (k Key) Called() string {
	switch {
	case k.Tool == "":
		return strings.TrimSpace(k.Plugin + " " + k.Method)
	case k.Method == "tools/call":
		return k.Tool
	}
	return k.Method + " " + k.Tool
}

// Caller names who called, for people. What a client reports comes first, so that it cannot look like the principal.
func (k Key) Caller() string {
	switch {
	case k.Plugin == Other:
		return Other
	case k.Client == "" || k.Principal == "":
		return cmp.Or(k.Client, k.Principal, "(unnamed)")
	}
	return k.Client + " (" + k.Principal + ")"
}

// Selector returns the client of a query that selects the calls of k; empty if there is none.
func (k Key) Selector() string { return cmp.Or(k.Client, k.Principal) }

// compare orders keys.
func (k Key) compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Plugin, other.Plugin), cmp.Compare(k.Method, other.Method), cmp.Compare(k.Tool, other.Tool),
		cmp.Compare(k.Principal, other.Principal), cmp.Compare(k.Client, other.Client))
}

// isError reports whether a call with this outcome counts as an error.
func isError(o audit.Outcome) bool {
	return o == audit.ToolError || o == audit.RPCError || o == audit.Failed
}

// Errors returns the number of calls that failed, or whose tool returned an error.
func (s *Stats) Errors() int64 {
	n := int64(0)
	for o, calls := range s.Outcomes {
		if isError(o) {
			n += calls
		}
	}
	return n
}

// Refusals returns the number of refused calls, requests and operations.
func (s *Stats) Refusals() int64 {
	n := int64(0)
	for _, r := range s.Refused {
		n += r.Count
	}
	return n
}

// bytesOfToken is the number of bytes of JSON that a token has, about.
const bytesOfToken = 4

// Tokens returns about how many tokens the arguments and results have for a model.
func (s *Stats) Tokens() int64 { return (s.BytesIn + s.BytesOut) / bytesOfToken }

// count adds an entry of which keyOf is true.
func (s *Stats) count(e *audit.Entry) {
	if !e.Time.Before(s.Last) {
		s.Last = e.Time
		if e.Kind == audit.KindCall || e.Table != "" { // requests that the HTTP server has refused have none
			s.Table = bounded(e.Table)
		}
	}
	if e.Kind == audit.KindRefused {
		s.countRefused(e)
		return
	}
	s.Calls++
	outcome := e.Outcome
	if !slices.Contains(audit.Outcomes, outcome) {
		outcome = Other
	}
	add(&s.Outcomes, outcome, 1)
	switch {
	case outcome == audit.Denied:
		s.refuse(Refusal{Code: bounded(e.Code), Count: 1, Last: e.Time})
	case outcome != audit.Asked && e.Code != string(engine.CodeQueue): // the time until a question, or of waiting in vain, says nothing about the call
		add((*map[int]int64)(&s.Durations), bucketOf(plausible(e.Duration)), 1)
		s.Longest = max(s.Longest, plausible(e.Duration))
	}
	if outcome == audit.Failed {
		s.fail(bounded(e.Code), 1)
	}
	s.Fuel += min(e.Fuel, maxNumber)
	s.BytesIn += plausible(e.BytesIn)
	s.BytesOut += plausible(e.BytesOut)
}

// maxNumber bounds the numbers of one record, so that no sum of a log overflows.
const maxNumber = 1 << 44

func plausible(n int64) int64 { return min(max(n, 0), maxNumber) }

func (s *Stats) countRefused(e *audit.Entry) {
	r := Refusal{Code: bounded(e.Code), Reason: bounded(e.Reason), Count: 1 + plausible(e.Further), Last: e.Time}
	if !namesTool(e) {
		r.Example = bounded(e.Tool)
	}
	if len(e.Operations) > 0 {
		o := e.Operations[0]
		r.Op, r.Example = bounded(o.Op), bounded(o.Target)
	}
	s.refuse(r)
}

// fail counts calls that failed with a code.
func (s *Stats) fail(code string, calls int64) {
	if s.Codes[code] == 0 && len(s.Codes) >= maxCodes {
		code = Other
	}
	add(&s.Codes, code, calls)
}

// find returns the index in s.Refused that counts a refusal, -1 if there is none yet, and the refusal as it is counted. A target that was not told
// apart from others once never is.
func (s *Stats) find(r Refusal) (int, Refusal) {
	hasCause := func(known Refusal) bool {
		return known.Op == r.Op && known.Code == r.Code && known.Reason == r.Reason
	}
	same := func(known Refusal) bool {
		return hasCause(known) && known.Several == r.Several && (r.Several || known.Example == r.Example)
	}
	i := slices.IndexFunc(s.Refused, same)
	if i < 0 && len(s.Refused) >= maxTargets && slices.ContainsFunc(s.Refused, hasCause) {
		r.Several = true
		i = slices.IndexFunc(s.Refused, same)
	}
	if i < 0 && len(s.Refused) >= maxRefusals {
		r.Op, r.Code, r.Reason, r.Example, r.Several, r.LastPrincipal, r.LastClient = "", Other, "", "", false, "", ""
		i = slices.IndexFunc(s.Refused, same)
	}
	return i, r
}

// refuse counts refusals.
func (s *Stats) refuse(r Refusal) {
	i, r := s.find(r)
	if i < 0 {
		s.Refused = append(s.Refused, r)
		return
	}
	known := &s.Refused[i]
	known.Count += r.Count
	if !r.Last.Before(known.Last) {
		known.Last, known.Example, known.LastPrincipal, known.LastClient = r.Last, r.Example, r.LastPrincipal, r.LastClient
	}
}

// merge adds the calls of other.
func (s *Stats) merge(other *Stats) {
	s.Calls += other.Calls
	for outcome, calls := range other.Outcomes {
		add(&s.Outcomes, outcome, calls)
	}
	for _, code := range slices.Sorted(maps.Keys(other.Codes)) {
		s.fail(code, other.Codes[code])
	}
	for bucket, calls := range other.Durations {
		add((*map[int]int64)(&s.Durations), bucket, calls)
	}
	s.Longest = max(s.Longest, other.Longest)
	s.Fuel += other.Fuel
	s.BytesIn += other.BytesIn
	s.BytesOut += other.BytesOut
	for _, r := range other.Refused {
		s.refuse(r)
	}
	if !other.Last.Before(s.Last) {
		s.Last = other.Last
		if other.Calls > 0 || other.Table != "" {
			s.Table = other.Table
		}
	}
}

// add adds n to a count of a map, which is made if it is nil.
func add[K comparable](counts *map[K]int64, key K, n int64) {
	if *counts == nil {
		*counts = map[K]int64{}
	}
	(*counts)[key] += n
}
