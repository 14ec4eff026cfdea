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
	State   string // tracestate of the caller, at most maxState bytes; empty if it has none
}

// Bounds of tracestate. The specification asks to keep at least 512 bytes, and allows 32 members.
const (
	maxState   = 512
	maxMembers = 32
)

// Lengths of the version 00 of traceparent.
const (
	length     = 55
	traceBegin = 3
	spanBegin  = 36
	flagsBegin = 53
)

// Parse returns the position that traceparent states; ok is false if it is invalid. An invalid or long tracestate is left out.
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
	if isState(state) {
		c.State = strings.Clone(state) // it must not keep the message
	}
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

// isState reports whether a tracestate is a list of members with a key and a value, each of allowed characters.
func isState(s string) bool {
	if s == "" || len(s) > maxState || strings.Count(s, ",") >= maxMembers {
		return false
	}
	for member := range strings.SplitSeq(s, ",") {
		member = strings.Trim(member, " \t")
		if member == "" {
			continue // the specification allows empty members
		}
		key, value, found := strings.Cut(member, "=")
		if !found || !isKey(key) || !isValue(value) {
			return false
		}
	}
	return true
}

func isKey(s string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("_-*/@", c)
	}) < 0
}

func isValue(s string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool { return c < ' ' || c > '~' || c == '=' }) < 0
}
