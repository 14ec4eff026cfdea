package text_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/filesystem/text"
)

func TestDecodeReplacesLongestBeginnings(t *testing.T) {
	for raw, want := range map[string]string{
		"plain é 😀":            "plain é 😀",
		"a\xe2\x82b":           "a\ufffdb",
		"\xf0\x9f\x98":         "\ufffd",
		"\xc0\xaf":             "\ufffd\ufffd",
		"\xed\xa0\x80":         "\ufffd\ufffd\ufffd",
		"\xe0\x80":             "\ufffd\ufffd",
		"\xf4\x90\x80\x80":     "\ufffd\ufffd\ufffd\ufffd",
		"\xf0\x80":             "\ufffd\ufffd",
		"\xff\xfe":             "\ufffd\ufffd",
		"\xe2\x82\xe2\x82\xac": "\ufffd€",
	} {
		if got := text.Decode([]byte(raw)); got != want {
			t.Errorf("%q: got %q, want %q", raw, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		-1: "0 B", 0: "0 B", 1023: "1023 B", 1024: "1.00 KB", 1152: "1.13 KB", 1048575: "1024.00 KB", 1048576: "1.00 MB", 1536 << 20: "1.50 GB", 1 << 40: "1.00 TB", 1 << 50: "1024.00 TB",
	} {
		if got := text.Size(bytes); got != want {
			t.Errorf("%d: got %s, want %s", bytes, got, want)
		}
	}
}

func TestTimeNamesZone(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for zone, want := range map[*time.Location]string{
		time.UTC:                            "Fri Jan 02 2026 03:04:05 GMT+0000 (Coordinated Universal Time)",
		time.FixedZone("CET", 60*60):        "Fri Jan 02 2026 04:04:05 GMT+0100 (CET)",
		time.FixedZone("NST", -3*3600-1800): "Thu Jan 01 2026 23:34:05 GMT-0330 (NST)",
	} {
		if got := text.Time(at.In(zone)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestHeadAndTailOfManyBlocks reads lines that lie across the blocks in which a file is read.
func TestHeadAndTailOfManyBlocks(t *testing.T) {
	lines := strings.Split(strings.Repeat(strings.Repeat("x", 997)+"\n", 1000)+"end", "\n")
	content := strings.Join(lines, "\n")
	for _, n := range []int{1, 2, 64, 65, 66, 131, 999, 1000, 1001, 5000} {
		k := min(n, len(lines))
		if got, err := text.Head(strings.NewReader(content), float64(n)); err != nil || got != strings.Join(lines[:k], "\n") {
			t.Errorf("head %d: %d bytes, %v", n, len(got), err)
		}
		if got, err := text.Tail(strings.NewReader(content), int64(len(content)), float64(n)); err != nil || got != strings.Join(lines[len(lines)-k:], "\n") {
			t.Errorf("tail %d: %d bytes, %v", n, len(got), err)
		}
	}
}
