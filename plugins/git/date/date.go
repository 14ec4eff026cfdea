// Package date parses the dates that git accepts for the bounds of a history: absolute ones, and relative ones such as "2 weeks ago".
package date

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// layouts are the forms of absolute dates, after normalize. A date without a time of day has that of now.
var layouts = []string{"2006-01-02", "Jan 2 2006", "2 Jan 2006"}

var clocks = []string{"15:04:05", "15:04"}

var zones = []string{"", "Z07:00", "-0700", "-07"}

// Parse parses a date in the location of now. As in git, a number of nine digits or more is in seconds since 1970.
func Parse(text string, now time.Time) (time.Time, error) {
	plain := normalize(text)
	if when, ok := parseSeconds(plain); ok {
		return when, nil
	}
	if when, ok := parseRelative(plain, now); ok {
		return when, nil
	}
	for _, layout := range layouts {
		if day, err := time.ParseInLocation(layout, plain, now.Location()); err == nil {
			return time.Date(day.Year(), day.Month(), day.Day(), now.Hour(), now.Minute(), now.Second(), 0, now.Location()), nil
		}
		for _, clock := range clocks {
			for _, zone := range zones {
				full := layout + " " + clock + zone
				for _, text := range []string{plain, strings.TrimSuffix(plain, " utc"), strings.TrimSuffix(plain, " gmt")} {
					location := now.Location()
					if text != plain {
						location = time.UTC
					}
					if when, err := time.ParseInLocation(full, text, location); err == nil {
						return when, nil
					}
				}
			}
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a date that this plugin understands: give one such as 2024-01-15T14:30:25, 2024-01-15, "+
		"Jan 15 2024, yesterday or 2 weeks ago", text)
}

var months = []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
var weekdays = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// normalize returns a date in lower case, with one space between words, with dashes in a numeric date, with the first three letters of a
// month, and without the names of weekdays that precede a date.
func normalize(text string) string {
	text = strings.ToLower(strings.NewReplacer(",", " ", "\t", " ", "_", " ").Replace(text))
	words := strings.Fields(text)
	var kept []string
	for i, word := range words {
		if len(word) >= 10 && word[4] == word[7] && strings.Contains("-/.", word[4:5]) && isNumber(word[:4]) && isNumber(word[8:10]) {
			word = word[:4] + "-" + word[5:7] + "-" + strings.Replace(word[8:], "t", " ", 1)
			if clock, fraction, ok := strings.Cut(word, "."); ok && strings.Contains(clock, ":") {
				word = clock + strings.TrimLeft(fraction, "0123456789")
			}
			word = strings.Replace(word, "z", "Z", 1)
		}
		if month := abbreviation(word, months); month != "" && len(words) > 2 {
			word = month
		}
		if i == 0 && len(words) > 3 && abbreviation(word, weekdays) != "" {
			continue
		}
		if i > 0 && (word[0] == '+' || word[0] == '-') && len(kept) > 0 { // a zone after the time of day
			kept[len(kept)-1] += word
			continue
		}
		kept = append(kept, word)
	}
	return strings.Join(kept, " ")
}

// abbreviation returns the first three letters of the name that begins with word; empty if there is none.
func abbreviation(word string, names []string) string {
	for _, name := range names {
		if len(word) >= 3 && strings.HasPrefix(name, word) {
			return name[:3]
		}
	}
	return ""
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

func parseSeconds(text string) (time.Time, bool) {
	digits, marked := strings.CutPrefix(text, "@")
	digits, zone, _ := strings.Cut(digits, "+")
	if !isNumber(digits) || len(digits) < 9 && !marked || zone != "" && !isNumber(zone) {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(digits, 10, 62)
	return time.Unix(seconds, 0), err == nil
}

var numbers = []string{"last", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}

// parseRelative parses "now", "today", "yesterday", "last UNIT" and "N UNIT ago", also with dots instead of spaces.
func parseRelative(text string, now time.Time) (time.Time, bool) {
	words := strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == '.' })
	switch {
	case len(words) == 1 && (words[0] == "now" || words[0] == "today"):
		return now, true
	case len(words) == 1 && words[0] == "yesterday":
		return now.AddDate(0, 0, -1), true
	case len(words) == 3 && words[2] == "ago", len(words) == 2 && words[0] == "last":
	default:
		return now, false
	}
	count, err := strconv.Atoi(words[0])
	if err != nil {
		count = 0
		for i, name := range numbers {
			if words[0] == name || words[0] == "one" {
				count = i + 1
				break
			}
		}
	}
	if count <= 0 || count > 1_000_000 {
		return now, count == 0 && words[0] == "0"
	}
	switch strings.TrimSuffix(words[1], "s") {
	case "second":
		return now.Add(-time.Duration(count) * time.Second), true
	case "minute":
		return now.Add(-time.Duration(count) * time.Minute), true
	case "hour":
		return now.Add(-time.Duration(count) * time.Hour), true
	case "day":
		return now.AddDate(0, 0, -count), true
	case "week":
		return now.AddDate(0, 0, -7*count), true
	case "month":
		return now.AddDate(0, -count, 0), true
	case "year":
		return now.AddDate(-count, 0, 0), true
	}
	return now, false
}
