// Package tracecontext reads the W3C Trace Context of a request: which span of which trace has caused it. Start with Parse. What it reads comes
// from clients, so it is checked and bounded; what is invalid is ignored, as https://www.w3.org/TR/trace-context/ has it.
package tracecontext

import (
	"encoding/hex"
	"strings"
)

// TraceID identifies a trace, SpanID a span of it. The zero values are invalid.
type (
	TraceID [16]byte
	SpanID  [8]byte
)

// String returns the ID in lower-case hexadecimal digits.
func (id TraceID) String() string { return hex.EncodeToString(id[:]) }

// String returns the ID in lower-case hexadecimal digits.
func (id SpanID) String() string { return hex.EncodeToString(id[:]) }

// Context is a position in a trace.
type Context struct {
	Trace   TraceID
	Span    SpanID
	Sampled bool   // whether the caller may have recorded its span
	State   string // the members of the caller's tracestate that are plain, at most MaxState bytes; empty if there are none
}

// Bounds. The specification asks to keep at least 512 bytes of tracestate, and allows 32 members. Later versions of traceparent may have more than
// the 55 bytes of version 00.
const (
	MaxParent  = 128
	MaxState   = 512
	maxMembers = 32
)

// Lengths of the version 00 of traceparent.
const (
	length     = 55
	traceBegin = 3
	spanBegin  = 36
	flagsBegin = 53
)

// Parse returns the position that traceparent states; ok is false if it is invalid. An invalid or long tracestate is left out, and so are its
// members that are not plain.
func Parse(parent, state string) (c Context, ok bool) {
	if len(parent) < length || parent[traceBegin-1] != '-' || parent[spanBegin-1] != '-' || parent[flagsBegin-1] != '-' {
		return Context{}, false
	}
	var version, flags [1]byte
	if !decode(version[:], parent[:2]) || !decode(c.Trace[:], parent[traceBegin:spanBegin-1]) ||
		!decode(c.Span[:], parent[spanBegin:flagsBegin-1]) || !decode(flags[:], parent[flagsBegin:length]) {
		return Context{}, false
	}
	more := len(parent) > length
	switch {
	case version[0] == 0xff, version[0] == 0 && more, more && parent[length] != '-':
		return Context{}, false
	case c.Trace == TraceID{}, c.Span == SpanID{}:
		return Context{}, false
	}
	c.Sampled = flags[0]&1 == 1
	c.State = plainState(state)
	return c, true
}

// decode decodes lower-case hexadecimal digits, of which there must be two for each byte of to.
func decode(to []byte, digits string) bool {
	if strings.ContainsAny(digits, "ABCDEF") {
		return false
	}
	_, err := hex.Decode(to, []byte(digits))
	return err == nil
}

// plainState returns the plain members of a tracestate; empty if it is not a list of members with a key and a value, each of allowed characters.
func plainState(s string) string {
	if s == "" || len(s) > MaxState || strings.Count(s, ",") >= maxMembers {
		return ""
	}
	var plain []string
	for member := range strings.SplitSeq(s, ",") {
		member = strings.Trim(member, " \t")
		if member == "" {
			continue // the specification allows empty members
		}
		key, value, found := strings.Cut(member, "=")
		if !found || !isKey(key) || !isValue(value) {
			return ""
		}
		if isPlain(value) {
			plain = append(plain, member)
		}
	}
	return strings.Join(plain, ",")
}

// isPlain reports whether a value has only characters without a meaning in HTML, shells and queries, whatever shows the trace. Those that
// backends write are: of OpenTelemetry ("th:c;rv:1f"), Datadog ("s:2;o:rum"), Elastic ("s:0.5"), and IDs in hexadecimal digits or base64.
func isPlain(value string) bool {
	return strings.IndexFunc(value, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("_-.:;~/+@*", c)
	}) < 0
}

func isKey(s string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("_-*/@", c)
	}) < 0
}

// isValue reports whether the specification allows a value.
func isValue(s string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool { return c < ' ' || c > '~' || c == '=' }) < 0
}
