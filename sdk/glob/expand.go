package glob

import (
	"strconv"
	"strings"
)

// The bounds of the expansion of braces.
const (
	maxAlternatives = 1000     // maximum number of alternatives
	maxBraces       = 16       // maximum number of nested or consecutive braces
	maxExpanded     = 32 << 10 // maximum total length of the alternatives, in bytes
)

// Expand returns the alternatives that the braces in a pattern stand for: a{b,c} is ab and ac, a{1..3} is a1, a2 and a3. Braces without a
// comma or a range are characters. The result ok is false if there are more than 1,000 alternatives, or if they have more than 32 KiB.
func Expand(pattern string, o Options) (alternatives []string, ok bool) {
	all := o.expand(pattern, 0)
	size := 0
	for _, one := range all {
		size += len(one)
	}
	return all, len(all) <= maxAlternatives && size <= maxExpanded
}

// expand returns the alternatives that the braces in text stand for. It stops after it has exceeded maxAlternatives or
// maxExpanded.
func (o Options) expand(text string, depth int) []string {
	open, end, parts := o.brace(text)
	if open < 0 || depth > maxBraces {
		return []string{text}
	}
	var all []string
	size := 0
	tails := o.expand(text[end+1:], depth+1)
	for _, part := range parts {
		for _, head := range o.expand(part, depth+1) {
			for _, tail := range tails {
				one := text[:open] + head + tail
				size += len(one)
				if all = append(all, one); len(all) > maxAlternatives || size > maxExpanded {
					return all
				}
			}
		}
	}
	return all
}

// brace returns the indexes of the first pair of braces with alternatives, and the alternatives. The result open is -1
// if there is no such pair.
func (o Options) brace(text string) (open, end int, parts []string) {
	for open = 0; open < len(text); open++ {
		if o.Escape && text[open] == '\\' {
			open++
			continue
		}
		if text[open] != '{' || o.Escape && open > 0 && text[open-1] == '$' {
			continue
		}
		if end, parts = o.alternatives(text, open); parts != nil {
			return open, end, parts
		}
	}
	return -1, 0, nil
}

func (o Options) alternatives(text string, open int) (end int, parts []string) {
	depth, from := 0, open+1
	for i := open; i < len(text); i++ {
		switch {
		case o.Escape && text[i] == '\\':
			i++
		case text[i] == '{':
			depth++
		case text[i] == '}' && depth > 1:
			depth--
		case text[i] == '}':
			if parts != nil {
				return i, append(parts, text[from:i])
			}
			return i, numbers(text[open+1 : i])
		case text[i] == ',' && depth == 1:
			parts, from = append(parts, text[from:i]), i+1
		}
	}
	return 0, nil
}

// numbers returns the numbers or letters of a range such as 1..3, 01..10 or a..z..2; nil if text is not a range.
func numbers(text string) []string {
	ends := strings.Split(text, "..")
	if len(ends) < 2 || len(ends) > 3 {
		return nil
	}
	first, last, step := ends[0], ends[1], 1
	from, err := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	letters := false
	if err != nil || err2 != nil {
		if len(first) != 1 || len(last) != 1 {
			return nil
		}
		from, to, letters = int(first[0]), int(last[0]), true
	}
	if len(ends) == 3 {
		if step, err = strconv.Atoi(ends[2]); err != nil {
			return nil
		}
		step = max(step, -step, 1)
	}
	width := 0
	if padded(first) || padded(last) {
		width = max(len(first), len(last))
	}
	var all []string
	for n := 0; n <= max(to-from, from-to) && len(all) <= maxAlternatives; n += step {
		value := from + n
		if to < from {
			value = from - n
		}
		if letters {
			all = append(all, string(rune(value)))
		} else {
			all = append(all, pad(value, width))
		}
	}
	return all
}

// padded reports whether a number begins with a zero that is not the whole number.
func padded(number string) bool {
	digits := strings.TrimPrefix(number, "-")
	return len(digits) > 1 && digits[0] == '0'
}

// pad formats a number with at least width characters, by zeros behind its sign.
func pad(n, width int) string {
	digits, sign := strconv.Itoa(n), ""
	if n < 0 {
		digits, sign = digits[1:], "-"
	}
	return sign + strings.Repeat("0", max(0, min(width, maxExpanded)-len(sign)-len(digits))) + digits
}
