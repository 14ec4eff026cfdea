package traces

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// The messages of OTLP, in the JSON encoding of protocol buffers with IDs in hexadecimal digits: see opentelemetry-proto, trace.proto.
type (
	otlpRequest struct {
		ResourceSpans []otlpResourceSpans `json:"resourceSpans"`
	}
	otlpResourceSpans struct {
		Resource   otlpResource     `json:"resource"`
		ScopeSpans []otlpScopeSpans `json:"scopeSpans"`
	}
	otlpResource struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpScopeSpans struct {
		Scope otlpScope  `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpScope struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	otlpSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		TraceState string          `json:"traceState,omitempty"`
		Parent     string          `json:"parentSpanId,omitempty"`
		Flags      uint32          `json:"flags"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Begin      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
		Events     []otlpEvent     `json:"events,omitempty"`
		Status     *otlpStatus     `json:"status,omitempty"`
	}
	otlpEvent struct {
		At   string `json:"timeUnixNano"`
		Name string `json:"name"`
	}
	otlpStatus struct {
		Code int `json:"code"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		Text   *string `json:"stringValue,omitempty"`
		Number *string `json:"intValue,omitempty"` // 64-bit integers are strings
	}
)

// Values of enumerations.
const (
	kindInternal = 1
	kindServer   = 2
	statusError  = 2
	flagSampled  = 1
)

const maxText = 256 // bytes of an attribute

// Source is what sends the spans.
type Source struct {
	Version  string // of the program
	Instance string // unique
}

// encode returns the body of a request with the spans.
func (s Source) encode(all []Span) ([]byte, error) {
	resource := otlpResource{Attributes: attributes([]Attribute{
		{Key: "service.name", Text: "bulkhead"}, {Key: "service.version", Text: s.Version}, {Key: "service.instance.id", Text: s.Instance},
	})}
	spans := make([]otlpSpan, len(all))
	for i := range all {
		spans[i] = all[i].encode()
	}
	scope := otlpScope{Name: "github.com/bulkhead-mcp/bulkhead", Version: s.Version}
	return rawjson.Marshal(otlpRequest{[]otlpResourceSpans{{resource, []otlpScopeSpans{{scope, spans}}}}})
}

func (s *Span) encode() otlpSpan {
	o := otlpSpan{
		TraceID: s.Trace.String(), SpanID: s.Span.String(), TraceState: s.State, Flags: flagSampled, Name: bounded(s.Name), Kind: kindInternal,
		Begin: nanoseconds(s.Begin), End: nanoseconds(s.End),
	}
	if s.Dropped > 0 {
		s.number("bulkhead.operations.without_span", int64(s.Dropped))
	}
	o.Attributes = attributes(s.Attributes)
	if s.Parent != (Span{}.Parent) {
		o.Parent = s.Parent.String()
	}
	if s.Server {
		o.Kind = kindServer
	}
	for _, e := range s.Events {
		o.Events = append(o.Events, otlpEvent{nanoseconds(e.At), e.Name})
	}
	if s.ErrorType != "" {
		o.Status = &otlpStatus{statusError}
	}
	return o
}

func attributes(all []Attribute) []otlpAttribute {
	encoded := make([]otlpAttribute, len(all))
	for i, a := range all {
		encoded[i].Key = a.Key
		if a.Text != "" {
			text := bounded(a.Text)
			encoded[i].Value.Text = &text
			continue
		}
		number := strconv.FormatInt(a.Number, 10)
		encoded[i].Value.Number = &number
	}
	return encoded
}

// nanoseconds returns t as OTLP has it: 64-bit integers are strings in JSON.
func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// bounded returns a text of at most maxText bytes in UTF-8.
func bounded(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	return strings.ToValidUTF8(s, "")
}

// rejected returns how many spans a collector has not accepted, by its answer, and why. It may send what it likes.
func rejected(answer []byte) (n int64, why string) {
	var a struct {
		PartialSuccess struct {
			Rejected json.Number `json:"rejectedSpans"` // as a string, or as a number
			Message  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &a) != nil {
		return 0, ""
	}
	n, _ = a.PartialSuccess.Rejected.Int64()
	return max(n, 0), a.PartialSuccess.Message
}
