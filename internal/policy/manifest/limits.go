package manifest

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

const minTime, maxTime = time.Millisecond, 24 * time.Hour

// ReadSize returns the size at key, which must be from least to most bytes. It returns 0 if the key is absent or its value invalid.
func ReadSize(t *tomlfile.Table, key string, least, most int64) int64 {
	s := t.String(key)
	if s == "" && !t.Has(key) {
		return 0
	}
	n, err := parseSize(s)
	switch {
	case err != nil:
		if s != "" {
			t.Fault(key, fmt.Sprintf("%s %v", tomlfile.Quote(s), err), `write an integer and B, KiB, MiB or GiB: "64MiB"`)
		}
		return 0
	case n < least || n > most:
		t.Fault(key, fmt.Sprintf("is %s, which is out of range", s), fmt.Sprintf("write a size from %s to %s", FormatSize(least), FormatSize(most)))
		return 0
	}
	return n
}

var units = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// parseSize parses a size such as "64MiB": an integer followed by B, KiB, MiB or GiB.
func parseSize(s string) (int64, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil || n > math.MaxInt64/uint64(u.bytes) {
			return 0, errors.New("is not a size")
		}
		return int64(n) * u.bytes, nil
	}
	return 0, errors.New("is not a size")
}

// FormatSize formats n bytes as a size that parseSize accepts, in the largest unit that divides n.
func FormatSize(n int64) string {
	for _, u := range units {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// ReadDuration returns the duration at key, which must be from minTime to maxTime. It returns 0 if the key is absent or its value
// invalid.
func ReadDuration(t *tomlfile.Table, key string) time.Duration {
	s := t.String(key)
	if s == "" && !t.Has(key) {
		return 0
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		if s != "" {
			t.Fault(key, fmt.Sprintf("%s is not a duration", tomlfile.Quote(s)), `write a number and ms, s, m or h: "30s"`)
		}
		return 0
	case d < minTime || d > maxTime:
		t.Fault(key, fmt.Sprintf("is %v, which is out of range", d), fmt.Sprintf("write a duration from %v to %v", minTime, maxTime))
		return 0
	}
	return d
}

// ReadCount returns the integer at key, which must be from least to most. It returns 0 if the key is absent or its value invalid.
func ReadCount(t *tomlfile.Table, key string, least, most int64) int64 {
	n, ok := t.Int(key)
	if ok && (n < least || n > most) {
		t.Fault(key, fmt.Sprintf("is %d, which is out of range", n), fmt.Sprintf("write a number from %d to %d", least, most))
		return 0
	}
	return n
}
