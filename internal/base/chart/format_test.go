package chart

import (
	"testing"
	"time"
)

func TestFormats(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 9999: "9999", 10_000: "10k", 999_499: "999k", 999_500: "1M", 57_512_000: "57.5M", 1<<63 - 1: "9.22E"} {
		if got := Count(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "-", 12: "10µs", 1_234: "1.23ms", 2_000_000: "2s", 125_400_000: "2m5s"} {
		if got := Duration(time.Duration(n) * time.Microsecond); got != want {
			t.Errorf("%d µs: %s, want %s", n, got, want)
		}
	}
	if got := Counted(1, "call", "calls") + ", " + Counted(int64(20_000), "reply", "replies"); got != "1 call, 20k replies" {
		t.Error(got)
	}
	if got := Bytes(12) + " " + Bytes(12_000); got != "12 B 12kB" {
		t.Error(got)
	}
}
