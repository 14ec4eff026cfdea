package id

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

const digits = "0123456789abcdefghijklmnopqrstuvwxyz"

// Encode formats a sequence number in base 36, padded to three digits.
func Encode(sequence uint64) string {
	text := strconv.FormatUint(sequence, 36)
	return strings.Repeat("0", max(0, 3-len(text))) + text
}

// Decode parses a sequence number in lower-case base 36.
func Decode(text string) (uint64, bool) {
	for _, c := range []byte(text) {
		if strings.IndexByte(digits, c) < 0 {
			return 0, false
		}
	}
	sequence, err := strconv.ParseUint(text, 36, 64)
	return sequence, err == nil
}

// Next returns the sequence number of the next spec of a date (YYYY-MM-DD): one more than the highest number of that date
// in names, the file names in the specs directory; 1 for a date without specs.
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
		// A sequence of more than five digits is a word of a hand-made id and could overflow.
		if sequence, ok := Decode(parts[3]); ok && len(parts[3]) <= 5 {
			highest = max(highest, sequence)
		}
	}
	return highest + 1
}

// New returns the id with the given parts.
func New(date string, sequence uint64, suffix string) string {
	return date + "-" + Encode(sequence) + "-" + suffix
}

// Suffix returns three characters of base 36, chosen uniformly with bytes from random.
func Suffix(random io.Reader) (string, error) {
	// Bytes from the largest multiple of 36 up would favor the first characters, so Suffix rejects them.
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
