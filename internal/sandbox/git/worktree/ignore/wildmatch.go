package ignore

import (
	"slices"
	"strings"
)

// tokenKind states what a token of a pattern matches.
type tokenKind byte

const (
	tokenByte tokenKind = iota // matches the byte in token.byte
	tokenSet                   // matches one byte of a set, which is never a slash
	tokenStar                  // matches any number of bytes other than slashes
	tokenDeep                  // matches any number of bytes
	tokenDirs                  // matches either what the next two tokens (tokenDeep and a slash) match, or nothing
)

type token struct {
	kind tokenKind
	byte byte
	set  *byteSet
}

type byteSet [256]bool

// MatchPath reports whether a pattern matches a whole path, as git's wildmatch does with WM_PATHNAME.
func MatchPath(pattern, text string, fold bool) bool {
	tokens, ok := compile(pattern, fold)
	return ok && match(tokens, text, fold)
}

// compile parses a pattern as git's wildmatch does with WM_PATHNAME. It returns false if the pattern is malformed, and therefore matches
// nothing. If fold is set, the case of ASCII letters is ignored.
func compile(pattern string, fold bool) ([]token, bool) {
	var tokens []token
	for i := 0; i < len(pattern); {
		c := pattern[i]
		i++
		switch c {
		case '*':
			start := i - 1
			for i < len(pattern) && pattern[i] == '*' {
				i++
			}
			rest := pattern[i:]
			switch {
			case i-start == 1, start > 0 && pattern[start-1] != '/':
				tokens = append(tokens, token{kind: tokenStar})
			case strings.HasPrefix(rest, "/"):
				tokens = append(tokens, token{kind: tokenDirs}, token{kind: tokenDeep}, token{kind: tokenByte, byte: '/'})
				i++
			case rest == "", strings.HasPrefix(rest, `\/`):
				tokens = append(tokens, token{kind: tokenDeep})
			default:
				tokens = append(tokens, token{kind: tokenStar})
			}
		case '?':
			tokens = append(tokens, token{kind: tokenSet, set: allButSlash()})
		case '[':
			set, n := compileSet(pattern[i:], fold)
			if n == 0 {
				return nil, false
			}
			tokens = append(tokens, token{kind: tokenSet, set: set})
			i += n
		case '\\':
			if i == len(pattern) {
				return nil, false
			}
			c = pattern[i]
			i++
			fallthrough
		default:
			if fold {
				c = lower(c)
			}
			tokens = append(tokens, token{kind: tokenByte, byte: c})
		}
	}
	return tokens, true
}

func allButSlash() *byteSet {
	var set byteSet
	for b := range set {
		set[b] = b != '/'
	}
	return &set
}

// classes are the functions that test a byte for the character classes [:name:], keyed by name.
var classes = map[string]func(byte) bool{
	"alnum": func(c byte) bool { return isLetter(c) || isDigit(c) }, "alpha": isLetter,
	"blank": func(c byte) bool { return c == ' ' || c == '\t' }, "cntrl": func(c byte) bool { return c < 32 || c == 127 },
	"digit": isDigit, "graph": func(c byte) bool { return c > 32 && c < 127 }, "lower": func(c byte) bool { return 'a' <= c && c <= 'z' },
	"print": func(c byte) bool { return c >= 32 && c < 127 },
	"punct": func(c byte) bool { return c > 32 && c < 127 && !isLetter(c) && !isDigit(c) },
	"space": func(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }, "upper": func(c byte) bool { return 'A' <= c && c <= 'Z' },
	"xdigit": func(c byte) bool { return isDigit(c) || 'a' <= lower(c) && lower(c) <= 'f' },
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// compileSet parses a bracket expression after its opening bracket. It returns the length of what it has parsed; 0 if that is malformed.
func compileSet(s string, fold bool) (*byteSet, int) {
	i, negated := 0, false
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		negated = true
		i++
	}
	var set byteSet
	var before byte // byte that may begin a range; 0 if there is none
	for first := true; first || i >= len(s) || s[i] != ']'; first = false {
		if i >= len(s) {
			return nil, 0
		}
		c := s[i]
		i++
		switch {
		case c == '[' && i < len(s) && s[i] == ':':
			end := strings.IndexByte(s[i+1:], ']')
			if end < 0 {
				return nil, 0
			}
			name, ok := strings.CutSuffix(s[i+1:i+1+end], ":")
			if !ok { // the bracket is a literal byte
				set[c], before = true, c
				continue
			}
			class, known := classes[name]
			if !known {
				return nil, 0
			}
			set.addClass(class, fold && name == "upper")
			i += end + 2
			before = 0
			continue
		case c == '-' && before != 0 && i < len(s) && s[i] != ']':
			last, n := escaped(s[i:])
			if n == 0 {
				return nil, 0
			}
			i += n
			for b := int(before); b <= int(last); b++ {
				set[b] = true
			}
			before = 0
			continue
		case c == '\\':
			var n int
			if c, n = escaped(s[i-1:]); n == 0 {
				return nil, 0
			}
			i += n - 1
		}
		set[c], before = true, c
	}
	set.finish(negated, fold)
	return &set, i + 1
}

// escaped parses a byte that may be escaped. It returns the number of bytes that this takes in s; 0 if s is empty or is a backslash alone.
func escaped(s string) (byte, int) {
	switch {
	case s == "" || s == `\`:
		return 0, 0
	case s[0] == '\\':
		return s[1], 2
	}
	return s[0], 1
}

func (set *byteSet) addClass(class func(byte) bool, lowerToo bool) {
	for b := range set {
		c := byte(b)
		set[b] = set[b] || class(c) || lowerToo && isLetter(c)
	}
}

// finish applies case folding and negation to the set. It removes the slash, which no set contains.
func (set *byteSet) finish(negated, fold bool) {
	if fold {
		plain := *set
		for b := range set {
			c := lower(byte(b))
			set[b] = plain[c] || isLetter(c) && plain[c-('a'-'A')]
		}
	}
	for b := range set {
		set[b] = set[b] != negated && b != '/'
	}
}

// match reports whether tokens match all of text. It simulates the pattern as a nondeterministic automaton. The time is proportional to the
// product of the lengths of tokens and text; backtracking would take exponential time on a hostile pattern.
func match(tokens []token, text string, fold bool) bool {
	now, next := make([]bool, len(tokens)+1), make([]bool, len(tokens)+1)
	activate(tokens, now, 0)
	for i := range len(text) {
		c := text[i]
		if fold {
			c = lower(c)
		}
		clear(next)
		for at, t := range tokens {
			if !now[at] {
				continue
			}
			switch t.kind {
			case tokenByte:
				if t.byte == c {
					activate(tokens, next, at+1)
				}
			case tokenSet:
				if t.set[c] {
					activate(tokens, next, at+1)
				}
			case tokenStar:
				if c != '/' {
					activate(tokens, next, at)
				}
			case tokenDeep:
				activate(tokens, next, at)
			}
		}
		if !slices.Contains(next, true) {
			return false
		}
		now, next = next, now
	}
	return now[len(tokens)]
}

// activate adds the state at to states, and the states that can be reached from it without consuming a byte.
func activate(tokens []token, states []bool, at int) {
	for ; !states[at]; at++ {
		states[at] = true
		if at == len(tokens) {
			return
		}
		switch tokens[at].kind {
		case tokenStar, tokenDeep:
		case tokenDirs:
			activate(tokens, states, at+3)
		default:
			return
		}
	}
}

func isLetter(c byte) bool { return 'a' <= lower(c) && lower(c) <= 'z' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
