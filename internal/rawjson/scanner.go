package rawjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// maxNesting is the nesting that encoding/json accepts.
const maxNesting = 10_000

// Scanner parses a JSON text in one pass, in which it validates the text and returns the raw values that its caller
// needs. The caller must not act on them before End has reported that the whole text is valid.
type Scanner struct {
	text    []byte
	pos     int
	depth   int
	invalid bool
}

// NewScanner returns a Scanner at the start of text.
func NewScanner(text []byte) *Scanner { return &Scanner{text: text} }

// Valid reports the same as json.Valid, at a multiple of its speed.
func Valid(text []byte) bool {
	s := Scanner{text: text}
	s.value(nil)
	return s.End()
}

// Value returns the next value; nil if it is not valid.
func (s *Scanner) Value() []byte { return s.Object(nil) }

// Object returns the next value. If it is an object, member is called with the key of each of its members,
// unescaped, and may consume the member's value by calling Value or Object. It must not retain the key.
func (s *Scanner) Object(member func(key []byte)) []byte {
	s.next()
	start := s.pos
	s.value(member)
	if s.invalid {
		return nil
	}
	return s.text[start:s.pos]
}

// End reports whether the text was one valid value.
func (s *Scanner) End() bool { return s.next() == 0 && s.pos == len(s.text) && !s.invalid }

// next skips white space and returns the next byte; 0 at the end.
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

// fail marks the text as invalid and moves to its end, where all further parsing fails too.
func (s *Scanner) fail() { s.invalid, s.pos = true, len(s.text) }

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

// open consumes the opening byte of an object or array and reports whether it is not empty. end is its closing byte.
func (s *Scanner) open(end byte) bool {
	s.pos++
	if s.depth++; s.depth > maxNesting {
		s.fail()
		return false
	}
	return !s.closed(end)
}

// closed consumes the closing byte of an object or array if it is next.
func (s *Scanner) closed(end byte) bool {
	if s.next() != end {
		return false
	}
	s.pos++
	s.depth--
	return true
}

// more consumes the comma before another member or element. Otherwise the object or array must end.
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
		if s.next() != '"' {
			s.fail()
			return
		}
		start := s.pos
		s.string()
		key := s.text[start:s.pos]
		if s.next() != ':' {
			s.fail()
			return
		}
		s.pos++
		s.next()
		if at := s.pos; member != nil {
			if member(plainKey(key)); s.pos != at {
				continue
			}
		}
		s.value(nil)
	}
}

// plainKey unquotes a key, without a copy if it has no escapes.
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
	s.skip('-')
	valid := s.skip('0') || s.digits()
	if s.skip('.') {
		valid = valid && s.digits()
	}
	if s.skip('e') || s.skip('E') {
		_ = s.skip('+') || s.skip('-')
		valid = valid && s.digits()
	}
	if !valid {
		s.fail()
	}
}

// skip consumes a byte if it is next.
func (s *Scanner) skip(c byte) bool {
	if s.pos < len(s.text) && s.text[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// digits consumes digits and reports whether there was at least one.
func (s *Scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.text) && s.text[s.pos]-'0' < 10 {
		s.pos++
	}
	return s.pos > start
}

func (s *Scanner) string() {
	for s.pos++; ; {
		s.pos = plainEnd(s.text, s.pos)
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
			if s.pos += size; size == 0 {
				s.fail()
				return
			}
		default: // a control character
			s.fail()
			return
		}
	}
}

// escapeSize is the size of the escape sequence that b begins with; 0 if it is not valid.
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

// plainEnd is the index of the first quote, backslash or control character at or after i; len(b) if there is none.
// It tests eight bytes at a time.
func plainEnd(b []byte, i int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, backslash := w^(ones*'"'), w^(ones*'\\')
		// A subtraction sets the high bit of the lowest byte that matches, and by its borrow possibly those of higher
		// bytes, so that only the lowest bit counts.
		if found := ((w-ones*' ')&^w | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < ' ' || c == '"' || c == '\\' {
			break
		}
	}
	return i
}
