package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// maxNesting is the maximum nesting that encoding/json accepts.
const maxNesting = 10_000

// ErrNotObject is the error of ScanObject if the text is not a valid JSON object.
var ErrNotObject = errors.New("not a JSON object")

// Scanner parses a JSON text in one pass. During that pass it validates the text and returns the raw values that its caller needs. The caller
// must not act on these values before End has reported that the whole text is valid.
type Scanner struct {
	text     []byte
	pos      int
	depth    int
	limit    int  // maximum of depth
	finite   bool // whether numbers must be in the range of 64-bit floats
	unpaired bool // whether a string has a surrogate without its other half
	invalid  bool
	refusal  string // why the text is refused by LimitNesting or RefuseInfinite; empty if it is not
}

// NewScanner returns a Scanner at the start of text.
func NewScanner(text []byte) *Scanner { return &Scanner{text: text, limit: maxNesting} }

// LimitNesting makes the Scanner refuse texts in which arrays and objects nest deeper than depth. Readers differ in the depth that they
// accept: some refuse 64 levels, some exhaust their stack at a few thousand.
func (s *Scanner) LimitNesting(depth int) { s.limit = min(depth, maxNesting) }

// RefuseInfinite makes the Scanner refuse numbers that exceed the range of 64-bit floats, or have more than 1,000 characters. Some readers
// convert them to infinity, others fail.
func (s *Scanner) RefuseInfinite() { s.finite = true }

// Refusal says why End has returned false for valid JSON, which LimitNesting or RefuseInfinite refuses: "it is nested more than 64 deep".
// It is empty if the text is accepted, or is not valid JSON.
func (s *Scanner) Refusal() string {
	if !s.ended() {
		return ""
	}
	return s.refusal
}

// HasUnpaired reports whether a string or key of the text so far has an escaped surrogate without its other half. Such text is valid JSON,
// but there is no UTF-8 for it, and many readers refuse it. ReplaceUnpaired replaces these surrogates.
func (s *Scanner) HasUnpaired() bool { return s.unpaired }

// Valid reports whether text is valid JSON. Its result is that of json.Valid, and it takes a fraction of the time.
func Valid(text []byte) bool {
	s := Scanner{text: text, limit: maxNesting}
	s.value(nil)
	return s.End()
}

// Kind returns the kind of the next value, as the function Kind does, without consuming that value.
func (s *Scanner) Kind() byte {
	s.next()
	return Kind(s.text[s.pos:])
}

// Value returns the next value; nil if that value is not valid.
func (s *Scanner) Value() []byte { return s.Object(nil) }

// Object returns the next value. If that value is an object, Object calls member with the unescaped key of each member. The function member
// may consume the value of that member by calling Value or Object. It must not modify the key.
func (s *Scanner) Object(member func(key []byte)) []byte {
	s.next()
	start := s.pos
	s.value(member)
	if s.invalid {
		return nil
	}
	return s.text[start:s.pos]
}

// Array returns the next value. If that value is an array, Array calls element with the index of each element. The function element may
// consume the element by calling Value, Object or Array.
func (s *Scanner) Array(element func(i int)) []byte {
	if s.next() != '[' {
		return s.Value()
	}
	start := s.pos
	for i, more := 0, s.open(']'); more; i, more = i+1, s.more(']') {
		s.next()
		at := s.pos
		if element(i); s.pos == at {
			s.value(nil)
		}
	}
	if s.invalid {
		return nil
	}
	return s.text[start:s.pos]
}

// ScanObject validates a JSON object and calls member with each of its members in order. Keys are unescaped, values are slices of text. Of
// duplicate keys the caller should use the last, as encoding/json does. If the result is ErrNotObject, the caller must not act on the
// members.
func ScanObject(text []byte, member func(key, value []byte)) error {
	s := Scanner{text: text, limit: maxNesting}
	if s.next() != '{' {
		return ErrNotObject
	}
	for more := s.open('}'); more; more = s.more('}') {
		key := s.key()
		if value := s.Value(); value != nil {
			member(plainKey(key), value)
		}
	}
	if !s.End() {
		return ErrNotObject
	}
	return nil
}

// End reports whether the text was one valid value, and is not refused by LimitNesting or RefuseInfinite.
func (s *Scanner) End() bool { return s.ended() && s.refusal == "" }

func (s *Scanner) ended() bool { return s.next() == 0 && s.pos == len(s.text) && !s.invalid }

// next skips white space and returns the next byte without consuming it; 0 at the end.
func (s *Scanner) next() byte {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// fail marks the text as invalid and moves to the end of the text, so that all further parsing fails too.
func (s *Scanner) fail() { s.invalid, s.pos = true, len(s.text) }

// refuse makes End return false. Parsing continues, so that the caller gets all members, such as the ID of a request that it refuses.
func (s *Scanner) refuse(why string) {
	if s.refusal == "" {
		s.refusal = why
	}
}

func (s *Scanner) value(member func(key []byte)) {
	switch s.next() {
	case '{':
		s.object(member)
	case '[':
		s.array()
	case '"':
		s.string()
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
}

// open consumes the opening byte of an object or array. If the closing byte end follows directly, open consumes that byte too and returns
// false.
func (s *Scanner) open(end byte) bool {
	s.pos++
	if s.depth++; s.depth > s.limit {
		s.refuse(fmt.Sprintf("it is nested more than %d deep", s.limit))
		if s.depth > maxNesting {
			s.fail()
			return false
		}
	}
	return !s.closed(end)
}

// closed consumes the closing byte of an object or array, if that byte is next.
func (s *Scanner) closed(end byte) bool {
	if s.next() != end {
		return false
	}
	s.pos++
	s.depth--
	return true
}

// more consumes a comma and returns true, or consumes the closing byte end and returns false. If any other byte is next, the text is invalid.
func (s *Scanner) more(end byte) bool {
	if s.next() == ',' {
		s.pos++
		return true
	}
	if !s.closed(end) {
		s.fail()
	}
	return false
}

func (s *Scanner) array() {
	for more := s.open(']'); more; more = s.more(']') {
		s.value(nil)
	}
}

func (s *Scanner) object(member func(key []byte)) {
	for more := s.open('}'); more; more = s.more('}') {
		key := s.key()
		if at := s.pos; member != nil && !s.invalid {
			if member(plainKey(key)); s.pos != at {
				continue
			}
		}
		s.value(nil)
	}
}

// key consumes the key of a member, and the colon and white space after that key. It returns the encoded key.
func (s *Scanner) key() []byte {
	if s.next() != '"' {
		s.fail()
		return nil
	}
	start := s.pos
	s.string()
	key := s.text[start:s.pos]
	if s.next() != ':' {
		s.fail()
		return nil
	}
	s.pos++
	s.next()
	return key
}

// plainKey unquotes a key. If the key has no escapes, plainKey does not copy it.
func plainKey(key []byte) []byte {
	if bytes.IndexByte(key, '\\') < 0 {
		return key[1 : len(key)-1]
	}
	text, _ := Unquote(key)
	return []byte(text)
}

func (s *Scanner) literal(want string) {
	if !bytes.HasPrefix(s.text[s.pos:], []byte(want)) {
		s.fail()
		return
	}
	s.pos += len(want)
}

func (s *Scanner) number() {
	start := s.pos
	s.skip('-')
	valid := s.skip('0') || s.digits()
	if s.skip('.') {
		valid = valid && s.digits()
	}
	exponent := s.pos
	if s.skip('e') || s.skip('E') {
		_ = s.skip('+') || s.skip('-')
		valid = valid && s.digits()
	}
	switch {
	case !valid:
		s.fail()
	case s.finite && (s.pos-exponent > len("e99") || s.pos-start > 200): // others are below 1e300
		s.checkFinite(s.text[start:s.pos])
	}
}

func (s *Scanner) checkFinite(number []byte) {
	const longest = 1000
	if len(number) > longest {
		s.refuse(fmt.Sprintf("it has a number of more than %d characters", longest))
	} else if _, err := strconv.ParseFloat(string(number), 64); err != nil {
		s.refuse("it has a number that exceeds the range of 64-bit floats")
	}
}

// skip consumes the byte c if it is next.
func (s *Scanner) skip(c byte) bool {
	if s.pos < len(s.text) && s.text[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// digits consumes digits. It reports whether there was at least one digit.
func (s *Scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.text) && s.text[s.pos]-'0' < 10 {
		s.pos++
	}
	return s.pos > start
}

func (s *Scanner) string() {
	for s.pos++; ; {
		s.pos = plainEnd(s.text, s.pos, 0)
		if s.pos == len(s.text) {
			s.fail()
			return
		}
		switch s.text[s.pos] {
		case '"':
			s.pos++
			return
		case '\\':
			size := escapeSize(s.text[s.pos:])
			if size == 0 {
				s.fail()
				return
			}
			if size > 2 {
				size = s.surrogates(size)
			}
			s.pos += size
		default: // the byte is a control character
			s.fail()
			return
		}
	}
}

// surrogates returns the size of the escape \uXXXX at pos and, if it is the first half of a pair of surrogates, of its other half.
func (s *Scanner) surrogates(size int) int {
	pair, unpaired := surrogatePair(s.text[s.pos:])
	s.unpaired = s.unpaired || unpaired
	if pair {
		size *= 2
	}
	return size
}

// escapeSize returns the size of the escape sequence with which b begins; 0 if that is not valid.
func escapeSize(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= 6 && isHex(b[2]) && isHex(b[3]) && isHex(b[4]) && isHex(b[5]) {
			return 6
		}
	}
	return 0
}

func isHex(c byte) bool { return c-'0' < 10 || (c|0x20)-'a' < 6 }
