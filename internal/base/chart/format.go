package chart

import (
	"fmt"
	"time"
)

// Count formats a number with at most five characters.
func Count[N int | int64 | uint64](n N) string {
	if n < 10_000 {
		return fmt.Sprint(n)
	}
	short := float64(n)
	for _, unit := range "kMGTP" {
		if short /= 1000; short < 999.5 {
			return fmt.Sprintf("%.3g%c", short, unit)
		}
	}
	return fmt.Sprintf("%.3gE", short/1000)
}

// Counted formats a number with its noun: 1 call, 2 calls.
func Counted[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Bytes formats a number of bytes.
func Bytes(n int64) string {
	if text := Count(n); text[len(text)-1] >= 'A' {
		return text + "B"
	}
	return fmt.Sprint(n) + " B"
}

// Duration formats a duration with few digits; zero as a dash.
func Duration(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Microseconds formats a number of microseconds like Duration.
func Microseconds(n int64) string { return Duration(time.Duration(n) * time.Microsecond) }
