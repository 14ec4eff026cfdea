package glob

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// class is a class of characters in brackets.
type class struct {
	negated bool
	ranges  [][2]rune
	named   []func(rune) bool
}

func (c class) has(r rune) bool {
	for _, one := range c.ranges {
		if one[0] <= r && r <= one[1] {
			return !c.negated
		}
	}
	for _, is := range c.named {
		if is(r) {
			return !c.negated
		}
	}
	return c.negated
}

// named are the classes that a pattern can name, as in [[:alpha:]].
var named = map[string]func(rune) bool{
	"alnum": func(r rune) bool {
		return unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) || unicode.Is(unicode.Nd, r)
	},
	"alpha":  func(r rune) bool { return unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) },
	"ascii":  func(r rune) bool { return r < utf8.RuneSelf },
	"blank":  func(r rune) bool { return r == '\t' || unicode.Is(unicode.Zs, r) },
	"cntrl":  unicode.IsControl,
	"digit":  func(r rune) bool { return unicode.Is(unicode.Nd, r) },
	"lower":  func(r rune) bool { return unicode.Is(unicode.Ll, r) },
	"punct":  unicode.IsPunct,
	"space":  func(r rune) bool { return unicode.Is(unicode.Z, r) || strings.ContainsRune("\t\r\n\v\f", r) },
	"upper":  func(r rune) bool { return unicode.Is(unicode.Lu, r) },
	"word":   func(r rune) bool { return unicode.IsLetter(r) || unicode.In(r, unicode.Nl, unicode.Nd, unicode.Pc) },
	"xdigit": func(r rune) bool { return r < utf8.RuneSelf && strings.ContainsRune("0123456789abcdefABCDEF", r) },
}

// classEnd returns the length of the class at the start of pattern; 0 if the bracket of the class is not closed.
func (o Options) classEnd(pattern string) int {
	at := 1
	if at < len(pattern) && (pattern[at] == '!' || pattern[at] == '^') {
		at++
	}
	for first := at; at < len(pattern); at++ {
		switch {
		case o.Escape && pattern[at] == '\\':
			at++
		case o.Escape && o.classNamed(pattern[at:]) != "":
			at += len(o.classNamed(pattern[at:])) + len("[::]") - 1
		case pattern[at] == ']' && at > first:
			return at + 1
		}
	}
	return 0
}

// classNamed returns the name of the class with which text begins, such as alpha of [:alpha:]; empty if there is none.
func (o Options) classNamed(text string) string {
	if rest, ok := strings.CutPrefix(text, "[:"); ok {
		if name, _, ok := strings.Cut(rest, ":]"); ok && named[name] != nil {
			return name
		}
	}
	return ""
}

// class parses the content of brackets.
func (o Options) class(text string) class {
	var c class
	if text != "" && (text[0] == '!' || text[0] == '^') {
		c.negated, text = true, text[1:]
	}
	next := func() (r rune) {
		if o.Escape && len(text) > 1 && text[0] == '\\' {
			text = text[1:]
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		return r
	}
	for text != "" {
		if name := o.classNamed(text); o.Escape && name != "" {
			c.named, text = append(c.named, named[name]), text[len(name)+len("[::]"):]
			continue
		}
		first := next()
		last := first
		if len(text) > 1 && text[0] == '-' {
			text = text[1:]
			last = next()
		}
		c.ranges = append(c.ranges, [2]rune{first, last})
	}
	return c
}
