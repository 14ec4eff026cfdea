package id

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

const digits = "0123456789abcdefghijklmnopqrstuvwxyz"

// Encode returns a sequence number in base 36, padded with zeros to three digits.
func Encode(sequence uint64) string {
	text := strconv.FormatUint(sequence, 36)
	return strings.Repeat("0", max(0, 3-len(text))) + text
}

// Decode parses a sequence number in lower-case base 36.
func Decode(text string) (uint64, bool) {
	if strings.Trim(text, digits) != "" {
		return 0, false
	}
	sequence, err := strconv.ParseUint(text, 36, 64)
	return sequence, err == nil
}

// Next returns the sequence number for the next spec of a date in the form YYYY-MM-DD: one more than the highest
// sequence number of that date in names, which are the file names in the specs directory. For a date without specs it
// returns 1.
func Next(names []string, date string) uint64 {
	var highest uint64
	for _, name := range names {
		if !strings.HasPrefix(name, date) || !strings.HasSuffix(name, ".md") {
			continue
		}
		parts := strings.Split(name, "-")
		if len(parts) < 5 {
			continue
		}
		// A longer sequence is a word in a hand-made id, and its number could overflow.
		if sequence, ok := Decode(parts[3]); ok && len(parts[3]) <= 5 {
			highest = max(highest, sequence)
		}
	}
	return highest + 1
}

// New returns the id with the given date, sequence number and suffix.
func New(date string, sequence uint64, suffix string) string {
	return date + "-" + Encode(sequence) + "-" + suffix
}

// Suffix returns three digits of base 36, which it chooses uniformly with bytes from random.
func Suffix(random io.Reader) (string, error) {
	// Suffix rejects bytes from the largest multiple of 36 up, because these bytes would make the first digits more
	// likely.
	const fair = 256 - 256%len(digits)
	suffix := make([]byte, 0, 3)
	for buf := make([]byte, 1); len(suffix) < cap(suffix); {
		if _, err := io.ReadFull(random, buf); err != nil {
			return "", fmt.Errorf("cannot read random bytes for the suffix of an id: %w", err)
		}
		if int(buf[0]) < fair {
			suffix = append(suffix, digits[int(buf[0])%len(digits)])
		}
	}
	return string(suffix), nil
}
