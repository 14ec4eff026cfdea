package sdk

import (
	"bytes"
	"strconv"
	"strings"
)

// maxDigits bounds the integers that wholeNumbers writes: those of 64 bits have fewer.
const maxDigits = 20

// wholeNumbers returns JSON with the numbers that are integers, but have a fraction or an exponent, such as 1.0 and 1e2, written as
// integers. JSON Schema accepts them as integers, and encoding/json does not decode them into integer types. raw must be valid JSON.
func wholeNumbers(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		n := 1
		switch c := raw[0]; {
		case c == '"':
			for raw[n] != '"' {
				if raw[n] == '\\' {
					n++
				}
				n++
			}
			n++
		case c == '-' || c >= '0' && c <= '9':
			for n < len(raw) && bytes.IndexByte([]byte("0123456789.eE+-"), raw[n]) >= 0 {
				n++
			}
			out = append(out, wholeNumber(string(raw[:n]))...)
			raw = raw[n:]
			continue
		}
		out = append(out, raw[:n]...)
		raw = raw[n:]
	}
	return out
}

// wholeNumber returns a JSON number without fraction and exponent if it is an integer of at most maxDigits digits, and otherwise as it is.
func wholeNumber(number string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	shift := 0
	if exponent != "" {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil || shift > maxDigits || shift < -len(whole) {
			return number
		}
	}
	digits, point := whole+fraction, len(whole)+shift
	if missing := point - len(digits); missing > 0 {
		digits += strings.Repeat("0", missing)
	}
	if strings.Trim(digits[point:], "0") != "" {
		return number
	}
	digits = strings.TrimLeft(digits[:point], "0")
	switch {
	case len(digits) > maxDigits:
		return number
	case digits == "":
		digits = "0"
	}
	if negative {
		return "-" + digits
	}
	return digits
}
