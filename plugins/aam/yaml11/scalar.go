package yaml11

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// Kind is the type of a value.
type Kind int

// The kinds of values. Absent, the zero value, is the kind of a value that does not exist.
const (
	Absent Kind = iota
	Null
	Bool
	Int
	Float
	Time
	Text
	List
	Mapping
	Binary // binary data that is not UTF-8, or a key with the tag !!binary
)

// String returns the name of the kind for error messages.
func (k Kind) String() string {
	return [...]string{"nothing", "null", "a boolean", "an integer", "a number", "a date", "a string", "a list", "a mapping", "binary data"}[k]
}

// The patterns of plain scalars in YAML 1.1 (https://yaml.org/type/), as PyYAML interprets them: an exponent needs a
// sign, and digits that begin with 0 are an octal number or a string.
var (
	intPattern   = regexp.MustCompile(`^[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)$`)
	floatPattern = regexp.MustCompile(`^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
	datePattern  = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	timePattern  = regexp.MustCompile(`^([0-9]{4}-[0-9]{1,2}-[0-9]{1,2})(?:[Tt]|[ \t]+)([0-9]{1,2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]*)?[ \t]*(?:Z|[-+][0-9]{1,2}(?::?[0-9]{2})?)?$`)
)

// special is the set of bytes with which a plain scalar begins that may be something other than a string.
var special = func() (set [256]bool) {
	for _, c := range []byte("~nNyYtTfFoO+-.0123456789") {
		set[c] = true
	}
	return set
}()

// plainKind returns the kind of a plain scalar.
func plainKind(word string) Kind {
	switch word {
	case "", "~", "null", "Null", "NULL":
		return Null
	case "yes", "Yes", "YES", "no", "No", "NO", "true", "True", "TRUE", "false", "False", "FALSE", "on", "On", "ON", "off", "Off", "OFF":
		return Bool
	}
	if strings.IndexByte("+-.0123456789", word[0]) < 0 || strings.Count(word, ".") > 1 {
		return Text // the word is neither a number nor a date; most versions have two dots
	}
	if len(word) > len(time.DateTime) && word[4] == '-' { // this test avoids the regular expressions below, which are much slower
		if _, err := time.Parse(time.RFC3339, word); err == nil {
			return Time
		}
	}
	switch {
	case intPattern.MatchString(word):
		return Int
	case floatPattern.MatchString(word):
		return Float
	case datePattern.MatchString(word), timePattern.MatchString(word):
		return Time
	}
	return Text
}

// kindOf returns the kind of a node that is not an alias.
func kindOf(n *frontmatter.Node) Kind {
	switch {
	case n.Kind == frontmatter.Sequence:
		return List
	case n.Kind == frontmatter.Mapping:
		return Mapping
	case n.Tag != "" && isTagged(n):
		return taggedKind(n.Tag)
	case n.Style != frontmatter.Plain || n.Text != "" && !special[n.Text[0]]:
		return Text
	}
	return plainKind(n.Text)
}

// taggedKind returns the kind of a scalar that has a tag.
func taggedKind(tag string) Kind {
	switch tag {
	case "!!null":
		return Null
	case "!!bool":
		return Bool
	case "!!int":
		return Int
	case "!!float":
		return Float
	case "!!timestamp":
		return Time
	case binaryTag:
		return Binary
	}
	return Text
}

// checkScalar returns an error for an unknown tag, and for a value that does not have the type of its tag. The errors
// do not quote the value, because it may be a password.
func checkScalar(n *frontmatter.Node, isKey bool) error {
	tagged := isTagged(n)
	if !tagged && n.Style == frontmatter.Plain && (n.Text == "=" || n.Text == "<<" && !isKey) {
		return &SyntaxError{n.Line, fmt.Sprintf("%q is not a value in YAML 1.1: quote it", n.Text)}
	}
	kind := kindOf(n)
	if tagged {
		switch tag := n.Tag; {
		case tag == "!!str" || tag == "!!merge" && isKey:
			return nil
		case tag == binaryTag:
			if _, ok := decodeBinary(n.Text); !ok {
				return &SyntaxError{n.Line, "a value does not have the type of its tag " + tag}
			}
			return nil
		case kind == Text:
			return unknownTag(n)
		case kind == Float && plainKind(n.Text) == Int:
		case plainKind(n.Text) != kind:
			return &SyntaxError{n.Line, "a value does not have the type of its tag " + tag}
		}
	}
	if kind == Time && !realTime(n.Text) {
		return &SyntaxError{n.Line, "this date does not exist"}
	}
	return nil
}

// realTime reports whether the date in word, which a time may follow, exists in the calendar.
func realTime(word string) bool {
	parts := timePattern.FindStringSubmatch(word)
	if parts == nil {
		_, err := time.Parse(time.DateOnly, word)
		return err == nil
	}
	_, err := time.Parse("2006-1-2 15:4:5", parts[1]+" "+parts[2])
	return err == nil
}

// parseInt returns the value of an integer; it returns false if the integer needs more than 64 bits.
func parseInt(word string) (int64, bool) {
	digits := strings.ReplaceAll(word, "_", "")
	sign := strings.HasPrefix(digits, "-")
	digits = strings.TrimLeft(digits, "+-")
	if strings.Contains(digits, ":") {
		n, ok := parseSixty(digits)
		if sign {
			n = -n
		}
		return n, ok
	}
	base := 10
	switch {
	case strings.HasPrefix(digits, "0b"):
		base, digits = 2, digits[2:]
	case strings.HasPrefix(digits, "0x"):
		base, digits = 16, digits[2:]
	case len(digits) > 1 && digits[0] == '0':
		base = 8
	}
	if sign {
		digits = "-" + digits
	}
	n, err := strconv.ParseInt(digits, base, 64)
	return n, err == nil
}

// parseSixty returns the value of a sexagesimal integer, such as 190:20:30.
func parseSixty(digits string) (int64, bool) {
	var sum int64
	for _, part := range strings.Split(digits, ":") {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || sum > (1<<62)/60 || n > 1<<61 {
			return 0, false
		}
		sum = sum*60 + n
	}
	return sum, true
}

// parseFloat returns the value of a floating-point number.
func parseFloat(word string) float64 {
	digits := strings.ReplaceAll(word, "_", "")
	switch lower := strings.ToLower(digits); lower {
	case ".nan", ".inf", "+.inf", "-.inf":
		digits = strings.Replace(lower, ".", "", 1)
	}
	sign, sum := 1.0, 0.0
	if strings.Contains(digits, ":") {
		if strings.HasPrefix(digits, "-") {
			sign = -1
		}
		digits = strings.TrimLeft(digits, "+-")
		for strings.Contains(digits, ":") {
			var part string
			part, digits, _ = strings.Cut(digits, ":")
			n, _ := strconv.ParseFloat(part, 64)
			sum = (sum + n) * 60
		}
	}
	n, _ := strconv.ParseFloat(digits, 64) // n is infinite if the number is out of range, as in PyYAML
	return sign * (sum + n)
}
